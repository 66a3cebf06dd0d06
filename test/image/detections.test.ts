import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Candidates } from '../../lib/core/candidates.js';
import { headNamed } from '../../lib/core/heads/index.js';
import { Detections } from '../../lib/detections.js';
import { YoloError } from '../../lib/errors.js';
import { COCO_LABELS } from '../../lib/labels.js';
import type { DetectionTimings } from '../../lib/types.js';

const labels = ['cat', 'dog', 'owl'];
const image = { width: 640, height: 480 };
type Row = [x1: number, y1: number, x2: number, y2: number, confidence: number, classId: number];

function columns(rows: readonly Row[]) {
  return {
    xyxy: Float32Array.from(rows.flatMap((row) => row.slice(0, 4))),
    confidence: Float32Array.from(rows, (row) => row[4]),
    classId: Int32Array.from(rows, (row) => row[5]),
  };
}

const of = (rows: readonly Row[], more: { timings?: DetectionTimings; source?: string } = {}) =>
  Detections.from(columns(rows), { labels, image, ...more });
const some = () =>
  of([
    [10.125, 20, 110.5, 220.25, 0.875, 1],
    [-0.001, 0, 30, 40, 0.5, 0],
  ]);

function code(body: () => unknown): string | undefined {
  try {
    body();
    return undefined;
  } catch (error) {
    return YoloError.is(error) ? error.code : String(error);
  }
}

