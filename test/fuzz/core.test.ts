import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boxArea,
  boxesToImage,
  createLetterbox,
  cxcywhToXyxy,
  float16ToFloat32Array,
  float32ToFloat16Array,
  type LetterboxOptions,
  nms,
  resizeBilinear,
  TensorPacker,
  xywhToCxcywh,
  xyxyToXywh,
} from '../../lib/core/index.js';
import type { RawImage, RgbImage } from '../../lib/types.js';
import { anyValue, FUZZ_TIMEOUT_MS, fuzz, options, resultOrYoloError } from './fuzz.js';

/** Mostly a good value, now and then any other. */
const mostly = (good: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: anyValue });
const side = mostly(fc.oneof(fc.integer({ min: 1, max: 64 }), fc.constantFrom(0, -1, 1.5, 2 ** 31, Number.NaN)));
const floats = (length: number) => mostly(fc.float32Array({ minLength: length - 1, maxLength: length + 3 }));

const letterboxOptions = options({
  placement: fc.constantFrom('centre', 'top-left', 'stretch', 'center'),
  scaleUp: fc.boolean(),
  padValue: fc.integer({ min: -1, max: 256 }),
  stride: fc.constantFrom(1, 8, 32, 0, 1.5),
});
const letterboxGiven = fc.tuple(side, side, side, side, mostly(letterboxOptions));
const make = (given: readonly unknown[]) =>
  createLetterbox(...(given as [number, number, number, number, LetterboxOptions]));

describe('the parts alone, given anything', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('letterbox a picture inside the input, or say what was expected', () =>
    fuzz(100_000, letterboxGiven, (given) =>
      resultOrYoloError(() => {
        const { resizedWidth, resizedHeight, padX, padY, inputWidth, inputHeight, padValue } = make(given);
        for (const whole of [resizedWidth, resizedHeight, padX, padY, padValue])
          expect(Number.isInteger(whole)).toBe(true);
        expect(resizedWidth >= 1 && padX >= 0 && padX + resizedWidth <= inputWidth).toBe(true);
        expect(resizedHeight >= 1 && padY >= 0 && padY + resizedHeight <= inputHeight).toBe(true);
      }),
    ));

  it('suppress boxes, or say what was expected', () => {
    const given = fc.integer({ min: 0, max: 8 }).chain((count) =>
      fc.tuple(
        floats(4 * count + 1),
        floats(count + 1),
        mostly(
          options({
            iouThreshold: fc.double({ min: -0.1, max: 1.1 }),
            classId: mostly(fc.int32Array({ minLength: count, maxLength: count + 2 })),
            count: fc.constantFrom(count, count - 1, count + 1),
            maxDetections: fc.integer({ min: -1, max: 9 }),
          }),
        ),
      ),
    );
    return fuzz(100_000, given, ([xyxy, confidence, how]) =>
      resultOrYoloError(() => {
        const kept = nms(xyxy as Float32Array, confidence as Float32Array, how as { iouThreshold: number });
        expect(new Set(kept).size).toBe(kept.length);
        expect(kept.every((index) => index < (confidence as Float32Array).length)).toBe(true);
      }),
    );
  });

  it('turn boxes and floats into others, or say what was expected', () =>
    fuzz(20_000, fc.tuple(floats(9), floats(9), mostly(fc.constant(undefined))), async ([one, other, into]) => {
      const boxes = one as Float32Array;
      for (const convert of [xyxyToXywh, xywhToCxcywh, cxcywhToXyxy]) {
        await resultOrYoloError(() => expect(convert(boxes)).toHaveLength(boxes.length));
        await resultOrYoloError(() => convert(boxes, other as Float32Array));
      }
      await resultOrYoloError(() => float32ToFloat16Array(boxes, into as Uint16Array));
      await resultOrYoloError(() => float16ToFloat32Array(boxes as unknown as Uint16Array, into as Float32Array));
      await resultOrYoloError(() => boxesToImage(boxes, 2, createLetterbox(10, 10, 20, 20)));
      if (boxes instanceof Float32Array && boxes.length >= 4) expect(typeof boxArea(boxes, 0)).toBe('number');
    }));

  it('resize and pack pixels, or say what was expected', () => {
    const image = options({
      data: fc.uint8Array({ minLength: 48, maxLength: 192 }),
      width: fc.integer({ min: 1, max: 8 }),
      height: fc.integer({ min: 1, max: 8 }),
      channels: fc.integer({ min: 0, max: 4 }),
    });
    const small = mostly(fc.integer({ min: -1, max: 12 }));
    const format = options({
      layout: fc.constantFrom('nchw', 'nhwc'),
      type: fc.constantFrom('float32', 'float16', 'uint8'),
      channelOrder: fc.constantFrom('rgb', 'bgr'),
      divisor: fc.constantFrom(1, 255),
    });
    const target = mostly(
      fc.constantFrom<unknown>(
        new Float32Array(3 * 144),
        new Uint16Array(3 * 144),
        new Uint8Array(3 * 144),
        new Float32Array(5),
      ),
    );
    return fuzz(
      50_000,
      fc.tuple(mostly(image), small, small, mostly(format), target),
      async ([one, width, height, how, into]) => {
        // A picture of terabytes is a wish that nobody can grant.
        if ([width, height].every((value) => !(typeof value === 'number' && value > 1000)))
          await resultOrYoloError(() => {
            const resized = resizeBilinear(one as RawImage, width as number, height as number);
            expect(resized.length).toBe((width as number) * (height as number) * (one as RawImage).channels);
          });
        await resultOrYoloError(() => {
          const { width: w, height: h } = (one ?? {}) as RawImage;
          const letterbox = createLetterbox(w, h, width as number, height as number);
          new TensorPacker().pack(one as RgbImage, letterbox, how as never, into as Float32Array, 0);
        });
      },
    );
  });
});
