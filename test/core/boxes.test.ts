import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boxArea,
  boxIou,
  cxcywhToXywh,
  cxcywhToXyxy,
  xywhToCxcywh,
  xywhToXyxy,
  xyxyToCxcywh,
  xyxyToXywh,
} from '../../lib/core/index.js';

const XYXY = [10, 20, 30, 60, -4, -2, 0, 8];
const XYWH = [10, 20, 20, 40, -4, -2, 4, 10];
const CXCYWH = [20, 40, 20, 40, -2, 3, 4, 10];

describe('box formats', () => {
  it.each([
    ['xyxyToXywh', xyxyToXywh, XYXY, XYWH],
    ['xyxyToCxcywh', xyxyToCxcywh, XYXY, CXCYWH],
    ['xywhToXyxy', xywhToXyxy, XYWH, XYXY],
    ['xywhToCxcywh', xywhToCxcywh, XYWH, CXCYWH],
    ['cxcywhToXyxy', cxcywhToXyxy, CXCYWH, XYXY],
    ['cxcywhToXywh', cxcywhToXywh, CXCYWH, XYWH],
  ] as const)('%s converts every box, into a new array or in place', (_, convert, from, to) => {
    const boxes = Float32Array.from(from);
    expect(Array.from(convert(boxes))).toEqual(to);
    expect(Array.from(boxes)).toEqual(from);
    expect(convert(boxes, boxes)).toBe(boxes);
    expect(Array.from(boxes)).toEqual(to);
  });

  it('lead back to where they came from', () => {
    const numbers = fc.array(fc.integer({ min: -10_000, max: 10_000 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(numbers, (box) => {
        const boxes = Float64Array.from(box);
        expect(cxcywhToXyxy(xyxyToCxcywh(boxes))).toEqual(boxes);
        expect(xywhToXyxy(xyxyToXywh(boxes))).toEqual(boxes);
        expect(cxcywhToXywh(xywhToCxcywh(boxes))).toEqual(boxes);
      }),
    );
  });
});

describe('IoU', () => {
  const iou = (a: number[], b: number[]) => boxIou(Float32Array.from(a), 0, Float32Array.from(b), 0);

  it('adds no pixel to a side', () => {
    expect(boxArea(Float32Array.of(0, 0, 0, 0, 2, 3, 5, 7), 1)).toBe(12);
    expect(iou([0, 0, 10, 10], [5, 0, 15, 10])).toBe(Math.fround(1 / 3));
    expect(iou([0, 0, 10, 10], [10, 0, 20, 10])).toBe(0);
  });

  it('tells right from bottom', () => {
    // Swapped corners would give these pairs an overlap, or take it away.
    expect(iou([0, 0, 100, 10], [0, 50, 100, 60])).toBe(0);
    expect(iou([0, 0, 10, 100], [50, 0, 60, 100])).toBe(0);
    expect(iou([0, 0, 100, 10], [50, 0, 150, 10])).toBe(Math.fround(1 / 3));
    expect(iou([0, 0, 10, 100], [0, 50, 10, 150])).toBe(Math.fround(1 / 3));
  });

  it('is a float32, so that 3/5 is a little more and 7/10 a little less', () => {
    expect(iou([0, 0, 10, 10], [0, 0, 10, 6])).toBe(Math.fround(0.6));
    expect(iou([0, 0, 10, 10], [0, 0, 10, 6])).toBeGreaterThan(0.6);
    expect(iou([0, 0, 10, 10], [0, 0, 10, 7])).toBeLessThan(0.7);
  });

  it('holds for areas beyond float16, and is NaN where nothing can be said', () => {
    expect(iou([0, 0, 4000, 4000], [0, 0, 4000, 2000])).toBe(0.5);
    expect(iou([3, 3, 3, 3], [3, 3, 3, 3])).toBeNaN();
    expect(iou([0, 0, 1e30, 1e30], [0, 0, 1e30, 1e30])).toBeNaN();
    expect(iou([0, 0, Number.NaN, 1], [0, 0, 1, 1])).toBeNaN();
    expect(iou([0, 0, 10, 10], [3, 3, 3, 3])).toBe(0);
  });

  it('is symmetric and between 0 and 1', () => {
    const coordinate = fc.float({ min: -1000, max: 1000, noNaN: true });
    const box = fc
      .array(coordinate, { minLength: 4, maxLength: 4 })
      .map(([x, y, w, h]) => [x, y, x + Math.abs(w) + 1, y + Math.abs(h) + 1]);
    fc.assert(
      fc.property(box, box, (a, b) => {
        expect(iou(a, b)).toBe(iou(b, a));
        expect(iou(a, b)).toBeGreaterThanOrEqual(0);
        expect(iou(a, b)).toBeLessThanOrEqual(1);
        expect(iou(a, a)).toBe(1);
      }),
    );
  });
});
