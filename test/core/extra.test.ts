import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Candidates } from '../../lib/core/candidates.js';
import { type ExtraLayout, extraSize, extraToImage } from '../../lib/core/extra.js';
import { createLetterbox, type Letterbox } from '../../lib/core/letterbox.js';
import { postprocess, type Suppression } from '../../lib/core/postprocess.js';
import { layoutOf, outputOf } from '../heads/synthetic.js';

const letterboxes = fc
  .record({
    size: fc.tuple(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 2000 })),
    placement: fc.constantFrom('centre' as const, 'top-left' as const, 'stretch' as const),
  })
  .map(({ size: [width, height], placement }) => createLetterbox(width, height, 640, 480, { placement }));

/** Where a point of the input lies in the picture. */
function toImage(x: number, y: number, letterbox: Letterbox): [number, number] {
  const { imageWidth, imageHeight, resizedWidth, resizedHeight, padX, padY } = letterbox;
  return [((x - padX) / resizedWidth) * imageWidth, ((y - padY) / resizedHeight) * imageHeight];
}

const pixel = fc.float({ min: -100, max: 800, noNaN: true });

describe('the size of what one object has beside its box', () => {
  it('is that of its keypoints, its coefficients or its rotated box', () => {
    expect(extraSize({ kind: 'keypoints', points: 17, dimensions: 3 })).toBe(51);
    expect(extraSize({ kind: 'keypoints', points: 4, dimensions: 2 })).toBe(8);
    expect(extraSize({ kind: 'mask', size: 32, prototypes: 'protos' })).toBe(32);
    expect(extraSize({ kind: 'rotated' })).toBe(5);
  });
});

describe('in the pixels of the picture', () => {
  it.each([2, 3] as const)('keypoints of %i values lie where they lay in the input, clipped', (dimensions) => {
    const point = fc.tuple(pixel, pixel, fc.float({ min: 0, max: 1, noNaN: true }));
    const objects = fc.array(fc.array(point, { minLength: 3, maxLength: 3 }), { maxLength: 4 });
    fc.assert(
      fc.property(letterboxes, objects, (letterbox, people) => {
        const extra = Float32Array.from(people.flat(2).filter((_, i) => i % 3 < dimensions));
        extraToImage(extra, people.length, { kind: 'keypoints', points: 3, dimensions }, letterbox);
        for (const [i, [x, y, visibility]] of people.flat().entries()) {
          const found = extra.subarray(i * dimensions, (i + 1) * dimensions);
          const [imageX, imageY] = toImage(x, y, letterbox);
          expect(found[0]).toBeCloseTo(Math.min(Math.max(imageX, 0), letterbox.imageWidth), 2);
          expect(found[1]).toBeCloseTo(Math.min(Math.max(imageY, 0), letterbox.imageHeight), 2);
          if (dimensions === 3) expect(found[2]).toBe(visibility);
        }
      }),
    );
  });

  it('mask coefficients are as they were', () => {
    const extra = Float32Array.of(-3, 700, 0.5, Number.NaN);
    extraToImage(extra, 2, { kind: 'mask', size: 2, prototypes: 'protos' }, createLetterbox(10, 20, 640, 480));
    expect(extra).toEqual(Float32Array.of(-3, 700, 0.5, Number.NaN));
  });

  it('sides of a rotated box go where their ends go, and the longer one keeps its direction', () => {
    const side = fc.float({ min: 1, max: 400, noNaN: true });
    const box = fc.tuple(pixel, pixel, side, side, fc.float({ min: -4, max: 4, noNaN: true }));
    fc.assert(
      fc.property(letterboxes, fc.array(box, { maxLength: 3 }), (letterbox, boxes) => {
        const extra = Float32Array.from(boxes.flat());
        extraToImage(extra, boxes.length, { kind: 'rotated' }, letterbox);
        for (const [i, [cx, cy, width, height, angle]] of boxes.entries()) {
          const found = extra.subarray(5 * i, 5 * i + 5);
          const centre = toImage(cx, cy, letterbox);
          const along = toImage(cx + width * Math.cos(angle), cy + width * Math.sin(angle), letterbox);
          const across = toImage(cx - height * Math.sin(angle), cy + height * Math.cos(angle), letterbox);
          const vector = (end: number[]) => [end[0] - centre[0], end[1] - centre[1]] as const;
          const near = (value: number, expected: number) =>
            expect(Math.abs(value - expected)).toBeLessThanOrEqual(1e-4 * Math.max(1, Math.abs(expected)));
          near(found[0], centre[0]);
          near(found[1], centre[1]);
          near(found[2], Math.hypot(...vector(along)));
          near(found[3], Math.hypot(...vector(across)));
          const [x, y] = width >= height ? vector(along) : vector(across);
          // Sine and cosine between the side's direction and the angle, or a right angle more.
          const turned = found[4] + (width >= height ? 0 : Math.PI / 2);
          const length = Math.hypot(x, y);
          near((Math.cos(turned) * y - Math.sin(turned) * x) / length, 0);
          near((Math.cos(turned) * x + Math.sin(turned) * y) / length, 1);
          expect(Math.abs(found[4] - angle)).toBeLessThan(Math.PI / 2 + 1e-3);
        }
      }),
    );
  });

  it('a box keeps its angle where both axes have one scale', () => {
    const extra = Float32Array.of(320, 240, 100, 50, 2.5, 320, 240, 50, 100, -2.5);
    extraToImage(extra, 2, { kind: 'rotated' }, createLetterbox(320, 240, 640, 480));
    expect(extra).toEqual(Float32Array.of(160, 120, 50, 25, 2.5, 160, 120, 25, 50, -2.5));
  });
});

