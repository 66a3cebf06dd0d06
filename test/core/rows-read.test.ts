import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLetterbox } from '../../lib/core/letterbox.js';
import { TensorPacker } from '../../lib/core/pack.js';
import { rowsRead } from '../../lib/core/resample.js';

it('one row in three, where three make one; all, where two do or a picture grows', () => {
  expect(rowsRead(9, 3)).toEqual([1, 2, 4, 5, 7, 8]);
  expect(rowsRead(8, 4)).toEqual([0, 8]);
  expect(rowsRead(12, 2)).toEqual([2, 4, 8, 10]);
  expect(rowsRead(3, 9)).toEqual([0, 3]);
  expect(rowsRead(1, 1)).toEqual([0, 1]);
});

it('what lies in other rows makes no difference', () => {
  const side = fc.integer({ min: 1, max: 60 });
  fc.assert(
    fc.property(
      side,
      side,
      fc.integer({ min: 1, max: 24 }),
      fc.infiniteStream(fc.integer({ min: 0, max: 255 })),
      (width, height, size, noise) => {
        const data = Uint8Array.from({ length: width * height * 3 }, () => noise.next().value);
        const letterbox = createLetterbox(width, height, size, size);
        const other = Uint8Array.from({ length: data.length }, () => noise.next().value);
        const ranges = rowsRead(height, letterbox.resizedHeight);
        for (let at = 0; at < ranges.length; at += 2) {
          const [from, to] = [3 * width * ranges[at]!, 3 * width * ranges[at + 1]!];
          other.set(data.subarray(from, to), from);
        }
        const packed = (pixels: Uint8Array): Float32Array => {
          const target = new Float32Array(3 * size * size);
          const format = {
            layout: 'nchw',
            type: 'float32',
            channelOrder: 'rgb',
            divisor: 255,
            letterbox: { placement: 'centre' },
          } as const;
          new TensorPacker().pack({ data: pixels, width, height }, letterbox, format, target, 0);
          return target;
        };
        expect(packed(other)).toEqual(packed(data));
      },
    ),
  );
});

it('of a picture many times as high no more than of one twice as high, so that laying it in takes no longer', () => {
  for (const height of [1280, 1920, 4320, 8640, 17_280]) {
    const ranges = rowsRead(height, 640);
    let rows = 0;
    for (let at = 0; at < ranges.length; at += 2) rows += ranges[at + 1]! - ranges[at]!;
    expect(rows).toBeLessThanOrEqual(2 * 640);
  }
});
