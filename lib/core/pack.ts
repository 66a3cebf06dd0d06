import { YoloError } from '../errors.js';
import type { RgbImage } from '../types.js';
import { float32ToFloat16Bits } from './half.js';
import type { InputFormat } from './input-format.js';
import type { Letterbox } from './letterbox.js';
import { AxisTaps } from './resample.js';

type Target = Float32Array | Uint16Array | Uint8Array;

/**
 * Lays pictures into a model's input in one pass: bilinear resampling, border, channel order, normalisation and element
 * type. Its scratch grows to the largest size seen and is used again: no later call of such a size allocates.
 * Not to be shared between threads.
 */
export class TensorPacker {
  readonly #columns = new AxisTaps();
  readonly #rows = new AxisTaps();
  /** Two horizontally resampled rows [resizedWidth, 3], the last 4 bits of each sum dropped. */
  #upper = new Int32Array(0);
  #lower = new Int32Array(0);
  readonly #levels = {
    float32: new Float32Array(3 * 256),
    float16: new Uint16Array(3 * 256),
    uint8: new Uint8Array(3 * 256),
  };

  /**
   * @param target Float32Array for 'float32', the bits in a Uint16Array for 'float16', Uint8Array for 'uint8'
   * @param offset where the picture's first value goes; 3 * inputHeight * inputWidth values are written from there:
   *
   * ```
   *  nchw  [3, inputHeight, inputWidth]     nhwc  [inputHeight, inputWidth, 3]
   * ```
   * @throws YoloError ERR_YOLO_SHAPE_MISMATCH when the picture is not the letterbox's, or the target is of another type or too short
   */
  pack(image: RgbImage, letterbox: Letterbox, format: InputFormat, target: Target, offset: number): void {
    requireFit(image, letterbox, format, target, offset);
    const { inputWidth, inputHeight, resizedWidth, resizedHeight, padX, padY } = letterbox;
    const levels = this.#fillLevels(format);

    // Where a pixel's values go: `step` from pixel to pixel, and the places of red, green and blue.
    const planar = format.layout === 'nchw';
    const step = planar ? 1 : 3;
    const between = planar ? inputWidth * inputHeight : 1;
    const rgb = format.channelOrder === 'rgb';
    const red = offset + (rgb ? 0 : 2 * between);
    const green = offset + between;
    const blue = offset + (rgb ? 2 * between : 0);

    const padRed = levels[letterbox.padValue];
    const padGreen = levels[256 + letterbox.padValue];
    const padBlue = levels[512 + letterbox.padValue];
    const pad = (from: number, to: number): void => {
      for (let at = step * from; at < step * to; at += step) {
        target[red + at] = padRed;
        target[green + at] = padGreen;
        target[blue + at] = padBlue;
      }
    };

    const columns = this.#columns;
    const rows = this.#rows;
    columns.set(image.width, resizedWidth, 3, true);
    rows.set(image.height, resizedHeight, 3 * image.width, false);
    const rowLength = 3 * resizedWidth;
    if (this.#upper.length < rowLength) {
      this.#upper = new Int32Array(rowLength);
      this.#lower = new Int32Array(rowLength);
    }
    let upper = this.#upper;
    let lower = this.#lower;
    let upperAt = -1;
    let lowerAt = -1;

    pad(0, padY * inputWidth + padX);
    for (let y = 0; y < resizedHeight; y++) {
      const weight1 = rows.weight1[y];
      const first = rows.first[y];
      // A row without weight need not be resampled.
      const second = weight1 === 0 ? first : rows.second[y];
      if (first === lowerAt) {
        [upper, lower] = [lower, upper];
        [upperAt, lowerAt] = [lowerAt, upperAt];
      }
      if (first !== upperAt) {
        resampleRow(image.data, first, columns, resizedWidth, upper);
        upperAt = first;
      }
      if (second !== first && second !== lowerAt) {
        resampleRow(image.data, second, columns, resizedWidth, lower);
        lowerAt = second;
      }
      const start = (padY + y) * inputWidth + padX;
      blendRows(
        upper,
        second === first ? upper : lower,
        rows.weight0[y],
        weight1,
        rowLength,
        levels,
        target,
        red,
        green,
        blue,
        start,
        step,
      );
      const end = start + resizedWidth;
      pad(end, y + 1 < resizedHeight ? start + inputWidth : inputWidth * inputHeight);
    }
  }

  /** What each level 0..255 becomes, for red, green and blue in turn. */
  #fillLevels(format: InputFormat): Target {
    const { type, mean, std, divisor, channelOrder } = format;
    const levels = this.#levels[type];
    const { fround } = Math;
    for (let channel = 0; channel < 3; channel++) {
      const inModel = channelOrder === 'rgb' ? channel : 2 - channel;
      for (let level = 0; level < 256; level++) {
        let value = level;
        if (type !== 'uint8') {
          const shifted = mean === undefined ? level : fround(level - fround(mean[inModel]));
          value = fround(shifted / fround(std === undefined ? divisor : std[inModel]));
          if (type === 'float16') value = float32ToFloat16Bits(value);
        }
        levels[256 * channel + level] = value;
      }
    }
    return levels;
  }
}