describe('Detections', () => {
  it('are iterated as objects, at any place and from the end', () => {
    const detections = some();
    const [dog, cat] = [...detections];
    expect(detections.length).toBe(2);
    expect(dog).toEqual({ xyxy: [10.125, 20, 110.5, 220.25], confidence: 0.875, classId: 1, label: 'dog' });
    for (const index of [0, 1, 2, -1, -2, -3, 0.9, -0.5, Number.NaN, Infinity])
      expect([index, detections.at(index)]).toEqual([index, [dog, cat].at(index)]);
  });

  it('may be none', () => {
    const none = of([]);
    expect([...none]).toEqual([]);
    expect(none.at(0)).toBeUndefined();
    expect(none.filter(() => true).length).toBe(0);
    expect(Detections.merge([none, none]).length).toBe(0);
    expect(none.toJSON()).toEqual({ image, detections: [] });
    expect(none.toCocoResults({ imageId: 1 })).toEqual([]);
  });

  it('refuse columns that do not fit, numbers that are none and classes without a label', () => {
    const good = columns([[0, 0, 1, 1, 0.5, 0]]);
    const wrong = [
      { ...good, xyxy: new Float32Array(3) },
      { ...good, classId: new Int32Array(2) },
      { ...good, classId: Int32Array.of(3) },
      { ...good, classId: Int32Array.of(-1) },
      { ...good, xyxy: Float32Array.of(0, 0, Number.NaN, 1) },
      { ...good, xyxy: Float32Array.of(0, 0, Infinity, 1) },
      { ...good, confidence: Float32Array.of(Number.NaN) },
      { ...good, confidence: Float32Array.of(50) },
      { ...good, confidence: [0.5] as unknown as Float32Array },
    ];
    for (const one of wrong)
      expect(code(() => Detections.from(one, { labels, image }))).toBe('ERR_YOLO_INVALID_ARGUMENT');
    const odd = [
      { labels, image: { width: 0, height: 1 } },
      { labels, image: { width: Infinity, height: 1 } },
      { labels, image: { width: 1, height: '1' as unknown as number } },
      { labels: new Array<string>(3), image },
      { labels, image, source: 7 as unknown as string },
      { labels, image, autoOrient: 'no' as unknown as boolean },
    ];
    for (const context of odd) expect(code(() => Detections.from(good, context))).toBe('ERR_YOLO_INVALID_ARGUMENT');
  });

  it('take the confidence of a quantised model that rounds past 1', () => {
    expect(of([[0, 0, 1, 1, 1.002, 0]]).at(0)!.confidence).toBeCloseTo(1.002, 5);
  });

  it('give the same however often they are exported, and keep their columns', () => {
    const detections = some();
    const before = [[...detections.xyxy], [...detections.confidence], [...detections.classId]];
    const first = JSON.stringify([detections.toJSON(), detections.toCocoResults({ imageId: 9 }), [...detections]]);
    for (const row of detections) (row.xyxy as unknown as number[])[0] = 999;
    expect(JSON.stringify([detections.toJSON(), detections.toCocoResults({ imageId: 9 }), [...detections]])).toBe(
      first,
    );
    expect([[...detections.xyxy], [...detections.confidence], [...detections.classId]]).toEqual(before);
  });

  it('become plain numbers that survive JSON', () => {
    const json = some().toJSON();
    expect(json.detections[0]).toEqual({
      label: 'dog',
      classId: 1,
      confidence: 0.875,
      xyxy: [10.13, 20, 110.5, 220.25],
    });
    expect(JSON.parse(JSON.stringify(some()))).toStrictEqual(json);
  });

  it('become COCO results with the ids of picture and category', () => {
    expect(some().toCocoResults({ imageId: 542, categoryIds: [17, 18, 99] })).toEqual([
      { image_id: 542, category_id: 18, bbox: [10.13, 20, 100.38, 200.25], score: 0.875 },
      { image_id: 542, category_id: 17, bbox: [0, 0, 30, 40], score: 0.5 },
    ]);
    expect(
      some()
        .toCocoResults({ imageId: 1 })
        .map((row) => row.category_id),
    ).toEqual([2, 1]);
    const coco = Detections.from(columns([0, 11, 79].map((id): Row => [0, 0, 1, 1, 0.5, id])), {
      labels: COCO_LABELS,
      image,
    });
    expect(coco.toCocoResults({ imageId: 1 }).map((row) => row.category_id)).toEqual([1, 13, 90]);
    expect(code(() => some().toCocoResults({ imageId: 1, categoryIds: [1] }))).toBe('ERR_YOLO_INVALID_ARGUMENT');
    for (const imageId of [1.5, Infinity, '1'] as number[])
      expect(code(() => some().toCocoResults({ imageId }))).toBe('ERR_YOLO_INVALID_ARGUMENT');
  });

  it('are not merged across pictures or labels', () => {
    const other = Detections.from(columns([]), { labels, image: { width: 641, height: 480 } });
    const named = Detections.from(columns([]), { labels: ['cat', 'owl', 'dog'], image });
    for (const parts of [[], [some(), other], [some(), named]])
      expect(code(() => Detections.merge(parts))).toBe('ERR_YOLO_INVALID_ARGUMENT');
  });

  it('keep timings when filtered, not when merged', () => {
    const timings = { queueMs: 1, decodeMs: 2, letterboxMs: 3, inferenceMs: 4, postprocessMs: 5, totalMs: 15 };
    const timed = of([[0, 0, 1, 1, 0.5, 0]], { timings, source: 'a.jpg' });
    expect(timed.filter(() => true)).toMatchObject({ timings, source: 'a.jpg' });
    expect(Detections.merge([timed, some()])).toMatchObject({ timings: undefined, source: 'a.jpg' });
  });

  const row = fc.tuple(
    ...[0, 1, 2, 3].map(() => fc.float({ min: -50, max: 700, noNaN: true })),
    fc.integer({ min: 0, max: 8 }).map((eighths) => eighths / 8),
    fc.integer({ min: 0, max: 2 }),
  ) as unknown as fc.Arbitrary<Row>;

  it('filter as an array does, and stay as they were', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 30 }), fc.func(fc.boolean()), (rows, keep) => {
        const all = of(rows);
        const before = [...all];
        expect([...all.filter((detection, index) => keep(detection.confidence, index))]).toEqual(
          before.filter((detection, index) => keep(detection.confidence, index)),
        );
        expect([...all]).toEqual(before);
      }),
    );
  });

  it('merge into the union by falling confidence, the earlier first of equal ones', () => {
    fc.assert(
      fc.property(fc.array(fc.array(row, { maxLength: 10 }), { minLength: 1, maxLength: 4 }), (groups) => {
        const parts = groups.map((rows) => of(rows));
        const slow = parts.flatMap((part) => [...part]);
        for (let end = slow.length; end > 1; end--)
          for (let at = 1; at < end; at++)
            if (slow[at]!.confidence > slow[at - 1]!.confidence) [slow[at - 1], slow[at]] = [slow[at]!, slow[at - 1]!];
        expect([...Detections.merge(parts)]).toEqual(slow);
      }),
    );
  });

  it('do not count the rows of zeros that fill an end-to-end output', () => {
    const rows = new Float32Array(300 * 6);
    rows.set([5, 6, 50, 60, 0.9, 2]);
    const found = new Candidates();
    const outputs = new Map([['output0', { dims: [300, 6], data: rows, type: 'float32' as const }]]);
    headNamed('end-to-end').decode(
      outputs,
      { head: 'end-to-end', outputs: ['output0'], classCount: 3, inputWidth: 64, inputHeight: 64 } as never,
      0,
      found,
    );
    expect(found.length).toBe(1);
  });
});
