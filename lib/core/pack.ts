import { YoloError } from '../errors.js';
import { show } from '../show.js';
import type { RgbImage } from '../types.js';
import { requireArray, requireNumber, requireObject, requireOneOf, requireWhole } from './checks.js';
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
   * @throws YoloError ERR_YOLO_SHAPE_MISMATCH when the picture is not the letterbox's, or the target is too short;
   * ERR_YOLO_INVALID_ARGUMENT for a target of another type, or a format that does not exist
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

    const columns = this.#columns;
    const rows = this.#rows;
    columns.set(image.width, resizedWidth, 3, true);
    rows.set(image.height, resizedHeight, 3 * image.width, false);

    fillBorder(letterbox, levels, target, red, green, blue, step);
    for (let y = 0; y < resizedHeight; y++) {
      const at = step * ((padY + y) * inputWidth + padX);
      resampleRow(image.data, rows, y, columns, resizedWidth, levels, target, red + at, green + at, blue + at, step);
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

/**
 * One row of the resized picture, from the two rows of the picture that it lies between. Resampling both anew for every
 * row costs less than keeping horizontally resampled rows: 3.5 ms against 5.5 ms for 1280×720 to 640×640, and 4.5 ms
 * against 4.0 ms at worst, where a small picture is doubled.
 */
function resampleRow(
  data: Uint8Array,
  rows: AxisTaps,
  y: number,
  columns: AxisTaps,
  width: number,
  levels: Target,
  target: Target,
  red: number,
  green: number,
  blue: number,
  step: number,
): void {
  const upper = rows.first[y];
  const lower = rows.second[y];
  const b0 = rows.weight0[y];
  const b1 = rows.weight1[y];
  // Cameras' 1080p and 720p at 640, three and two to one, take these.
  if (b1 === 0 && columns.isExact) {
    copyRow(data, upper, columns.first, width, levels, target, red, green, blue, step);
    return;
  }
  if (rows.isHalfway && columns.isHalfway) {
    averageRow(data, upper, lower, columns.first, width, levels, target, red, green, blue, step);
    return;
  }
  // The two weights of a column sum up to 2048, so that a0 * left + a1 * right is 2048 * left + a1 * (right - left).
  const { first, second, weight1 } = columns;
  if (b1 === 0) {
    for (let x = 0; x < width; x++, red += step, green += step, blue += step) {
      const left = upper + first[x];
      const right = upper + second[x];
      const a1 = weight1[x];
      const r = data[left];
      const g = data[left + 1];
      const b = data[left + 2];
      target[red] = levels[(((b0 * (((r << 11) + a1 * (data[right] - r)) >> 4)) >> 16) + 2) >> 2];
      target[green] = levels[256 + ((((b0 * (((g << 11) + a1 * (data[right + 1] - g)) >> 4)) >> 16) + 2) >> 2)];
      target[blue] = levels[512 + ((((b0 * (((b << 11) + a1 * (data[right + 2] - b)) >> 4)) >> 16) + 2) >> 2)];
    }
    return;
  }
  for (let x = 0; x < width; x++, red += step, green += step, blue += step) {
    const upperLeft = upper + first[x];
    const upperRight = upper + second[x];
    const lowerLeft = lower + first[x];
    const lowerRight = lower + second[x];
    const a1 = weight1[x];
    const r0 = data[upperLeft];
    const r1 = data[lowerLeft];
    const redUpper = ((r0 << 11) + a1 * (data[upperRight] - r0)) >> 4;
    const redLower = ((r1 << 11) + a1 * (data[lowerRight] - r1)) >> 4;
    target[red] = levels[(((b0 * redUpper) >> 16) + ((b1 * redLower) >> 16) + 2) >> 2];
    const g0 = data[upperLeft + 1];
    const g1 = data[lowerLeft + 1];
    const greenUpper = ((g0 << 11) + a1 * (data[upperRight + 1] - g0)) >> 4;
    const greenLower = ((g1 << 11) + a1 * (data[lowerRight + 1] - g1)) >> 4;
    target[green] = levels[256 + ((((b0 * greenUpper) >> 16) + ((b1 * greenLower) >> 16) + 2) >> 2)];
    const c0 = data[upperLeft + 2];
    const c1 = data[lowerLeft + 2];
    const blueUpper = ((c0 << 11) + a1 * (data[upperRight + 2] - c0)) >> 4;
    const blueLower = ((c1 << 11) + a1 * (data[lowerRight + 2] - c1)) >> 4;
    target[blue] = levels[512 + ((((b0 * blueUpper) >> 16) + ((b1 * blueLower) >> 16) + 2) >> 2)];
  }
}

/** A row whose pixels are pixels of the picture: the arithmetic above gives them unchanged. */
function copyRow(
  data: Uint8Array,
  row: number,
  columns: Int32Array,
  width: number,
  levels: Target,
  target: Target,
  red: number,
  green: number,
  blue: number,
  step: number,
): void {
  for (let x = 0; x < width; x++, red += step, green += step, blue += step) {
    const at = row + columns[x];
    target[red] = levels[data[at]];
    target[green] = levels[256 + data[at + 1]];
    target[blue] = levels[512 + data[at + 2]];
  }
}

/** A row whose pixels lie in the middle of four: the arithmetic above comes to their mean. */
function averageRow(
  data: Uint8Array,
  upper: number,
  lower: number,
  columns: Int32Array,
  width: number,
  levels: Target,
  target: Target,
  red: number,
  green: number,
  blue: number,
  step: number,
): void {
  for (let x = 0; x < width; x++, red += step, green += step, blue += step) {
    const a = upper + columns[x];
    const b = lower + columns[x];
    target[red] = levels[(data[a] + data[a + 3] + data[b] + data[b + 3] + 2) >> 2];
    target[green] = levels[256 + ((data[a + 1] + data[a + 4] + data[b + 1] + data[b + 4] + 2) >> 2)];
    target[blue] = levels[512 + ((data[a + 2] + data[a + 5] + data[b + 2] + data[b + 5] + 2) >> 2)];
  }
}

function fillBorder(
  { inputWidth, inputHeight, resizedWidth, resizedHeight, padY, padValue }: Letterbox,
  levels: Target,
  target: Target,
  red: number,
  green: number,
  blue: number,
  step: number,
): void {
  const pixels = inputWidth * inputHeight;
  if (resizedWidth < inputWidth) {
    // All of it, under the picture too: as fast as going round the picture, whose short fills box a number each.
    fill(padValue, levels, target, red, green, blue, 0, pixels, step);
    return;
  }
  fill(padValue, levels, target, red, green, blue, 0, padY * inputWidth, step);
  fill(padValue, levels, target, red, green, blue, (padY + resizedHeight) * inputWidth, pixels, step);
}

function fill(
  level: number,
  levels: Target,
  target: Target,
  red: number,
  green: number,
  blue: number,
  start: number,
  end: number,
  step: number,
): void {
  if (step === 1) {
    target.fill(levels[level], red + start, red + end);
    target.fill(levels[256 + level], green + start, green + end);
    target.fill(levels[512 + level], blue + start, blue + end);
    return;
  }
  for (let at = step * start; at < step * end; at += step) {
    target[red + at] = levels[level];
    target[green + at] = levels[256 + level];
    target[blue + at] = levels[512 + level];
  }
}

// What is checked on every picture allocates nothing.
const ARRAY_TYPES = { float32: ['Float32Array'], float16: ['Uint16Array'], uint8: ['Uint8Array'] } as const;
const TYPES = Object.keys(ARRAY_TYPES);
const LAYOUTS = ['nchw', 'nhwc'];
const CHANNEL_ORDERS = ['rgb', 'bgr'];

function requireFit(image: RgbImage, letterbox: Letterbox, format: InputFormat, target: Target, offset: number): void {
  requireObject('image', image);
  requireObject('letterbox', letterbox);
  requireObject('format', format);
  requireOneOf('format.layout', format.layout, LAYOUTS);
  requireOneOf('format.type', format.type, TYPES);
  requireOneOf('format.channelOrder', format.channelOrder, CHANNEL_ORDERS);
  requireNumber('format.divisor', format.divisor);
  if (format.mean !== undefined) requireChannels('format.mean', format.mean);
  if (format.std !== undefined) requireChannels('format.std', format.std);
  requireWhole('offset', offset, 0);
  const { imageWidth, imageHeight, inputWidth, inputHeight } = letterbox;
  if (image.width !== imageWidth || image.height !== imageHeight)
    throw new YoloError(
      'ERR_YOLO_SHAPE_MISMATCH',
      `Expected the picture of ${imageWidth}×${imageHeight} that the letterbox was made for but received ${show(image.width)} × ${show(image.height)}`,
      { phase: 'validate' },
    );
  requireArray('image.data', image.data, ARRAY_TYPES.uint8, 3 * imageWidth * imageHeight);
  requireArray('target', target, ARRAY_TYPES[format.type], offset + 3 * inputWidth * inputHeight);
}

function requireChannels(name: string, channels: ArrayLike<number>): void {
  requireObject(name, channels);
  for (let channel = 0; channel < 3; channel++) {
    if (!Number.isFinite(channels[channel])) requireNumber(`${name}[${channel}]`, channels[channel]);
  }
}
