import type { Letterbox } from './core/letterbox.js';
import type { Tensor } from './types.js';

/** What a custom postprocessor is told of the picture. */
export interface PostprocessorImage {
  /** Size of the picture, upright, in pixels. */
  readonly width: number;
  readonly height: number;
  /** Where the picture lay in the model's input; `boxesToImage` of `migraphx-yolo/core` inverts it. */
  readonly letterbox: Letterbox;
  /** Class names, as far as the model or the `labels` option gives them. */
  readonly labels: readonly string[];
}

/**
 * Turns a model's raw outputs into whatever its user wants; runs on the thread that called `detect()`.
 * With one, the model's outputs are not recognised, and `inputFormat` says how pixels go in.
 */
export interface Postprocessor<T> {
  /** Shown in error messages. */
  readonly name: string;
  /**
   * Called once a picture. `outputs` has every output by name, its first dimension 1; the arrays are the caller's to keep.
   * An error that it throws becomes the `cause` of a YoloError with this postprocessor's name.
   */
  decode(outputs: Readonly<Record<string, Tensor>>, image: PostprocessorImage): T | Promise<T>;
}
