import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { boxIou, type NmsOptions, nms } from '../../lib/core/index.js';
import { YoloError } from '../../lib/errors.js';

/** The textbook loop: every box against every kept one. */
function bruteForce(xyxy: Float32Array, confidence: Float32Array, options: NmsOptions): number[] {
  const { iouThreshold, classId, count = confidence.length, maxDetections = Infinity } = options;
  const order = Array.from({ length: count }, (_, i) => i)
    .filter((i) => !Number.isNaN(confidence[i]))
    .sort((i, j) => (confidence[i] === confidence[j] ? i - j : confidence[i] > confidence[j] ? -1 : 1));
  const kept: number[] = [];
  for (const i of order) {
    if (kept.length >= maxDetections) break;
    const overlaps = (j: number) =>
      (classId === undefined || classId[i] === classId[j]) && boxIou(xyxy, i, xyxy, j) > iouThreshold;
    if (!kept.some(overlaps)) kept.push(i);
  }
  return kept;
}

function run(boxes: number[][], confidence: number[], options: NmsOptions): number[] {
  return Array.from(nms(Float32Array.from(boxes.flat()), Float32Array.from(confidence), options));
}

/** Numbers 0..1 that are the same in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** `count` boxes around count / 12 places. */
function clusters(count: number, seed: number): { xyxy: Float32Array; confidence: Float32Array } {
  const random = generator(seed);
  const places = Array.from({ length: Math.ceil(count / 12) }, () => [
    random() * 640,
    random() * 640,
    10 + random() * 200,
  ]);
  const xyxy = new Float32Array(4 * count);
  const confidence = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const [x, y, side] = places[i % places.length];
    const near = () => (random() - 0.5) * 0.3 * side;
    const [x1, y1] = [x + near(), y + near()];
    xyxy.set([x1, y1, x1 + side + near(), y1 + side + near()], 4 * i);
    confidence[i] = random();
  }
  return { xyxy, confidence };
}

const odd = fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -0, 1e-22, 3e-20, -1e-21, 1e19, 3e38, -3e38, 1e-45);
const near = fc.integer({ min: -12, max: 12 });
const fine = fc.float({ min: -20, max: 20, noNaN: true });
const coordinate = fc.oneof(
  { weight: 6, arbitrary: near },
  { weight: 4, arbitrary: fine },
  { weight: 1, arbitrary: odd },
);
/** Any corners in any order: some inside out, some without area. */
const anyBox = fc.tuple(coordinate, coordinate, coordinate, coordinate);
const properBox = fc
  .tuple(
    fine,
    fine,
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 12 }),
    fc.constantFrom(1, 1, 1, 1e-21, 1e17, 100),
  )
  .map(
    ([x, y, w, h, scale]) =>
      [x * scale, y * scale, (x + w) * scale, (y + h) * scale] as [number, number, number, number],
  );
const anyConfidence = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0.1, 0.5, 0.5, 0.9) },
  { weight: 4, arbitrary: fc.float({ min: -1, max: 1, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -0) },
);
const anyThreshold = fc.oneof(fc.constantFrom(0, 0.45, 0.5, 0.7, 1, 1e-40), fc.double({ min: 0, max: 1, noNaN: true }));

afterEach(() => {
  vi.restoreAllMocks();
});

