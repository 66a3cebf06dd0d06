import { requireArray, requireObject, requireOneOf, requireWhole } from './checks.js';
import { roundHalfToEven } from './round.js';

export interface LetterboxOptions {
  /** Where the resized picture lies: in the middle (Ultralytics), in the top-left corner (YOLOX), or filling the input with its aspect ratio lost. */
  readonly placement: 'centre' | 'top-left' | 'stretch';
  /** Whether a picture smaller than the input is enlarged. Defaults to true. Without meaning for 'stretch'. */
  readonly scaleUp?: boolean;
  /** Level of the border, a whole number 0..255. Defaults to 114. */
  readonly padValue?: number;
  /**
   * Takes off each border the most whole multiples of this many pixels, so that `inputWidth` and `inputHeight` of the
   * letterbox can be less than those asked for: for models with an open input size, whose stride it is. Defaults to
   * no such cut.
   */
  readonly stride?: number;
}

/**
 * The placement of one picture in the model's input; used forwards and inverted, never derived again.
 *
 * ```
 *  0 ┌──────────── inputWidth ────────────┐
 *    │ padY        padValue               │
 *    │      ┌── resizedWidth ──┐          │
 *    │ padX │   the picture    │          │ inputHeight
 *    │      └──────────────────┘          │
 *    └────────────────────────────────────┘
 * ```
 */
export interface Letterbox {
  readonly imageWidth: number;
  readonly imageHeight: number;
  readonly inputWidth: number;
  readonly inputHeight: number;
  readonly resizedWidth: number;
  readonly resizedHeight: number;
  /** Left border, in input pixels. */
  readonly padX: number;
  /** Top border, in input pixels. */
  readonly padY: number;
  readonly padValue: number;
  /**
   * Input pixels per picture pixel before the sides were rounded; the smaller of both for 'stretch'. For information:
   * each axis is inverted by its own ratio, of the rounded sides.
   */
  readonly gain: number;
}

const DEFAULT_OPTIONS: LetterboxOptions = { placement: 'centre' };
const PLACEMENTS: readonly LetterboxOptions['placement'][] = ['centre', 'top-left', 'stretch'];
const FLOATS = ['Float32Array', 'Float64Array'];

/**
 * Places a picture in a model's input. Sizes are in pixels, at least 1. Sides and borders are whole pixels and a side is
 * at least 1: sides are rounded half to even for 'centre' and cut for 'top-left', as the models were trained. An odd
 * border is a pixel narrower at the left and at the top.
 * @throws YoloError ERR_YOLO_INVALID_ARGUMENT for a size, stride or padValue out of range, or another placement
 */
export function createLetterbox(
  imageWidth: number,
  imageHeight: number,
  inputWidth: number,
  inputHeight: number,
  options: LetterboxOptions = DEFAULT_OPTIONS,
): Letterbox {
  requireObject('options', options);
  const { placement, scaleUp = true, padValue = 114, stride } = options;
  requireOneOf('placement', placement, PLACEMENTS);
  requireWhole('imageWidth', imageWidth, 1);
  requireWhole('imageHeight', imageHeight, 1);
  requireWhole('inputWidth', inputWidth, 1);
  requireWhole('inputHeight', inputHeight, 1);
  requireWhole('padValue', padValue, 0, 255);
  if (stride !== undefined) requireWhole('stride', stride, 1);

  const fit = Math.min(inputHeight / imageHeight, inputWidth / imageWidth);
  const gain = scaleUp || placement === 'stretch' ? fit : Math.min(fit, 1);
  let resizedWidth = inputWidth;
  let resizedHeight = inputHeight;
  if (placement !== 'stretch') {
    const toWhole = placement === 'centre' ? roundHalfToEven : Math.trunc;
    resizedWidth = Math.max(1, toWhole(imageWidth * gain));
    resizedHeight = Math.max(1, toWhole(imageHeight * gain));
  }
  let borderX = inputWidth - resizedWidth;
  let borderY = inputHeight - resizedHeight;
  if (stride !== undefined) {
    borderX %= stride;
    borderY %= stride;
  }
  const centred = placement === 'centre';
  return {
    imageWidth,
    imageHeight,
    inputWidth: resizedWidth + borderX,
    inputHeight: resizedHeight + borderY,
    resizedWidth,
    resizedHeight,
    padX: centred ? Math.floor(borderX / 2) : 0,
    padY: centred ? Math.floor(borderY / 2) : 0,
    padValue,
    gain,
  };
}

/**
 * Moves points [count, 2] (x, y) from input pixels to picture pixels, in place: the exact inverse of the placement, each
 * axis by its own ratio, not clipped. Computed in float64 and rounded once to the array's type.
 */
export function pointsToImage(xy: Float32Array | Float64Array, count: number, letterbox: Letterbox): void {
  requirePoints(xy, count);
  const { padX, padY } = letterbox;
  const scaleX = letterbox.imageWidth / letterbox.resizedWidth;
  const scaleY = letterbox.imageHeight / letterbox.resizedHeight;
  for (let i = 0; i < 2 * count; i += 2) {
    xy[i] = (xy[i] - padX) * scaleX;
    xy[i + 1] = (xy[i + 1] - padY) * scaleY;
  }
}

/** The other way: points [count, 2] from picture pixels to input pixels, in place. */
export function pointsToInput(xy: Float32Array | Float64Array, count: number, letterbox: Letterbox): void {
  requirePoints(xy, count);
  const { padX, padY } = letterbox;
  const scaleX = letterbox.resizedWidth / letterbox.imageWidth;
  const scaleY = letterbox.resizedHeight / letterbox.imageHeight;
  for (let i = 0; i < 2 * count; i += 2) {
    xy[i] = xy[i] * scaleX + padX;
    xy[i + 1] = xy[i + 1] * scaleY + padY;
  }
}

/** Moves boxes [count, 4] xyxy from input pixels to picture pixels, in place, and clips them to the picture. NaN stays NaN. */
export function boxesToImage(xyxy: Float32Array | Float64Array, count: number, letterbox: Letterbox): void {
  pointsToImage(xyxy, 2 * count, letterbox);
  const { imageWidth, imageHeight } = letterbox;
  for (let i = 0; i < 4 * count; i += 2) {
    xyxy[i] = Math.min(Math.max(xyxy[i], 0), imageWidth);
    xyxy[i + 1] = Math.min(Math.max(xyxy[i + 1], 0), imageHeight);
  }
}

/** The other way: boxes [count, 4] xyxy from picture pixels to input pixels, in place, not clipped. */
export function boxesToInput(xyxy: Float32Array | Float64Array, count: number, letterbox: Letterbox): void {
  pointsToInput(xyxy, 2 * count, letterbox);
}

function requirePoints(xy: Float32Array | Float64Array, count: number): void {
  requireWhole('count', count, 0);
  requireArray('points', xy, FLOATS, 2 * count);
}