function resampleRow(data: Uint8Array, row: number, columns: AxisTaps, width: number, into: Int32Array): void {
  const { first, second, weight0, weight1 } = columns;
  for (let x = 0, at = 0; x < width; x++, at += 3) {
    const left = row + first[x];
    const right = row + second[x];
    const a0 = weight0[x];
    const a1 = weight1[x];
    into[at] = (data[left] * a0 + data[right] * a1) >> 4;
    into[at + 1] = (data[left + 1] * a0 + data[right + 1] * a1) >> 4;
    into[at + 2] = (data[left + 2] * a0 + data[right + 2] * a1) >> 4;
  }
}

function blendRows(
  upper: Int32Array,
  lower: Int32Array,
  b0: number,
  b1: number,
  length: number,
  levels: Target,
  target: Target,
  red: number,
  green: number,
  blue: number,
  start: number,
  step: number,
): void {
  for (let i = 0, at = step * start; i < length; i += 3, at += step) {
    target[red + at] = levels[(((b0 * upper[i]) >> 16) + ((b1 * lower[i]) >> 16) + 2) >> 2];
    target[green + at] = levels[256 + ((((b0 * upper[i + 1]) >> 16) + ((b1 * lower[i + 1]) >> 16) + 2) >> 2)];
    target[blue + at] = levels[512 + ((((b0 * upper[i + 2]) >> 16) + ((b1 * lower[i + 2]) >> 16) + 2) >> 2)];
  }
}

const ARRAY_TYPES = { float32: Float32Array, float16: Uint16Array, uint8: Uint8Array } as const;

function requireFit(image: RgbImage, letterbox: Letterbox, format: InputFormat, target: Target, offset: number): void {
  const { imageWidth, imageHeight, inputWidth, inputHeight } = letterbox;
  const length = 3 * inputWidth * inputHeight;
  const fault =
    image.width !== imageWidth || image.height !== imageHeight
      ? `Expected the picture of ${imageWidth}×${imageHeight} that the letterbox was made for but received ${image.width}×${image.height}`
      : image.data.length < 3 * imageWidth * imageHeight
        ? `Expected ${3 * imageWidth * imageHeight} bytes for ${imageWidth}×${imageHeight} RGB but received ${image.data.length}`
        : !(target instanceof ARRAY_TYPES[format.type])
          ? `Expected a ${ARRAY_TYPES[format.type].name} for ${format.type} but received ${(target as Target).constructor.name}`
          : offset < 0 || offset + length > target.length
            ? `Expected room for ${length} values from ${offset} but the target holds ${target.length}`
            : undefined;
  if (fault !== undefined) throw new YoloError('ERR_YOLO_SHAPE_MISMATCH', fault, { phase: 'validate' });
}
