import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  type CocoObject,
  type CocoResult,
  type CocoScores,
  type CocoTruth,
  evaluateCoco,
} from '../support/coco-eval.js';
import { describeShared, shared } from '../support/shared.js';

const read = (path: string) => JSON.parse(readFileSync(shared(path), 'utf8'));

interface GoldenScores {
  stats: Record<string, number>;
  perCategory: Record<string, Record<string, number>>;
}

function expectScores(actual: CocoScores, golden: GoldenScores): void {
  for (const [name, value] of Object.entries(golden.stats)) {
    expect(Math.abs(actual.stats[name as keyof CocoScores['stats']] - value), name).toBeLessThan(1e-9);
  }
  expect([...actual.perCategory.keys()]).toEqual(Object.keys(golden.perCategory).map(Number));
  for (const [id, values] of Object.entries(golden.perCategory)) {
    for (const [name, value] of Object.entries(values)) {
      const own = actual.perCategory.get(Number(id)) as Record<string, number>;
      expect(Math.abs(own[name]! - value), `category ${id}, ${name}`).toBeLessThan(1e-9);
    }
  }
}

describeShared('the COCO evaluator equals COCOeval on saved detections', () => {
  it.each(['yolox_nano_416', 'yolov8n_640_dynint8', 'nanodet_m_320'])('of %s', (model) => {
    const truth = read('photos/coco/evaluation.json');
    const scores = evaluateCoco(truth, read(`golden/coco/${model}.detections.json`));
    expectScores(scores, read('golden/coco/scores.json').models[model]);
  });

  it('of pictures with crowds, ties, borders of area and IoU, and over a hundred boxes', () => {
    const scores = evaluateCoco(
      read('golden/coco/synthetic.truth.json'),
      read('golden/coco/synthetic.detections.json'),
    );
    expectScores(scores, read('golden/coco/scores.json').synthetic);
  });
});

describe('the COCO evaluator', () => {
  const object = (bbox: number[], more: Partial<CocoObject> = {}): CocoObject => ({
    image_id: 1,
    category_id: 1,
    bbox,
    area: bbox[2]! * bbox[3]!,
    iscrowd: 0,
    ...more,
  });
  const box = (bbox: number[], score: number, more: Partial<CocoResult> = {}): CocoResult => ({
    image_id: 1,
    category_id: 1,
    bbox,
    score,
    ...more,
  });
  const truthOf = (...annotations: CocoObject[]): CocoTruth => ({
    images: [{ id: 1 }, { id: 2 }],
    categories: [{ id: 1 }, { id: 2 }],
    annotations,
  });

  it('gives 1 for boxes equal to the objects, and -1 for a category without objects', () => {
    const { stats, perCategory } = evaluateCoco(truthOf(object([10, 10, 20, 20])), [box([10, 10, 20, 20], 0.9)]);
    expect(stats.AP).toBeCloseTo(1, 12);
    expect(stats.AR1).toBe(1);
    expect(stats.APlarge).toBe(-1);
    expect(perCategory.get(2)).toEqual({ AP: -1, AP50: -1, AR100: -1 });
  });

  it('gives 0 where nothing was found', () => {
    expect(evaluateCoco(truthOf(object([10, 10, 20, 20])), []).stats).toMatchObject({ AP: 0, AR100: 0, APmedium: -1 });
  });

  it('counts an IoU of exactly the threshold as a match', () => {
    // 10 × 20 of 20 × 20: IoU 0.5, so one of the ten thresholds.
    const { stats } = evaluateCoco(truthOf(object([0, 0, 20, 20])), [box([0, 0, 10, 20], 0.9)]);
    expect(stats.AP50).toBeCloseTo(1, 12);
    expect(stats.AP).toBeCloseTo(0.1, 12);
  });

  it('counts a second box of one object, and a box beside every object, as wrong', () => {
    const truth = truthOf(object([0, 0, 20, 20]), object([100, 0, 20, 20]));
    const found = [box([0, 0, 20, 20], 0.9), box([0, 0, 20, 20], 0.8), box([100, 0, 20, 20], 0.7)];
    // Precision 1 up to recall 0.5 (51 of 101 recalls), then 2 of 3.
    expect(evaluateCoco(truth, found).stats.AP50).toBeCloseTo((51 + 50 * (2 / 3)) / 101, 12);
    expect(evaluateCoco(truthOf(object([0, 0, 20, 20])), [box([50, 50, 20, 20], 0.9)]).stats.AP50).toBe(0);
  });

  it('counts boxes in a picture without objects as wrong, and those above the right one the most', () => {
    const truth = truthOf(object([0, 0, 20, 20]));
    const right = box([0, 0, 20, 20], 0.5);
    const onBackground = (score: number) => box([30, 30, 20, 20], score, { image_id: 2 });
    expect(evaluateCoco(truth, [right]).stats.AP50).toBeCloseTo(1, 12);
    expect(evaluateCoco(truth, [right, onBackground(0.9)]).stats.AP50).toBeCloseTo(1 / 2, 12);
    expect(evaluateCoco(truth, [right, onBackground(0.9), onBackground(0.8)]).stats.AP50).toBeCloseTo(1 / 3, 12);
    expect(evaluateCoco(truth, [right, onBackground(0.1)]).stats.AP50).toBeCloseTo(1, 12);
  });

  it('lets any number of boxes lie in a crowd without counting them', () => {
    const truth = truthOf(object([0, 0, 20, 20]), object([100, 0, 100, 100], { iscrowd: 1 }));
    const inCrowd = [0, 20, 40].map((x) => box([100 + x, 10, 10, 10], 0.95));
    expect(evaluateCoco(truth, [...inCrowd, box([0, 0, 20, 20], 0.9)]).stats.AP50).toBeCloseTo(1, 12);
  });

  it('reads the size of an object from its stated area, and leaves out what has another size', () => {
    const truth = truthOf(object([0, 0, 40, 40], { area: 1000 }), object([100, 100, 200, 200]));
    const { stats } = evaluateCoco(truth, [box([0, 0, 40, 40], 0.5), box([100, 100, 200, 200], 0.9)]);
    expect(stats.APsmall).toBeCloseTo(1, 12);
    expect(stats.APlarge).toBeCloseTo(1, 12);
    expect(stats.APmedium).toBe(-1);
  });

  it('takes the hundred best boxes of a picture and category', () => {
    const misses = Array.from({ length: 100 }, (_, index) => box([500 + index * 30, 0, 20, 20], 0.9));
    const truth = truthOf(object([0, 0, 20, 20]));
    expect(evaluateCoco(truth, [...misses, box([0, 0, 20, 20], 0.1)]).stats.AR100).toBe(0);
    expect(evaluateCoco(truth, [...misses.slice(1), box([0, 0, 20, 20], 0.1)]).stats.AR100).toBe(1);
  });

  it('leaves out results of pictures and categories that the truth does not have', () => {
    const found = [
      box([0, 0, 20, 20], 0.99, { image_id: 7 }),
      box([0, 0, 20, 20], 0.99, { category_id: 9 }),
      box([0, 0, 20, 20], 0.9),
    ];
    expect(evaluateCoco(truthOf(object([0, 0, 20, 20])), found).stats.AP).toBeCloseTo(1, 12);
  });
});
