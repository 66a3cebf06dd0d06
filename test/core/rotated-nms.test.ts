import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { probabilisticIou, suppressRotated } from '../../lib/core/rotated-nms.js';

type Rotated = [cx: number, cy: number, width: number, height: number, angle: number];

const overlap = (a: Rotated, b: Rotated) => probabilisticIou(Float32Array.from([...a, ...b]), 0, 1);

const place = fc.double({ min: -60, max: 60, noNaN: true });
const side = fc.double({ min: 2, max: 80, noNaN: true });
const turn = fc.double({ min: -4, max: 4, noNaN: true });
const box = fc.tuple(place, place, side, side, turn);

/** Moments of the box from a grid of points that fill it, by sums. */
function momentsOf([, , width, height, angle]: Rotated): [[number, number], [number, number]] {
  const steps = 64;
  const moments: [[number, number], [number, number]] = [
    [0, 0],
    [0, 0],
  ];
  for (let i = 0; i < steps; i++) {
    for (let j = 0; j < steps; j++) {
      const u = ((i + 0.5) / steps - 0.5) * width;
      const v = ((j + 0.5) / steps - 0.5) * height;
      const point = [u * Math.cos(angle) - v * Math.sin(angle), u * Math.sin(angle) + v * Math.cos(angle)];
      for (const row of [0, 1]) for (const column of [0, 1]) moments[row][column] += point[row] * point[column];
    }
  }
  for (const row of moments) for (const column of [0, 1]) row[column] /= steps * steps;
  return moments;
}

/** One less the Hellinger distance of the two normal distributions, by matrices. */
function slowOverlap(a: Rotated, b: Rotated): number {
  const [p, q] = [momentsOf(a), momentsOf(b)];
  const determinant = (m: number[][]) => m[0][0] * m[1][1] - m[0][1] * m[1][0];
  const mean = [0, 1].map((row) => [0, 1].map((column) => (p[row][column] + q[row][column]) / 2));
  const d = [a[0] - b[0], a[1] - b[1]];
  const inverse = [
    [mean[1][1] / determinant(mean), -mean[0][1] / determinant(mean)],
    [-mean[1][0] / determinant(mean), mean[0][0] / determinant(mean)],
  ];
  const quadratic = [0, 1].reduce((sum, row) => sum + d[row] * (inverse[row][0] * d[0] + inverse[row][1] * d[1]), 0);
  const coefficient = Math.exp(
    -quadratic / 8 - Math.log(determinant(mean) / Math.sqrt(determinant(p) * determinant(q))) / 2,
  );
  return 1 - Math.sqrt(Math.max(0, 1 - coefficient));
}

describe('the overlap of rotated boxes', () => {
  it('is what moments summed point by point give', () => {
    fc.assert(
      fc.property(box, box, (a, b) => {
        expect(Math.abs(overlap(a, b) - slowOverlap(a, b))).toBeLessThan(2e-3);
      }),
      { numRuns: 200 },
    );
  });

  it('does not depend on order, on where both lie, on half turns, nor on which side is the width', () => {
    fc.assert(
      fc.property(box, box, place, (a, b, far) => {
        const expected = overlap(a, b);
        const [cx, cy, width, height, angle] = b;
        const moved = (one: Rotated): Rotated => [one[0] + far, one[1] - far, one[2], one[3], one[4]];
        for (const same of [
          overlap(b, a),
          overlap(moved(a), moved(b)),
          overlap(a, [cx, cy, width, height, angle + Math.PI]),
          overlap(a, [cx, cy, height, width, angle + Math.PI / 2]),
        ])
          expect(Math.abs(same - expected)).toBeLessThan(1e-3);
      }),
    );
  });

  it('is nearly 1 of a box with itself, nearly 0 of boxes far apart, and falls with distance', () => {
    fc.assert(
      fc.property(box, ([cx, cy, width, height, angle]) => {
        const at = (distance: number) =>
          overlap([cx, cy, width, height, angle], [cx + distance, cy, width, height, angle]);
        expect(at(0)).toBeGreaterThan(0.99);
        expect(Math.abs(at(1e4))).toBeLessThan(1e-6);
        expect(at(1)).toBeLessThanOrEqual(at(0));
        expect(at(20)).toBeLessThan(at(1));
      }),
    );
  });

  it('is a number for boxes without a side', () => {
    for (const flat of [
      [0, 0, 0, 0, 0],
      [0, 0, 10, 0, 1],
      [0, 0, 0, 10, 0],
    ] as Rotated[]) {
      expect(overlap(flat, flat)).not.toBeNaN();
      expect(overlap(flat, [5, 5, 10, 10, 0.5])).toBeLessThan(0.5);
    }
  });
});

describe('suppression of rotated boxes', () => {
  it('leaves those that no better one of their class overlaps, whether or not that one stays', () => {
    const boxes = fc.array(fc.tuple(box, fc.integer({ min: 0, max: 2 })), { maxLength: 25 });
    fc.assert(
      fc.property(boxes, fc.constantFrom(0, 0.1, 0.3, 0.5, 1), fc.boolean(), (all, iouThreshold, byClass) => {
        const rotated = Float32Array.from(all.flatMap(([one]) => one));
        const classId = Int32Array.from(all, ([, id]) => id);
        const order = Uint32Array.from(all, (_, i) => all.length - 1 - i);
        const pairs = all.flatMap((_, i) => all.map((_, j) => [i, j]));
        const gone = new Set(
          pairs
            .filter(([i, j]) => j > i && (!byClass || classId[i] === classId[j]))
            .filter(([i, j]) => probabilisticIou(rotated, i, j) >= iouThreshold)
            .map(([i]) => i),
        );
        const kept = suppressRotated(rotated, order, iouThreshold, byClass ? classId : undefined);
        expect([...kept]).toEqual([...order].filter((i) => !gone.has(i)));
      }),
    );
  });

  it('takes a box away for one that goes itself', () => {
    const rotated = Float32Array.from([0, 6, 12].flatMap((x) => [x, 0, 20, 20, 0.5]));
    const neighbours = probabilisticIou(rotated, 0, 1);
    expect(probabilisticIou(rotated, 0, 2)).toBeLessThan(neighbours);
    expect([...suppressRotated(rotated, Uint32Array.of(0, 1, 2), neighbours - 0.01)]).toEqual([0]);
  });
});
