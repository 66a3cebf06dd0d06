import type { TensorType } from '../types.js';
import type { LetterboxOptions } from './letterbox.js';

/** How pixels are laid into the model's picture input. */
export interface InputFormat {
  /** Planes one after the other ([3, h, w]), or interleaved ([h, w, 3]). */
  readonly layout: 'nchw' | 'nhwc';
  readonly type: Extract<TensorType, 'float32' | 'float16' | 'uint8'>;
  readonly channelOrder: 'rgb' | 'bgr';
  /** Levels 0..255 are divided by this (255 gives 0..1, 1 leaves them); not used for uint8, nor where `mean` is given. */
  readonly divisor: number;
  /** Subtracted from the level, then divided by `std`; in the model's channel order, in levels. */
  readonly mean?: readonly [number, number, number];
  readonly std?: readonly [number, number, number];
  readonly letterbox: LetterboxOptions;
}
