import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { COCO_LABELS, Detections } from '../../lib/index.js';
import { type CocoTruth, evaluateCoco } from '../support/coco-eval.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-coco-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Box = [x1: number, y1: number, x2: number, y2: number, label: string, confidence: number];

/** Pictures whose ids are neither in order nor small, with classes whose COCO ids have gaps before them. */
const PICTURES: readonly [id: number, boxes: readonly Box[]][] = [
  [
    900000123456,
    [
      [10, 20, 110, 220, 'toothbrush', 0.9],
      [200, 50, 260.5, 90.25, 'person', 0.8],
      [300, 300, 420, 400, 'stop sign', 0.4],
    ],
  ],
  [7, [[0, 0, 640, 480, 'dining table', 0.95]]],
  [581929, []],
  [
    42,
    [
      [5, 5, 45, 45, 'person', 0.7],
      [100, 100, 150, 190, 'cat', 0.6],
    ],
  ],
];
const image = { width: 640, height: 480 };

function detectionsOf(boxes: readonly Box[]): Detections {
  return Detections.from(
    {
      xyxy: Float32Array.from(boxes.flatMap((box) => box.slice(0, 4) as number[])),
      confidence: Float32Array.from(boxes, (box) => box[5]),
      classId: Int32Array.from(boxes, (box) => COCO_LABELS.indexOf(box[4])),
    },
    { labels: COCO_LABELS, image },
  );
}

// As an annotator would have written them down, with the published category ids.
const CATEGORIES = { person: 1, 'stop sign': 13, cat: 17, 'dining table': 67, toothbrush: 90 } as const;
const truth = {
  images: PICTURES.map(([id]) => ({ id, ...image, file_name: `${id}.jpg` })),
  categories: Object.entries(CATEGORIES).map(([name, id]) => ({ id, name })),
  annotations: PICTURES.flatMap(([id, boxes]) =>
    boxes.map(([x1, y1, x2, y2, label], index) => ({
      id: 1000 * PICTURES.findIndex(([other]) => other === id) + index + 1,
      image_id: id,
      category_id: CATEGORIES[label as keyof typeof CATEGORIES],
      bbox: [x1, y1, x2 - x1, y2 - y1],
      area: (x2 - x1) * (y2 - y1),
      iscrowd: 0,
    })),
  ),
} satisfies CocoTruth;

const exported = (shift = 0) =>
  JSON.stringify(PICTURES.flatMap(([id, boxes]) => detectionsOf(boxes).toCocoResults({ imageId: id + shift })));

describe('detections as COCO results', () => {
  it('find every object of the annotations again: ids of pictures and categories, and boxes, are right', () => {
    const { stats, perCategory } = evaluateCoco(truth, JSON.parse(exported()));
    expect(stats.AP).toBeCloseTo(1, 12);
    expect([...perCategory.keys()]).toEqual([1, 13, 17, 67, 90]);
    for (const { AP } of perCategory.values()) expect(AP).toBeCloseTo(1, 12);
    // Of other pictures they would find nothing.
    expect(evaluateCoco(truth, JSON.parse(exported(1))).stats.AP).toBe(0);
  });

  const hasTools = spawnSync('python3', ['-c', 'import pycocotools']).status === 0;
  it.skipIf(!hasTools)('are read and scored alike by pycocotools (skipped where Python lacks them)', () => {
    const [annotations, results] = [join(folder, 'truth.json'), join(folder, 'results.json')];
    writeFileSync(annotations, JSON.stringify(truth));
    writeFileSync(results, exported());
    const script = `
import contextlib, json, sys
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
with contextlib.redirect_stdout(sys.stderr):
    truth = COCO(${JSON.stringify(annotations)})
    found = truth.loadRes(${JSON.stringify(results)})
    scores = COCOeval(truth, found, 'bbox')
    scores.evaluate(); scores.accumulate(); scores.summarize()
print(json.dumps({'AP': scores.stats[0], 'boxes': {str(i): [a['bbox'] for a in found.imgToAnns[i]] for i in truth.getImgIds()}}))`;
    const { stdout, stderr, status } = spawnSync('python3', ['-c', script], { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    const { AP, boxes } = JSON.parse(stdout);
    expect(AP).toBeCloseTo(1, 12);
    for (const { id } of truth.images) {
      const own = truth.annotations.filter(({ image_id }) => image_id === id);
      expect(boxes[String(id)]).toEqual(own.map(({ bbox }) => bbox));
    }
  });

  it('are the same each time, and move no box: neither they nor JSON, drawing and cutting out', async () => {
    const detections = detectionsOf(PICTURES[0]![1]);
    const before = Buffer.from(detections.xyxy.slice().buffer);
    const picture = { ...image, data: new Uint8Array(640 * 480 * 3), channels: 3 } as const;
    const everything = async () =>
      JSON.stringify([
        detections,
        detections.toCocoResults({ imageId: 3 }),
        detections.filter(() => true),
        Detections.merge([detections]),
        (await detections.annotate(undefined, { image: picture })).toString('base64').slice(0, 4000),
        (await detections.crop(0, undefined, { image: picture, padding: 3 })).length,
      ]);
    const first = await everything();
    expect(await everything()).toBe(first);
    expect(Buffer.from(detections.xyxy.buffer).equals(before)).toBe(true);
  });
});