describe('suppression', () => {
  it('goes on after a box that overlaps nothing', () => {
    // The first box is alone; the second still has to suppress its duplicate.
    const boxes = [
      [0, 0, 10, 10],
      [100, 100, 150, 150],
      [101, 100, 151, 150],
      [300, 0, 310, 10],
      [301, 0, 311, 10],
    ];
    expect(run(boxes, [0.9, 0.8, 0.7, 0.6, 0.5], { iouThreshold: 0.5 })).toEqual([0, 1, 3]);
  });

  it('keeps boxes of different classes and suppresses within one, whatever the class numbers and coordinates', () => {
    for (const shift of [0, -5000, 70_000])
      for (const [one, other] of [
        [0, 1],
        [66_518, 1_000_000_000],
        [-1, 2_147_483_647],
      ]) {
        const box = [shift, shift, shift + 8000, shift + 8000];
        const options = { iouThreshold: 0.45, classId: Int32Array.of(one, other, one, other) };
        expect(run([box, box, box, box], [0.6, 0.7, 0.8, 0.9], options)).toEqual([3, 2]);
        expect(run([box, box, box, box], [0.6, 0.7, 0.8, 0.9], { iouThreshold: 0.45 })).toEqual([3]);
      }
  });

  it('finds duplicates whose areas are beyond float16', () => {
    const boxes = [
      [0, 0, 1000, 1000],
      [5, 5, 1005, 1005],
    ];
    expect(run(boxes, [0.9, 0.8], { iouThreshold: 0.7 })).toEqual([0]);
  });

  it('works in shares of the picture as it does in pixels', () => {
    const { xyxy, confidence } = clusters(500, 3);
    const shares = xyxy.map((value) => value / 1024);
    const options = { iouThreshold: 0.6 };
    expect(nms(shares, confidence, options)).toEqual(nms(xyxy, confidence, options));
    expect(nms(shares, confidence, options).length).toBeLessThan(450);
  });

  it('drops a box whose confidence is NaN, and keeps one without a proper area, which suppresses nothing', () => {
    const square = [0, 0, 10, 10];
    const boxes = [
      square,
      [0, 0, Number.NaN, 10],
      [5, 5, 5, 5],
      [10, 10, 0, 0],
      [-Infinity, 0, Infinity, 9],
      square,
      square,
    ];
    expect(run(boxes, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, Number.NaN], { iouThreshold: 0.2 })).toEqual([0, 1, 2, 3, 4]);
  });

  it('orders by falling confidence, equal ones by rising index, and takes -0 for 0', () => {
    const apart = Array.from({ length: 7 }, (_, i) => [20 * i, 0, 20 * i + 9, 9]);
    expect(run(apart, [0.5, -0, 0, 0.5, -2, Infinity, -0.5], { iouThreshold: 0.5 })).toEqual([5, 0, 3, 1, 2, 6, 4]);
  });

  it('stops at maxDetections with the best ones', () => {
    const { xyxy, confidence } = clusters(300, 4);
    const all = nms(xyxy, confidence, { iouThreshold: 0.5 });
    expect(nms(xyxy, confidence, { iouThreshold: 0.5, maxDetections: 7 })).toEqual(all.slice(0, 7));
    expect(nms(xyxy, confidence, { iouThreshold: 0.5, maxDetections: 0 })).toHaveLength(0);
    expect(nms(xyxy, confidence, { iouThreshold: 0.5, maxDetections: 1e9 })).toEqual(all);
  });

  it('reads the first `count` boxes of longer arrays and leaves them as they are', () => {
    const { xyxy, confidence } = clusters(100, 5);
    const [boxesBefore, confidenceBefore] = [xyxy.slice(), confidence.slice()];
    const kept = nms(xyxy, confidence, { iouThreshold: 0.5, count: 40, classId: new Int32Array(64) });
    expect(kept).toEqual(nms(xyxy.slice(0, 160), confidence.slice(0, 40), { iouThreshold: 0.5 }));
    expect([xyxy, confidence]).toEqual([boxesBefore, confidenceBefore]);
    expect(nms(xyxy, confidence, { iouThreshold: 0.5, count: 0 })).toHaveLength(0);
  });

  it('has no time limit: a clock that leaps by an hour changes nothing', () => {
    const { xyxy, confidence } = clusters(2000, 6);
    const expected = bruteForce(xyxy, confidence, { iouThreshold: 0.5 });
    let now = 0;
    vi.spyOn(Date, 'now').mockImplementation(() => (now += 3_600_000));
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 3_600_000));
    expect(Array.from(nms(xyxy, confidence, { iouThreshold: 0.5 }))).toEqual(expected);
  });

  it.each([
    ['in clusters', 0],
    ['with one box far away', 1],
    ['with a third of them far away', 3],
  ])('equals brute force on thousands of boxes %s', (_, everyThird) => {
    const { xyxy, confidence } = clusters(3000, 7);
    if (everyThird === 1) xyxy.set([-1e15, -1e15, 1e15, 1e15], 40);
    if (everyThird === 3) for (let i = 0; i < xyxy.length; i += 12) xyxy.set([1e9, 0, 2e9, 1e9], i);
    const classId = Int32Array.from(confidence, (value) => Math.floor(value * 1e4) % 3);
    for (const iouThreshold of [0, 0.2, 0.45, 0.7, 0.95]) {
      const options = { iouThreshold };
      expect(Array.from(nms(xyxy, confidence, options))).toEqual(bruteForce(xyxy, confidence, options));
      const byClass = { iouThreshold, classId };
      expect(Array.from(nms(xyxy, confidence, byClass))).toEqual(bruteForce(xyxy, confidence, byClass));
    }
  });

  it('equals brute force where float32 has few digits left', () => {
    for (const scale of [1e-21, 1e-22, 3e-23, 1e-23]) {
      const { xyxy, confidence } = clusters(400, 8);
      const tiny = xyxy.map((value) => value * 0.05 * scale);
      for (const iouThreshold of [0, 0.3, 0.6, 0.8, 0.95]) {
        const options = { iouThreshold };
        expect(Array.from(nms(tiny, confidence, options))).toEqual(bruteForce(tiny, confidence, options));
      }
    }
    // The IoU of 0.8e-45 is rounded up to the least float32, 1.4e-45.
    const boxes = [
      [-1.75e12, -1.75e12, 1.75e12, 1.75e12],
      [-5e-11, -5e-11, 5e-11, 5e-11],
    ];
    expect(run(boxes, [0.9, 0.8], { iouThreshold: 1e-45 })).toEqual([0]);
  });

  it('equals brute force on any boxes, confidences and thresholds', () => {
    const rows = fc.array(
      fc.tuple(fc.oneof(properBox, properBox, anyBox), anyConfidence, fc.integer({ min: 0, max: 2 })),
      { maxLength: 90 },
    );
    fc.assert(
      fc.property(rows, anyThreshold, fc.boolean(), (boxes, iouThreshold, aware) => {
        const xyxy = Float32Array.from(boxes.flatMap(([box]) => box));
        const confidence = Float32Array.from(boxes, ([, value]) => value);
        const classId = aware ? Int32Array.from(boxes, ([, , id]) => id) : undefined;
        const options = { iouThreshold, classId };
        expect(Array.from(nms(xyxy, confidence, options))).toEqual(bruteForce(xyxy, confidence, options));
      }),
      { numRuns: 1500 },
    );
  });

  it('does not compare every box with every other', () => {
    const xyxy = new Float32Array(4 * 8000);
    for (let i = 0; i < 8000; i++)
      xyxy.set([7 * (i % 100), 7 * Math.floor(i / 100), 7 * (i % 100) + 5, 7 * Math.floor(i / 100) + 5], 4 * i);
    const confidence = new Float32Array(8000).fill(0.5);
    const time = (subject: () => unknown) => {
      const start = performance.now();
      subject();
      return performance.now() - start;
    };
    const options = { iouThreshold: 0.7 };
    const fast = Math.min(...[1, 2, 3, 4, 5].map(() => time(() => nms(xyxy, confidence, options))));
    expect(fast).toBeLessThan(time(() => bruteForce(xyxy, confidence, options)) / 5);
  });

  it.each([
    [{ iouThreshold: 1.1 }, /iouThreshold.*\[0, 1\].*1\.1/],
    [{ iouThreshold: -0.1 }, /iouThreshold.*-0\.1/],
    [{ iouThreshold: Number.NaN }, /iouThreshold.*NaN/],
    [{ iouThreshold: 0.5, maxDetections: -1 }, /maxDetections.*-1/],
    [{ iouThreshold: 0.5, maxDetections: 1.5 }, /maxDetections.*1\.5/],
    [{ iouThreshold: 0.5, count: -1 }, /count.*-1/],
  ])('refuses %j', (options, message) => {
    let thrown: unknown;
    try {
      nms(new Float32Array(8), new Float32Array(2), options);
    } catch (error) {
      thrown = error;
    }
    expect(YoloError.is(thrown, 'ERR_YOLO_INVALID_ARGUMENT')).toBe(true);
    expect((thrown as Error).message).toMatch(message);
  });

  it.each([
    [new Float32Array(8), new Float32Array(2), { count: 3 }, /confidence.*3.*2/],
    [new Float32Array(7), new Float32Array(2), {}, /xyxy.*8.*7/],
    [new Float32Array(8), new Float32Array(2), { classId: new Int32Array(1) }, /classId.*2.*1/],
  ])('refuses arrays that are too short', (xyxy, confidence, options, message) => {
    expect(() => nms(xyxy, confidence, { iouThreshold: 0.5, ...options })).toThrow(message);
    expect(() => nms(xyxy, confidence, { iouThreshold: 0.5, ...options })).toThrow(YoloError);
  });
});
