import { createLetterbox, type LetterboxOptions } from '../core/letterbox.js';

/** The model's input that a picture is laid into. */
export interface ShrinkTarget {
  readonly inputWidth: number;
  readonly inputHeight: number;
  readonly letterbox: LetterboxOptions;
}

/**
 * From this ratio on the decoder leaves out detail: below, whole pixels are decoded first and then resized, which gains nothing.
 * It decodes at a half from 3 on, at a quarter from 5 on and at an eighth from 9 on, and resizes what is left.
 */
const LEAST_RATIO = 3;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size at which the model sees a JPEG of a size, where it is decoded faster at that size than at its own. */
export function shrunkSize(
  { width, height }: Size,
  { inputWidth, inputHeight, letterbox }: ShrinkTarget,
): Size | undefined {
  const { resizedWidth, resizedHeight } = createLetterbox(width, height, inputWidth, inputHeight, letterbox);
  const ratio = Math.min(width / resizedWidth, height / resizedHeight);
  return ratio < LEAST_RATIO ? undefined : { width: resizedWidth, height: resizedHeight };
}
