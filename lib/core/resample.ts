import type { RawImage } from '../types.js';
import { requireArray, requireObject, requireWhole } from './checks.js';
import { roundHalfToEven } from './round.js';

// Bilinear in integers: weights have 11 bits, a row sum drops its last 4 bits before the column sum, as OpenCV does.
//
//   out = (((b0 * (h0 >> 4)) >> 16) + ((b1 * (h1 >> 4)) >> 16) + 2) >> 2,   h = a0 * left + a1 * right

/**
 * For every output position along one axis the two input positions and their weights, which sum up to 2048.
 * Reusable: its arrays grow to the longest output and stay.
 */
export class AxisTaps {
  first = new Int32Array(0);
  second = new Int32Array(0);
  weight0 = new Int32Array(0);
  weight1 = new Int32Array(0);
  /** Whether every output position lies on an input position, as where an odd number of them makes one. */
  isExact = false;
  /** Whether every output position lies in the middle of two, as where an even number of them makes one. */
  isHalfway = false;

  /**
   * @param step what a position counts: 1 for rows, the channel count for pixels of a row
   * @param clampFraction beyond the outer pixel centres the nearer pixel counts alone (along x), or both positions
   * are that pixel (along y): not the same, as the weights are rounded one by one
   */
  set(inputLength: number, outputLength: number, step: number, clampFraction: boolean): void {
    if (this.first.length < outputLength) {
      this.first = new Int32Array(outputLength);
      this.second = new Int32Array(outputLength);
      this.weight0 = new Int32Array(outputLength);
      this.weight1 = new Int32Array(outputLength);
    }
    const { fround } = Math;
    const last = inputLength - 1;
    // Two divisions and a position rounded to float32, as OpenCV has it; anything else gives other weights.
    const scale = 1 / (outputLength / inputLength);
    this.isExact = true;
    this.isHalfway = true;
    for (let i = 0; i < outputLength; i++) {
      const position = fround((i + 0.5) * scale - 0.5);
      const floor = Math.floor(position);
      const outside = floor < 0 || floor >= last;
      const fraction = clampFraction && outside ? 0 : fround(position - floor);
      this.first[i] = step * Math.min(Math.max(floor, 0), last);
      this.second[i] = step * Math.min(Math.max(floor + 1, 0), last);
      this.weight0[i] = roundHalfToEven(fround(1 - fraction) * 2048);
      this.weight1[i] = roundHalfToEven(fraction * 2048);
      this.isExact &&= this.weight1[i] === 0;
      this.isHalfway &&= this.weight1[i] === 1024 && this.weight0[i] === 1024;
    }
  }
}

/**
 * Resizes 8-bit pixels as `cv2.resize(image, (width, height), interpolation=cv2.INTER_LINEAR)` does, bit for bit. The
 * same size gives a copy. Alpha is a channel like the others.
 * @param width in pixels, at least 1
 * @param height in pixels, at least 1
 * @returns [height, width, channels]
 * @throws YoloError ERR_YOLO_INVALID_ARGUMENT for a side that is not a whole number, ERR_YOLO_SHAPE_MISMATCH for a
 * picture with too few bytes
 */
export function resizeBilinear(image: RawImage, width: number, height: number): Uint8Array {
  requireObject('image', image);
  const { data, channels } = image;
  requireWhole('image.width', image.width, 1);
  requireWhole('image.height', image.height, 1);
  requireWhole('image.channels', channels, 1, 4);
  requireWhole('width', width, 1);
  requireWhole('height', height, 1);
  const stride = image.width * channels;
  requireArray('image.data', data, ['Uint8Array', 'Uint8ClampedArray'], stride * image.height);
  const columns = new AxisTaps();
  const rows = new AxisTaps();
  columns.set(image.width, width, channels, true);
  rows.set(image.height, height, stride, false);
  const out = new Uint8Array(width * height * channels);
  let at = 0;
  for (let y = 0; y < height; y++) {
    const upper = rows.first[y];
    const lower = rows.second[y];
    for (let x = 0; x < width; x++) {
      const left = columns.first[x];
      const right = columns.second[x];
      const a0 = columns.weight0[x];
      const a1 = columns.weight1[x];
      for (let c = 0; c < channels; c++, at++) {
        const h0 = data[upper + left + c] * a0 + data[upper + right + c] * a1;
        const h1 = data[lower + left + c] * a0 + data[lower + right + c] * a1;
        out[at] = (((rows.weight0[y] * (h0 >> 4)) >> 16) + ((rows.weight1[y] * (h1 >> 4)) >> 16) + 2) >> 2;
      }
    }
  }
  return out;
}

/**
 * The rows that resampling to another height reads, as pairs [from, to) one after the other: of a picture that is made
 * much smaller most rows need not even be copied.
 */
export function rowsRead(inputHeight: number, outputHeight: number): number[] {
  const rows = new AxisTaps();
  rows.set(inputHeight, outputHeight, 1, false);
  const ranges: number[] = [];
  let from = 0;
  let to = 0;
  for (let y = 0; y < outputHeight; y++) {
    if (rows.first[y] > to) {
      if (to > from) ranges.push(from, to);
      from = rows.first[y];
    }
    to = Math.max(to, (rows.weight1[y] === 0 ? rows.first[y] : rows.second[y]) + 1);
  }
  ranges.push(from, to);
  return ranges;
}
