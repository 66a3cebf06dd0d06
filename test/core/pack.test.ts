import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  createLetterbox,
  float32ToFloat16Bits,
  type InputFormat,
  type Letterbox,
  resizeBilinear,
  TensorPacker,
} from '../../lib/core/index.js';
import { YoloError } from '../../lib/errors.js';
import type { RgbImage } from '../../lib/types.js';

const { fround } = Math;
const ARRAYS = { float32: Float32Array, float16: Uint16Array, uint8: Uint8Array };
const PLAIN: InputFormat = {
  layout: 'nchw',
  type: 'float32',
  channelOrder: 'rgb',
  divisor: 255,
  letterbox: { placement: 'centre' },
};
const IMAGENET = { mean: [103.53, 116.28, 123.675], std: [57.375, 57.12, 58.395] } as const;

function picture(width: number, height: number, seed = 1): RgbImage {
  let state = seed;
  const data = Uint8Array.from({ length: 3 * width * height }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
  return { data, width, height };
}

/** One value at a time, from a picture resized beforehand. */
function packedSlowly(image: RgbImage, letterbox: Letterbox, format: InputFormat): number[] {
  const { inputWidth, inputHeight, resizedWidth, resizedHeight, padX, padY, padValue } = letterbox;
  const resized = resizeBilinear({ ...image, channels: 3 }, resizedWidth, resizedHeight);
  const out: number[] = new Array(3 * inputWidth * inputHeight);
  for (let y = 0; y < inputHeight; y++)
    for (let x = 0; x < inputWidth; x++)
      for (let channel = 0; channel < 3; channel++) {
        const [column, row] = [x - padX, y - padY];
        const inside = column >= 0 && row >= 0 && column < resizedWidth && row < resizedHeight;
        const source = format.channelOrder === 'rgb' ? channel : 2 - channel;
        const level = inside ? resized[3 * (row * resizedWidth + column) + source] : padValue;
        const at =
          format.layout === 'nchw' ? (channel * inputHeight + y) * inputWidth + x : 3 * (y * inputWidth + x) + channel;
        const shifted = format.mean ? fround(fround(level) - fround(format.mean[channel])) : level;
        const value = fround(shifted / fround(format.std ? format.std[channel] : format.divisor));
        out[at] = format.type === 'uint8' ? level : format.type === 'float16' ? float32ToFloat16Bits(value) : value;
      }
  return out;
}

function packed(image: RgbImage, letterbox: Letterbox, format: InputFormat, packer = new TensorPacker()): number[] {
  const target = new ARRAYS[format.type](3 * letterbox.inputWidth * letterbox.inputHeight);
  packer.pack(image, letterbox, format, target, 0);
  return Array.from(target);
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('resizing', () => {
  it('gives a copy at the same size', () => {
    const image = { ...picture(9, 7), channels: 3 as const };
    const copy = resizeBilinear(image, 9, 7);
    expect(copy).toEqual(image.data);
    expect(copy).not.toBe(image.data);
  });

  it('averages four pixels when both sides are halved, each channel by itself', () => {
    const data = Uint8Array.of(0, 9, 255, 9, 255, 9, 0, 9);
    expect(Array.from(resizeBilinear({ data, width: 2, height: 2, channels: 2 }, 1, 1))).toEqual([128, 9]);
  });

  it('rounds the weights of a row above the first one by one, as OpenCV does', () => {
    // A quarter of 2 is 64 in the row sums. With weight 2048: 2048 * 64 >> 16 is 2, and (2 + 2) >> 2 is 1. With 683 and
    // 1365, both for the same row: 0 + 1, and (1 + 2) >> 2 is 0.
    const image = { data: Uint8Array.of(0, 2), width: 2, height: 1, channels: 1 as const };
    expect(Array.from(resizeBilinear(image, 4, 3))).toEqual([0, 0, 1, 2, 0, 1, 2, 2, 0, 0, 1, 2]);
  });

  it('refuses sides that are not whole and pictures with too few bytes', () => {
    const image = { ...picture(2, 2), channels: 3 as const };
    expect(() => resizeBilinear(image, 0, 1)).toThrow(/width.*0/);
    expect(() => resizeBilinear(image, 1, 1.5)).toThrow(/height.*1\.5/);
    expect(() => resizeBilinear({ ...image, height: 3 }, 1, 1)).toThrow(/18.*12/);
  });

  it('is within one level of bilinear in real numbers', () => {
    const side = fc.integer({ min: 1, max: 24 });
    fc.assert(
      fc.property(side, side, side, side, fc.integer(), (width, height, toWidth, toHeight, seed) => {
        const { data } = picture(width, height, seed);
        const result = resizeBilinear({ data, width, height, channels: 3 }, toWidth, toHeight);
        const taps = (i: number, from: number, to: number) => {
          const position = Math.min(Math.max(((i + 0.5) * from) / to - 0.5, 0), from - 1);
          const first = Math.floor(position);
          return [first, Math.min(first + 1, from - 1), position - first];
        };
        for (let y = 0; y < toHeight; y++)
          for (let x = 0; x < toWidth; x++) {
            const [x0, x1, fx] = taps(x, width, toWidth);
            const [y0, y1, fy] = taps(y, height, toHeight);
            const level = (column: number, row: number) => data[3 * (row * width + column) + 1];
            const upper = level(x0, y0) * (1 - fx) + level(x1, y0) * fx;
            const lower = level(x0, y1) * (1 - fx) + level(x1, y1) * fx;
            const off = Math.abs(result[3 * (y * toWidth + x) + 1] - (upper * (1 - fy) + lower * fy));
            expect(off).toBeLessThan(1.6);
          }
      }),
    );
  });
});

describe('packing', () => {
  it('lays red first, or blue first, in planes or interleaved', () => {
    const image = { data: Uint8Array.of(10, 20, 30, 40, 50, 60), width: 2, height: 1 };
    const letterbox = createLetterbox(2, 1, 2, 1);
    const as = (layout: InputFormat['layout'], channelOrder: InputFormat['channelOrder']) =>
      packed(image, letterbox, { ...PLAIN, type: 'uint8', layout, channelOrder });
    expect(as('nchw', 'rgb')).toEqual([10, 40, 20, 50, 30, 60]);
    expect(as('nchw', 'bgr')).toEqual([30, 60, 20, 50, 10, 40]);
    expect(as('nhwc', 'rgb')).toEqual([10, 20, 30, 40, 50, 60]);
    expect(as('nhwc', 'bgr')).toEqual([30, 20, 10, 60, 50, 40]);
  });

  it('normalises in float32 steps, by channel of the model, the border too', () => {
    const image = { data: Uint8Array.of(255, 0, 51), width: 1, height: 1 };
    const letterbox = createLetterbox(1, 1, 2, 1);
    expect(packed(image, letterbox, PLAIN)).toEqual([1, 114 / 255, 0, 114 / 255, 51 / 255, 114 / 255].map(fround));
    const bgr: InputFormat = { ...PLAIN, channelOrder: 'bgr', divisor: 1, ...IMAGENET };
    const expected = [51, 114, 0, 114, 255, 114].map((level, i) => {
      const channel = i >> 1;
      return fround(fround(level - fround(IMAGENET.mean[channel])) / fround(IMAGENET.std[channel]));
    });
    expect(packed(image, letterbox, bgr)).toEqual(expected);
  });

  it('writes float16 rounded to the nearest', () => {
    const image = { data: Uint8Array.of(1, 2, 255), width: 1, height: 1 };
    expect(packed(image, createLetterbox(1, 1, 1, 1), { ...PLAIN, type: 'float16' })).toEqual(
      [1, 2, 255].map((level) => float32ToFloat16Bits(level / 255)),
    );
  });

  it('equals resizing, placing and normalising one after the other, whatever the sizes and formats', () => {
    const packer = new TensorPacker();
    const side = fc.integer({ min: 1, max: 40 });
    const format: fc.Arbitrary<InputFormat> = fc.record(
      {
        layout: fc.constantFrom('nchw', 'nhwc'),
        type: fc.constantFrom('float32', 'float16', 'uint8'),
        channelOrder: fc.constantFrom('rgb', 'bgr'),
        divisor: fc.constantFrom(1, 255, 127.5),
        mean: fc.constant(IMAGENET.mean),
        std: fc.constant(IMAGENET.std),
        letterbox: fc.record(
          {
            placement: fc.constantFrom('centre', 'top-left', 'stretch'),
            scaleUp: fc.boolean(),
            padValue: fc.integer({ min: 0, max: 255 }),
            stride: fc.constantFrom(1, 4),
          },
          { requiredKeys: ['placement'] },
        ),
      },
      { requiredKeys: ['layout', 'type', 'channelOrder', 'divisor', 'letterbox'] },
    );
    fc.assert(
      fc.property(
        side,
        side,
        side,
        side,
        format,
        fc.integer(),
        (width, height, inputWidth, inputHeight, chosen, seed) => {
          const image = picture(width, height, seed);
          const letterbox = createLetterbox(width, height, inputWidth, inputHeight, chosen.letterbox);
          expect(packed(image, letterbox, chosen, packer)).toEqual(packedSlowly(image, letterbox, chosen));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('writes a picture of a batch at its place and nothing beside it', () => {
    const image = picture(5, 3);
    const letterbox = createLetterbox(5, 3, 4, 4);
    for (const layout of ['nchw', 'nhwc'] as const) {
      const batch = new Float32Array(3 * 48).fill(-1);
      new TensorPacker().pack(image, letterbox, { ...PLAIN, layout }, batch, 48);
      expect(batch.subarray(0, 48).every((value) => value === -1)).toBe(true);
      expect(batch.subarray(96).every((value) => value === -1)).toBe(true);
      expect(Array.from(batch.subarray(48, 96))).toEqual(packedSlowly(image, letterbox, { ...PLAIN, layout }));
    }
  });

  it('allocates no array once it has seen a size as large', () => {
    const packer = new TensorPacker();
    const target = new Float32Array(3 * 64 * 64);
    const [large, small] = [picture(90, 70), picture(30, 41)];
    const [forLarge, forSmall] = [createLetterbox(90, 70, 64, 64), createLetterbox(30, 41, 64, 64)];
    packer.pack(large, forLarge, PLAIN, target, 0);
    packer.pack(small, forSmall, PLAIN, target, 0);
    const refuse = class {
      constructor() {
        throw new Error('allocated');
      }
    };
    for (const name of ['Int32Array', 'Float32Array', 'Uint16Array', 'Uint8Array', 'Float64Array'])
      vi.stubGlobal(name, refuse);
    for (let i = 0; i < 3; i++) {
      packer.pack(large, forLarge, PLAIN, target, 0);
      packer.pack(small, forSmall, PLAIN, target, 0);
    }
  });

  it('leaves the picture as it was', () => {
    const image = picture(20, 10);
    const before = image.data.slice();
    packed(image, createLetterbox(20, 10, 16, 16), PLAIN);
    expect(image.data).toEqual(before);
  });

  it.each([
    ['another picture than the letterbox is for', { width: 3 }, {}, {}, /4×2 .* 3 \(number\) × 2/],
    ['another height', { height: 3 }, {}, {}, /4×2 .* × 3/],
    ['too few bytes', { data: new Uint8Array(23) }, {}, {}, /image\.data .* 24 values .* 23/],
    [
      'bytes of another type',
      { data: Array(24).fill(0) as unknown as Uint8Array },
      {},
      {},
      /Uint8Array .* an array of 24/,
    ],
    ['an array of another type', {}, { type: 'float16' }, {}, /target to be a Uint16Array .*Float32Array/],
    ['a layout that does not exist', {}, { layout: 'hwc' }, {}, /'nchw' or 'nhwc' but received "hwc"/],
    ['a deviation that is no number', {}, { mean: [0, 0, 0], std: [1, 1, NaN] }, {}, /std\[2\] .* NaN/],
    ['a target that is too short', {}, {}, { offset: 1 }, /target .* 49 values .* 48/],
    ['a place between values', {}, {}, { offset: 0.5 }, /offset .* 0\.5/],
    ['a place before the target', {}, {}, { offset: -1 }, /offset .* -1/],
  ] as const)('refuses %s', (_, image, format, { offset = 0 }: { offset?: number }, message) => {
    let thrown: unknown;
    try {
      const letterbox = createLetterbox(4, 2, 4, 4);
      new TensorPacker().pack(
        { ...picture(4, 2), ...image },
        letterbox,
        { ...PLAIN, ...format } as InputFormat,
        new Float32Array(48),
        offset,
      );
    } catch (error) {
      thrown = error;
    }
    expect(YoloError.is(thrown)).toBe(true);
    expect((thrown as Error).message).toMatch(message);
  });
});