describe('candidates with values of their own', () => {
  it('are what an array of objects would hold, whatever is pushed, dropped and cleared', () => {
    const push = fc.record({
      id: fc.integer({ min: 0, max: 9 }),
      values: fc.array(pixel, { minLength: 3, maxLength: 3 }),
    });
    const rounds = fc.array(
      fc.record({
        size: fc.integer({ min: 0, max: 3 }),
        boxes: fc.array(push, { maxLength: 700 }),
        dropped: fc.integer({ min: 0, max: 9 }),
      }),
      { minLength: 1, maxLength: 3 },
    );
    fc.assert(
      fc.property(rounds, (all) => {
        const candidates = new Candidates();
        for (const { size, boxes, dropped } of all) {
          candidates.clear();
          for (const [n, { id, values }] of boxes.entries()) {
            candidates.push(n, 1, 2, 3, id / 10, id);
            // Two apart, behind one that does not count.
            if (size > 0)
              candidates.setExtra(Float32Array.from([9, ...values.flatMap((value) => [value, 9])]), 1, 2, size);
          }
          candidates.keep((classId, confidence) => {
            expect(confidence).toBe(Math.fround(classId / 10));
            return classId !== dropped;
          });
          const kept = [...boxes.entries()].filter(([, { id }]) => id !== dropped);
          expect(candidates.length).toBe(kept.length);
          expect(candidates.extraSize).toBe(boxes.length > 0 ? size : 0);
          expect([...candidates.classId.subarray(0, kept.length)]).toEqual(kept.map(([, { id }]) => id));
          expect([...candidates.xyxy.subarray(0, 4 * kept.length)]).toEqual(kept.flatMap(([n]) => [n, 1, 2, 3]));
          expect([...candidates.extra.subarray(0, size * kept.length)]).toEqual(
            kept.flatMap(([, { values }]) => values.slice(0, size)),
          );
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('detections with values of their own', () => {
  const unscaled = createLetterbox(100, 100, 100, 100);
  const usual: Suppression = { confidenceThreshold: 0.25, iouThreshold: 0.5, classAgnostic: false, maxDetections: 300 };

  function detect(
    head: string,
    extra: ExtraLayout,
    rows: number[][],
    more: Partial<Suppression> = {},
    letterbox = unscaled,
    scratch?: Candidates,
  ) {
    const layout = { ...layoutOf(head, 3), extra };
    const outputs = outputOf([rows.length, rows[0]?.length ?? 6 + extraSize(extra)], rows.flat());
    const columns = postprocess(outputs, layout, { ...usual, ...more }, letterbox, scratch);
    const size = extraSize(extra);
    expect(columns.extra).toHaveLength(size * columns.classId.length);
    return [...columns.classId].map((classId, i) => ({
      classId,
      extra: [...(columns.extra ?? []).slice(size * i, size * (i + 1))],
    }));
  }
  const pose: ExtraLayout = { kind: 'keypoints', points: 1, dimensions: 3 };
  const people = [
    [0, 0, 10, 10, 0.5, 0, 5, 6, 0.25],
    [50, 50, 60, 60, 0.75, 1, 55, 56, 0.5],
    [1, 0, 10, 10, 0.875, 0, 7, 8, 0.75],
    [80, 80, 90, 90, 0.375, 2, 85, 120, 1],
  ];

  it('keep them through filtering, sorting and suppression', () => {
    const best = { classId: 0, extra: [7, 8, 0.75] };
    const middle = { classId: 1, extra: [55, 56, 0.5] };
    const last = { classId: 2, extra: [85, 100, 1] };
    const second = { classId: 0, extra: [5, 6, 0.25] };
    expect(detect('end-to-end-pose', pose, people)).toEqual([best, middle, last]);
    expect(detect('end-to-end-pose', pose, people, { iouThreshold: null })).toEqual([best, middle, second, last]);
    expect(detect('end-to-end-pose', pose, people, { maxDetections: 2 })).toEqual([best, middle]);
    expect(detect('end-to-end-pose', pose, people, { maxPerClass: 1, iouThreshold: null })).toEqual([
      best,
      middle,
      last,
    ]);
    expect(detect('end-to-end-pose', pose, people, { classes: [1, 2] })).toEqual([middle, last]);
    expect(detect('end-to-end-pose', pose, people, { classThresholds: new Map([[0, 0.9]]) })).toEqual([middle, last]);
  });

  it('have none where nothing is found', () => {
    expect(detect('end-to-end-pose', pose, [])).toEqual([]);
    expect(detect('end-to-end-pose', pose, people, { confidenceThreshold: 0.9 })).toEqual([]);
  });

  it('leave those of the picture before behind', () => {
    const scratch = new Candidates();
    const mask: ExtraLayout = { kind: 'mask', size: 2, prototypes: 'protos' };
    detect('end-to-end-pose', pose, people, {}, unscaled, scratch);
    expect(detect('end-to-end-segment', mask, [[0, 0, 9, 9, 0.5, 1, -1, 2]], {}, unscaled, scratch)).toEqual([
      { classId: 1, extra: [-1, 2] },
    ]);
  });

  it('are suppressed as rotated boxes, not by their upright bounds', () => {
    // Two thin boxes side by side along a diagonal, whose bounds are nearly the same; and one of them once more.
    const rows = [
      [50, 50, 60, 4, 0.875, 0, Math.PI / 4],
      [56, 44, 60, 4, 0.75, 0, Math.PI / 4],
      [50, 50, 60, 5, 0.5, 0, Math.PI / 4],
      [50, 50, 60, 5, 0.375, 1, Math.PI / 4],
    ].map(([cx, cy, w, h, score, id, angle]) => [cx, cy, w, h, score, id, angle]);
    const found = (more: Partial<Suppression>) =>
      detect('end-to-end-obb', { kind: 'rotated' }, rows, more).map(({ classId, extra }) => [
        classId,
        ...extra.slice(0, 4),
      ]);
    const [first, beside, again, other] = [
      [0, 50, 50, 60, 4],
      [0, 56, 44, 60, 4],
      [0, 50, 50, 60, 5],
      [1, 50, 50, 60, 5],
    ];
    expect(found({})).toEqual([first, beside, other]);
    expect(found({ classAgnostic: true })).toEqual([first, beside]);
    expect(found({ maxDetections: 1 })).toEqual([first]);
    expect(found({ iouThreshold: null })).toEqual([first, beside, again, other]);
    expect(found({ maxPerClass: 1 })).toEqual([first, other]);
  });
});
