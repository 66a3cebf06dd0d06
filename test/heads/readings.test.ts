import { describe, expect, it } from 'vitest';
import { COCO_CATEGORY_IDS } from '../../lib/core/coco-categories.js';
import type { HeadLayout, HeadReading, ModelSignature } from '../../lib/core/heads/head.js';
import { HEADS, headNamed } from '../../lib/core/heads/index.js';
import { recognise } from '../../lib/core/heads/recognise.js';
import { taskOf } from '../../lib/core/heads/tasks.js';
import type { Tensor } from '../../lib/types.js';
import { layoutOf, signatureOf } from './synthetic.js';

// What each head reads from shapes, types and names, and what it says of values that are not its own.
// Pictures are 96 x 96: 144 + 36 + 9 = 189 cells of strides 8, 16, 32.

const CELLS = 189;

type Shape = readonly number[] | readonly [type: Tensor['type'], ...dims: number[]];

/** A signature of these outputs by name, float32 unless a type goes before the shape. */
function modelOf(outputs: Record<string, Shape>, more: Partial<ModelSignature> = {}): ModelSignature {
  return signatureOf([], {
    outputs: Object.entries(outputs).map(([name, [first, ...rest]]) =>
      typeof first === 'string'
        ? { name, type: first, dims: rest as number[] }
        : { name, type: 'float32', dims: first === undefined ? [] : [first, ...(rest as number[])] },
    ),
    ...more,
  });
}

const named = (count: number) => ({ labels: Array.from({ length: count }, (_, i) => `class ${i}`) });

function readingsOf(head: string, outputs: Record<string, Shape>, more?: Partial<ModelSignature>): HeadReading[] {
  return headNamed(head).read(modelOf(outputs, more));
}

/** The one reading, in short. */
function read(head: string, outputs: Record<string, Shape>, more?: Partial<ModelSignature>) {
  const readings = readingsOf(head, outputs, more);
  expect(readings).toHaveLength(1);
  const [{ layout, family, otherFamilies = [], assumed = [] }] = readings;
  expect(layout).toMatchObject({ head, inputWidth: 96, inputHeight: 96 });
  return {
    outputs: layout.outputs.join(' '),
    classes: layout.classCount,
    families: [family, ...otherFamilies].map(({ name }) => name).join(', '),
    iou: family.iouThreshold,
    isAssumed: assumed.length > 0,
  };
}

function refuses(head: string, models: [Record<string, Shape>, Partial<ModelSignature>?][]): void {
  for (const [outputs, more] of models) expect(readingsOf(head, outputs, more), JSON.stringify(outputs)).toEqual([]);
}

describe('tasks', () => {
  it('with one output have keypoints, as metadata says or as COCO has them', () => {
    const extraOf = (columns: number, kpt_shape?: string) =>
      readingsOf(
        'anchor-free-pose',
        { out: [1, columns, CELLS] },
        kpt_shape === undefined ? {} : { metadata: { kpt_shape } },
      )[0]?.layout;
    expect(extraOf(4 + 1 + 51)).toMatchObject({
      classCount: 1,
      extra: { kind: 'keypoints', points: 17, dimensions: 3 },
    });
    expect(extraOf(4 + 2 + 8, '[4, 2]')).toMatchObject({ classCount: 2, extra: { points: 4, dimensions: 2 } });
    expect(extraOf(4 + 1 + 12, ' ( 4,3 ) ')).toMatchObject({ classCount: 1, extra: { points: 4, dimensions: 3 } });
    expect(extraOf(4 + 1 + 51, 'seventeen')).toMatchObject({ extra: { points: 17 } });
    expect(extraOf(4 + 51)).toBeUndefined();
  });

  it('with a second output have mask coefficients, as many as it has channels', () => {
    const outputs = { out: [1, 4 + 3 + 8, CELLS], protos: [1, 8, 24, 24] };
    const [reading] = readingsOf('anchor-free-segment', outputs, named(3));
    expect(reading.layout).toMatchObject({
      outputs: ['out', 'protos'],
      classCount: 3,
      extra: { kind: 'mask', size: 8, prototypes: 'protos' },
    });
    expect(reading.evidence.join()).toMatch(/3 classes, 8 mask coefficients/);
    refuses('anchor-free-segment', [
      [outputs, named(4)],
      [{ out: [1, 15, CELLS] }],
      [{ out: [1, 15, CELLS], protos: [1, 8, 24] }],
      [{ out: [1, 15, CELLS], protos: [1, 8, 24, 24], more: [1] }],
      [{ out: [1, 15, 9, 21], protos: [1, 8, 24, 24] }],
      [{}],
    ]);
  });

  it('with an angle have a value more', () => {
    expect(readingsOf('anchor-free-obb', { out: [1, 4 + 2 + 1, CELLS] }, named(2))[0].layout).toMatchObject({
      classCount: 2,
      extra: { kind: 'rotated' },
    });
    refuses('anchor-free-obb', [
      [{ out: [1, 7, CELLS] }, named(3)],
      [{ out: [1, 5, CELLS] }],
      [{ a: [1, 7, CELLS], b: [1] }],
    ]);
  });

  it('are told by what objects have', () => {
    expect(taskOf(undefined)).toBe('detect');
    expect(taskOf({ kind: 'mask', size: 1, prototypes: 'p' })).toBe('segment');
    expect(taskOf({ kind: 'keypoints', points: 1, dimensions: 2 })).toBe('pose');
    expect(taskOf({ kind: 'rotated' })).toBe('obb');
  });

  it('have their columns behind the class where rows are suppressed already', () => {
    const suppressed = (head: string, outputs: Record<string, Shape>, more?: Partial<ModelSignature>) => ({
      ...read(head, outputs, more),
      extra: readingsOf(head, outputs, more)[0].layout.extra,
    });
    expect(suppressed('end-to-end', { out: [1, 300, 6] })).toMatchObject({ classes: 80, isAssumed: true, iou: null });
    expect(suppressed('end-to-end-segment', { out: [1, 300, 38], protos: [1, 32, 24, 24] }, named(5))).toMatchObject({
      classes: 5,
      isAssumed: false,
      extra: { size: 32 },
    });
    expect(suppressed('end-to-end-pose', { out: [1, 300, 57] })).toMatchObject({ extra: { points: 17 } });
    expect(suppressed('end-to-end-obb', { out: [1, 300, 7] })).toMatchObject({ extra: { kind: 'rotated' }, iou: null });
    refuses('end-to-end', [[{ out: [1, 300, 7] }], [{ out: [300, 6] }]]);
    refuses('end-to-end-pose', [
      [{ out: [1, 300, 58] }],
      [{ out: [1, 300, 57] }, { metadata: { kpt_shape: '[4, 2]' } }],
    ]);
    refuses('end-to-end-obb', [[{ out: [1, 300, 6] }]]);
    refuses('end-to-end-segment', [[{ out: [1, 300, 38], protos: [1, 31, 24, 24] }], [{ out: [1, 300, 38] }]]);
  });
});

describe('rows of cells', () => {
  it('as corners, score and class, one or three a cell', () => {
    const usual = { outputs: 'out', classes: 80, families: 'Ultralytics, YOLOX', iou: 0.7, isAssumed: true };
    expect(read('unsorted-rows', { out: [1, CELLS, 6] })).toEqual(usual);
    expect(read('unsorted-rows', { out: [1, 3 * CELLS, 6] }, named(3))).toEqual({
      ...usual,
      classes: 3,
      isAssumed: false,
    });
    const words = (rows: number) => readingsOf('unsorted-rows', { out: [1, rows, 6] })[0].evidence.join();
    expect(words(CELLS)).toContain('1 row each');
    expect(words(3 * CELLS)).toContain('3 rows each');
    refuses('unsorted-rows', [
      [{ out: [1, 300, 6] }],
      [{ out: [1, CELLS, 7] }],
      [{ out: [CELLS, 6] }],
      [{ a: [1, CELLS, 6], b: [1] }],
    ]);
  });

  it('of YOLOv6', () => {
    expect(read('yolov6', { out: [1, CELLS, 7] }, named(2))).toMatchObject({
      classes: 2,
      families: 'YOLOv6',
      iou: 0.45,
    });
    refuses('yolov6', [[{ out: [1, CELLS, 7] }, named(3)], [{ out: [1, CELLS, 5] }], [{ out: [1, 3 * CELLS, 7] }]]);
  });
});

describe('maps', () => {
  const anchors = [
    [1, 2, 3, 4, 5, 6],
    [1, 2, 3, 4, 5, 6],
    [1, 2, 3, 4, 5, 6],
  ];
  const maps = { a: [1, 3, 3, 3, 7], b: [1, 3, 12, 12, 7], c: [1, 3, 6, 6, 7] };
  const channels = { a: [1, 21, 3, 3], b: [1, 21, 12, 12], c: [1, 21, 6, 6] };

  it('with anchors are read finest first, and want the sizes of their anchors', () => {
    for (const [head, outputs] of [
      ['anchor-maps', maps],
      ['anchor-maps-channels', channels],
    ] as const) {
      const [bare] = readingsOf(head, outputs);
      expect(bare.layout).toMatchObject({ outputs: ['b', 'c', 'a'], classCount: 2 });
      expect(bare.needs).toMatch(/set `anchors`/);
      expect(bare.evidence.join()).toMatch(/strides 8, 16, 32: 3 anchors a cell by box, objectness, 2 classes/);
      const [complete] = readingsOf(head, outputs, { anchors, ...named(2) });
      expect(complete).toMatchObject({ layout: { anchors }, needs: undefined, family: { iouThreshold: 0.45 } });
      expect(readingsOf(head, outputs, { anchors: anchors.slice(1) })[0].needs).toMatch(/3 levels of 3/);
      refuses(head, [[outputs, named(3)]]);
    }
    expect(readingsOf('anchor-maps', maps, { anchors: anchors.map((level) => level.slice(2)) })[0].needs).toMatch(
      /of 3/,
    );
    // As many anchors a cell as there are sizes for.
    const two = { a: [1, 2 * 6, 12, 12], b: [1, 2 * 6, 6, 6] };
    const [reading] = readingsOf('anchor-maps-channels', two, {
      anchors: [
        [1, 2, 3, 4],
        [5, 6, 7, 8],
      ],
    });
    expect(reading).toMatchObject({ layout: { classCount: 1 }, needs: undefined });
    expect(reading.evidence.join()).toMatch(/1 class$/);
  });

  it('with anchors are of one kind, each half of the finer one', () => {
    refuses('anchor-maps', [
      [{ a: [1, 3, 12, 12, 7] }],
      [channels],
      [{ ...maps, a: [1, 3, 3, 3, 8] }],
      [{ ...maps, a: [1, 2, 3, 3, 7] }],
      [{ ...maps, a: [1, 3, 4, 4, 7] }],
      [{ a: [1, 3, 12, 12, 5], b: [1, 3, 6, 6, 5] }],
    ]);
    refuses('anchor-maps-channels', [
      [maps],
      [{ ...channels, a: [1, 24, 3, 3] }],
      [{ a: [1, 22, 12, 12], b: [1, 22, 6, 6] }],
      [{ a: [1, 15, 12, 12], b: [1, 15, 6, 6] }],
    ]);
  });

  it('with distances in bins, in any order, a map of sums left out', () => {
    const pairs = { a: [1, 64, 6, 6], b: [1, 5, 6, 6], c: [1, 5, 12, 12], d: [1, 64, 12, 12] };
    expect(read('distance-bins', pairs, named(5))).toMatchObject({
      outputs: 'c b d a',
      classes: 5,
      families: 'Ultralytics',
    });
    const sums = { ...pairs, e: [1, 1, 6, 6], f: [1, 1, 12, 12] };
    expect(read('distance-bins', sums)).toMatchObject({ outputs: 'c b d a', classes: 5 });
    const single = { a: [1, 64, 6, 6], b: [1, 1, 6, 6], c: [1, 1, 12, 12], d: [1, 64, 12, 12] };
    expect(read('distance-bins', single)).toMatchObject({ outputs: 'c b d a', classes: 1 });
    // Its sum is the class itself.
    const summed = { ...single, e: [1, 1, 12, 12], f: [1, 1, 6, 6] };
    expect(read('distance-bins', summed)).toMatchObject({ outputs: 'c b d a', classes: 1 });
    refuses('distance-bins', [
      [pairs, named(4)],
      [{ a: pairs.a, b: pairs.b }],
      [{ ...pairs, e: [1, 189, 5] }],
      [{ ...pairs, a: [1, 64, 7, 7], b: [1, 5, 7, 7] }],
      [{ ...pairs, b: [1, 6, 6, 6] }],
      [{ ...pairs, b: [1, 64, 6, 6] }],
      [{ ...pairs, e: [1, 7, 6, 6] }],
      [{ ...sums, g: [1, 1, 6, 6] }],
      [{ a: [1, 4, 6, 6], b: [1, 5, 6, 6], c: [1, 5, 12, 12], d: [1, 4, 12, 12] }],
    ]);
  });

  it('with distances in pixels, which boxes have to confirm', () => {
    const outputs = { a: [1, 5, 12, 12], b: [1, 5, 6, 6], c: [1, 4, 12, 12], d: [1, 4, 6, 6] };
    expect(read('rtmdet', outputs)).toMatchObject({ outputs: 'a b c d', classes: 5, families: 'RTMDet', iou: 0.6 });
    expect(readingsOf('rtmdet', outputs)[0].needsProof).toMatch(/'rtmdet'/);
    refuses('rtmdet', [[{ ...outputs, a: [1, 4, 12, 12] }], [outputs, named(80)]]);
  });

  it('of NanoDet are tables, both ways round where either can be the classes', () => {
    const tables = { a: [1, 144, 80], b: [1, 144, 32], c: [1, 36, 32], d: [1, 36, 80] };
    expect(read('nanodet', tables, named(80))).toMatchObject({ outputs: 'a d b c', classes: 80, families: 'NanoDet' });
    expect(readingsOf('nanodet', tables).map(({ layout }) => layout.classCount)).toEqual([80, 32]);
    expect(readingsOf('nanodet', { ...tables, a: [1, 144, 5], d: [1, 36, 5] })).toHaveLength(1);
    refuses('nanodet', [
      [tables, named(3)],
      [{ a: tables.a, b: tables.b }],
      [{ ...tables, e: [1, 9, 80] }],
      [{ ...tables, d: [1, 36, 8, 10] }],
      [{ ...tables, c: [1, 35, 32], d: [1, 35, 80] }],
      [{ ...tables, d: [1, 36, 81] }],
      [{ ...tables, a: [1, 144, 32] }],
      [{ ...tables, c: [1, 144, 80], d: [1, 144, 32] }],
      [{ a: [1, 144, 81], b: [1, 144, 12], c: [1, 36, 12], d: [1, 36, 81] }],
      [{ a: [1, 144, 150], b: [1, 144, 132], c: [1, 36, 132], d: [1, 36, 150] }],
    ]);
  });
});

describe('queries', () => {
  it('with score and class', () => {
    expect(read('rt-detr', { out: [1, 300, 6] })).toMatchObject({
      classes: 80,
      families: 'RT-DETR',
      iou: null,
      isAssumed: true,
    });
    expect(read('rt-detr', { out: [1, 300, 6] }, named(3))).toMatchObject({ classes: 3, isAssumed: false });
    refuses('rt-detr', [[{ out: [1, 300, 7] }], [{ out: [300, 6] }], [{ a: [1, 300, 6], b: [1] }]]);
  });

  it('with a score for each class, which are no cells', () => {
    expect(read('rt-detr-rows', { out: [1, 300, 7] })).toMatchObject({ classes: 3, families: 'RT-DETR', iou: null });
    refuses('rt-detr-rows', [
      [{ out: [1, 300, 7] }, named(4)],
      [{ out: [1, 300, 4] }],
      [{ out: [1, CELLS, 7] }],
      [{ out: [1, 3 * CELLS, 7] }],
      [{ out: [300, 7] }],
      [{ a: [1, 300, 7], b: [1] }],
    ]);
  });

  it('with labels, boxes and scores', () => {
    const outputs: Record<string, Shape> = { s: [1, 300], b: [1, 300, 4], l: ['int64', 1, 300] };
    expect(read('detr', outputs)).toMatchObject({
      outputs: 'l b s',
      classes: 80,
      families: 'RT-DETR, DETR',
      isAssumed: true,
    });
    expect(read('detr', outputs, named(3))).toMatchObject({ classes: 3, isAssumed: false });
    expect(read('detr-coco-ids', outputs)).toMatchObject({ classes: 80, isAssumed: false });
    expect(read('detr-coco-ids', outputs, named(80))).toMatchObject({ classes: 80 });
    const queries = (head: string) => readingsOf(head, outputs)[0].evidence.join();
    expect(queries('detr')).toContain('classes, boxes and scores of 300 queries');
    expect(queries('detr-coco-ids')).toContain('COCO category ids');
    expect(read('detr', { ...outputs, s: [1, 300, 1], l: ['int32', 1, 300, 1, 1] })).toMatchObject({
      outputs: 'l b s',
    });
    refuses('detr-coco-ids', [[outputs, named(3)]]);
    refuses('detr', [
      [{ s: [1, 300], l: ['int64', 1, 300] }],
      [{ ...outputs, l: [1, 300] }],
      [{ ...outputs, s: [1, 299] }],
      [{ ...outputs, s: [1, 300, 2] }],
      [{ ...outputs, s: [300] }],
      [{ ...outputs, more: [1] }],
    ]);
  });

  it('with logits, by class or by COCO category, with a column for nothing or without', () => {
    const outputs = (columns: number) => ({ pred_boxes: [1, 300, 4], logits: [1, 300, columns] });
    expect(read('detr-logits', outputs(80))).toMatchObject({
      outputs: 'logits pred_boxes',
      classes: 80,
      families: 'RT-DETR, DETR',
    });
    expect(read('detr-logits', outputs(91))).toMatchObject({ classes: 80, families: 'DETR, RT-DETR', iou: null });
    expect(read('detr-logits', outputs(91), named(91))).toMatchObject({ classes: 91, families: 'RT-DETR, DETR' });
    expect(read('detr-softmax', outputs(92))).toMatchObject({ classes: 80, families: 'DETR, RT-DETR' });
    expect(read('detr-softmax', outputs(6), named(5))).toMatchObject({ classes: 5 });
    expect(readingsOf('detr-softmax', outputs(6))[0].evidence.join()).toContain('5 classes and nothing');
    // Either could be the boxes.
    expect(readingsOf('detr-logits', outputs(4))).toHaveLength(2);
    refuses('detr-logits', [
      [outputs(5), named(3)],
      [{ b: [1, 300, 4] }],
      [{ b: [1, 300, 4], l: [1, 299, 5] }],
      [{ b: [1, 300, 4], l: [1, 300] }],
      [{ b: [1, 300, 5], l: [1, 300, 5] }],
    ]);
    refuses('detr-softmax', [[outputs(1)], [outputs(91), named(91)]]);
  });
});

describe('boxes and scores', () => {
  it('lie in two outputs, scores either way round', () => {
    const split = (boxes: Shape, scores: Shape) => ({ scores, boxes });
    const usual = { outputs: 'boxes scores', classes: 3, families: 'YOLO-NAS, YOLOX, Ultralytics, stretched' };
    expect(read('split-boxes', split([1, 50, 4], [1, 50, 3]))).toMatchObject(usual);
    expect(read('split-boxes', split([1, 50, 4], [1, 3, 50]), named(3))).toMatchObject(usual);
    expect(read('split-boxes-fractions', split([1, 50, 1, 4], [1, 50, 3]))).toMatchObject({
      families: 'YOLOv4',
      iou: 0.6,
    });
    const inputs = [{ name: 'scale_factor', type: 'float32', dims: [1, 2] } as const];
    expect(read('split-boxes', split([1, 50, 4], [1, 3, 50]), { inputs })).toMatchObject({
      families: 'PaddleDetection, PaddleDetection, normalised',
    });
    refuses('split-boxes', [
      [split([1, 50, 4], [1, 50, 3]), named(4)],
      [split([1, 50, 4], [1, 49, 3])],
      [split([1, 50, 4], [1, 50])],
      [split([1, 50, 2, 4], [1, 50, 3])],
      [split([1, 50, 1, 1, 4], [1, 50, 3])],
      [split(['int32', 1, 50, 4], [1, 50, 3])],
      [split([50, 4], [1, 50, 3])],
      [{ boxes: [1, 50, 4] }],
    ]);
  });
});

describe('boxes that the graph has suppressed', () => {
  it('are told from counts, scores and classes by shape and type, and by name where those do not do', () => {
    const counted: Record<string, Shape> = {
      num_dets: ['int32', 1, 1],
      det_boxes: [1, 100, 4],
      det_scores: [1, 100],
      det_classes: ['int32', 1, 100],
    };
    const usual = { outputs: 'num_dets det_boxes det_scores det_classes', classes: 80, iou: null, isAssumed: true };
    expect(read('nms-counted', counted)).toMatchObject(usual);
    expect(read('nms-counted', counted, named(3))).toMatchObject({ classes: 3, isAssumed: false });
    // Classes as floats are told from scores by name only.
    expect(read('nms-counted', { ...counted, det_classes: [1, 100] })).toMatchObject(usual);
    refuses('nms-counted', [
      [{ num: ['int32', 1], b: [1, 100, 4], x: [1, 100], y: [1, 100] }],
      [{ ...counted, num_dets: [1, 1] }],
      [{ ...counted, num_dets: ['int32', 1, 1, 1] }],
      [{ ...counted, num_dets: ['int32'] }],
      [{ ...counted, det_boxes: [1, 100, 5] }],
      [{ ...counted, det_scores: [1, 99] }],
      [{ ...counted, more: [1] }],
    ]);
  });

  it('are boxes with scores, and labels', () => {
    const outputs: Record<string, Shape> = { labels: ['int64', 1, 100], dets: [1, 100, 5] };
    expect(read('nms-dets-labels', outputs)).toMatchObject({
      outputs: 'dets labels',
      families: 'RTMDet, YOLOX, Ultralytics',
      iou: null,
    });
    refuses('nms-dets-labels', [
      [{ ...outputs, dets: [1, 99, 5] }],
      [{ ...outputs, dets: [1, 100, 4] }],
      [{ ...outputs, labels: [1, 100] }],
      [{ ...outputs, labels: ['int64', 1, 100, 1] }],
    ]);
  });

  it('are one table for all pictures', () => {
    for (const head of ['nms-flat', 'nms-flat-score-class', 'nms-flat-box-last']) {
      expect(read(head, { out: [2, 7] })).toMatchObject({
        families: 'Ultralytics, YOLOX, YOLO-NAS',
        iou: null,
        isAssumed: true,
      });
      expect(readingsOf(head, { out: [0, 7] }, named(2))[0].layout).toMatchObject({ isFlat: true, classCount: 2 });
      refuses(head, [[{ out: [2, 6] }], [{ out: [1, 2, 7] }], [{ a: [2, 7], b: [1] }]]);
    }
    const paddle: Record<string, Shape> = { num: ['int32', 1], rows: [9, 6] };
    expect(read('paddle-rows', paddle)).toMatchObject({
      outputs: 'rows num',
      families: 'PaddleDetection, PaddleDetection, normalised',
      iou: null,
    });
    refuses('paddle-rows', [
      [{ rows: [9, 6] }],
      [{ ...paddle, num: [1] }],
      [{ ...paddle, rows: [9, 7] }],
      [{ ...paddle, num: ['int32', 2] }],
    ]);
  });
});

/** What a head says of a run, given by output. */
function said(
  head: string,
  named: Record<string, [dims: number[], values: number[]]>,
  layout: Partial<HeadLayout> = {},
): string | undefined {
  const outputs = new Map(
    Object.entries(named).map(([name, [dims, values]]) => [name, { dims, data: Float32Array.from(values) }]),
  );
  return headNamed(head).contradiction(outputs, { ...layoutOf(head, 2), outputs: [...outputs.keys()], ...layout });
}
/** The same of one table. */
const saidOfRows = (head: string, rows: number[][], layout?: Partial<HeadLayout>) =>
  said(head, { out: [[rows.length, rows[0]?.length ?? 0], rows.flat()] }, layout);
const saidOfColumns = (head: string, columns: number[][], layout?: Partial<HeadLayout>) =>
  saidOfRows(
    head,
    columns[0].map((_, row) => columns.map((column) => column[row])),
    layout,
  );

describe('values that contradict', () => {
  it('anchor-free cells with keypoints or angles', () => {
    const pose = { classCount: 1, extra: { kind: 'keypoints', points: 1, dimensions: 3 } } as const;
    const person = [10, 10, 20, 20, 0.5];
    expect(saidOfColumns('anchor-free-pose', [[...person, 12, 13, 1]], pose)).toBeUndefined();
    expect(saidOfColumns('anchor-free-pose', [[...person, 2, 1, 0]], pose)).toMatch(/no keypoint lies beyond 2/);
    const obb = { classCount: 1, extra: { kind: 'rotated' } } as const;
    expect(
      saidOfColumns(
        'anchor-free-obb',
        [
          [...person, -0.1],
          [...person, 0.5],
        ],
        obb,
      ),
    ).toBeUndefined();
    expect(
      saidOfColumns(
        'anchor-free-obb',
        [
          [...person, 0.1],
          [...person, 1],
        ],
        obb,
      ),
    ).toMatch(/angles lie from 0 to 1/);
    const mask = { classCount: 1, extra: { kind: 'mask', size: 1, prototypes: 'p' } } as const;
    expect(saidOfColumns('anchor-free-segment', [[...person, 0.1]], mask)).toBeUndefined();
    expect(saidOfColumns('anchor-free-segment', [[10, 10, -1, 20, 0.5, 0.1]], mask)).toMatch(/size -1, below 0/);
    expect(saidOfColumns('anchor-free-segment', [[10, 10, 1, 20, 1.5, 0.1]], mask)).toMatch(/score of 1.5/);
    expect(saidOfColumns('anchor-free-segment', [[0.1, 0.1, 0.5, 0.5, 0.5, 0.1]], mask)).toMatch(/fractions/);
  });

  it('suppressed rows', () => {
    const rows = (...values: number[][]) => saidOfRows('end-to-end', values);
    expect(rows([1, 1, 9, 9, 0.5, 1], [0, 0, 0, 0, 0, 0], [9, 9, 1, 1, -1, 0.5])).toBeUndefined();
    expect(rows([1, 1, 9, 9, 1.5, 1])).toMatch(/score of 1.5, above 1/);
    expect(rows([1, 1, 9, 9, Number.NaN, 1])).toMatch(/score of NaN/);
    expect(rows([1, 1, 9, 9, 0.5, 1], [1, 1, 9, 9, 0.75, 1])).toMatch(/do not fall from row 0 to row 1/);
    expect(rows([1, 1, 9, 9, 0.5, 1.5])).toMatch(/class 1.5/);
    expect(rows([1, 1, 9, 9, 0.5, -1])).toMatch(/class -1/);
    expect(rows([9, 1, 1, 9, 0.5, 1])).toMatch(/corners \(9, 1\) and \(1, 9\)/);
    expect(rows([1, 9, 9, 1, 0.5, 1])).toMatch(/second before the first/);
    expect(rows([0.1, 0.1, 0.5, 0.5, 0.5, 1])).toMatch(/fractions/);
    const turned = (...values: number[][]) => saidOfRows('end-to-end-obb', values, { extra: { kind: 'rotated' } });
    expect(turned([90, 90, 9, 9, 0.5, 1, 0.5])).toBeUndefined();
    expect(turned([90, 90, -9, 9, 0.5, 1, 0.5])).toMatch(/sizes -9 and 9, below 0/);
    expect(turned([90, 90, 9, -9, 0.5, 1, 0.5])).toMatch(/sizes 9 and -9/);
    const pose = { extra: { kind: 'keypoints', points: 1, dimensions: 2 } } as const;
    expect(saidOfRows('end-to-end-pose', [[1, 1, 9, 9, 0.5, 1, 5, 5]], pose)).toBeUndefined();
  });

  it('unsorted rows', () => {
    const rows = (...values: number[][]) => saidOfRows('unsorted-rows', [[1, 1, 9, 9, 0.1, 0], ...values]);
    expect(rows([1, 1, 9, 9, 0.5, 1])).toBeUndefined();
    expect(rows([1, 1, 9, 9, 1.5, 1])).toMatch(/row 1 has a score of 1.5/);
    expect(rows([1, 1, 9, 9, -0.5, 1])).toMatch(/score of -0.5/);
    expect(rows([1, 1, 9, 9, 0.5, 0.5])).toMatch(/class 0.5/);
    expect(rows([1, 1, 9, 9, 0.1, 1])).toMatch(/scores fall from row to row/);
    expect(rows([9, 1, 1, 9, 0.5, 1])).toMatch(/1 rows have their second corner/);
    expect(
      saidOfRows('unsorted-rows', [
        [0, 0, 0.1, 0.1, 0.1, 0],
        [0, 0, 0.5, 0.5, 0.5, 0],
      ]),
    ).toMatch(/fractions/);
  });

  it('cells with an objectness of 1, and those without', () => {
    const yolov6 = (...values: number[][]) => saidOfRows('yolov6', values);
    expect(yolov6([1, 1, 9, 9, 1, 0.5, 0.25])).toBeUndefined();
    expect(yolov6([1, 1, 9, 9, 0.5, 0.5, 0.25])).toMatch(/objectness of 0.5, which should always be 1/);
    expect(yolov6([1, 1, 9, 9, 1, 0.5, 1.25])).toMatch(/row 0 has a score of 1.25/);
    expect(yolov6([1, 1, -9, 9, 1, 0.5, 0.25])).toMatch(/size of -9/);
    expect(yolov6([0.1, 0.1, 0.5, 0.5, 1, 0.5, 0.25])).toMatch(/fractions/);
    expect(saidOfRows('anchor-free-rows', [[1, 1, 9, 9, 1, 0.5]])).toMatch(/class 0 has the score 1 in every row/);
    expect(
      saidOfRows('anchor-free-rows', [
        [1, 1, 9, 9, 1, 0.5],
        [1, 1, 9, 9, 0.5, 0.5],
      ]),
    ).toBeUndefined();
    expect(saidOfRows('anchor-based', [[1, 1, 9, 9, 1, 0.5, 0.25]])).toMatch(/objectness is 1 in every row/);
  });

  it('maps with anchors that are scores already, or whose objectness is none', () => {
    expect(
      said('anchor-maps', {
        a: [
          [1, 1, 1, 7],
          [-1, 2, 3, 4, 5, 6, 7],
        ],
      }),
    ).toMatch(/1 of 1 anchors of a see an object/);
    expect(
      said('anchor-maps-channels', {
        a: [
          [7, 1, 2],
          [1, 1, 1, 1, 1, 1, 1, 1, -5, 1, -1, -1, -1, -1],
        ],
      }),
    ).toMatch(/1 of 2 anchors of a see/);
    expect(
      said('anchor-maps', {
        a: [
          [1, 1, 1, 7],
          [-1, 2, 3, 4, -5, 6, 7],
        ],
      }),
    ).toBeUndefined();
    expect(
      said('anchor-maps', {
        a: [
          [1, 1, 1, 7],
          [0, 1, 0.5, 0, 0, 0, 0],
        ],
      }),
    ).toMatch(/its values all lie from 0 to 1/);
    expect(said('anchor-maps-channels', {}, { outputs: ['lost'] })).toMatch(/scores already/);
  });

  it('tables of NanoDet', () => {
    const tables = (scores: number[], distances: number[]) =>
      said('nanodet', { classes: [[1, 2], scores], distances: [[1, 16], distances] });
    const logits = [-3, ...new Array(15).fill(2)];
    expect(tables([0.5, 1], logits)).toBeUndefined();
    expect(tables([0.5, -1], logits)).toBe('classes has a score of -1, outside 0..1');
    expect(tables([0.5, 1], new Array(16).fill(0.5))).toMatch(/^distances has distances all lie from 0 to 1/);
    expect(said('nanodet', {}, { outputs: ['classes', 'distances'] })).toMatch(/scores already/);
  });

  it('maps with distances', () => {
    const maps = (head: string, channels: number, scores: number[], distances: number[]) =>
      said(head, { classes: [[2, 1, 1], scores], distances: [[channels, 1, 1], distances] });
    expect(maps('distance-bins', 64, [0.5, 1], new Array(64).fill(2))).toBeUndefined();
    expect(maps('distance-bins', 64, [0.5, 1.5], new Array(64).fill(2))).toBe(
      'classes has a score of 1.5, outside 0..1',
    );
    expect(maps('rtmdet', 4, [-2, 1], [1, 2, 3, 4])).toBeUndefined();
    expect(maps('rtmdet', 4, [0.5, 1], [1, 2, 3, 4])).toMatch(/classes all lie from 0 to 1/);
    expect(maps('rtmdet', 4, [-2, 1], [1, 2, -3, 4])).toBe('distances has distances below 0');
  });

  it('queries with score and class', () => {
    const rows = (...values: number[][]) => saidOfRows('rt-detr', values);
    const good = [0.9, 0.9, 0.1, 0.1, 0.5, 1];
    expect(rows(good)).toBeUndefined();
    expect(rows([0.9, 0.9, 0.1, 0.1, 1.5, 1])).toMatch(/score of 1.5/);
    expect(rows([0.9, 0.9, 0.1, 0.1, 0.5, 1.5])).toMatch(/class 1.5/);
    expect(rows([0.9, 0.9, -0.1, 0.1, 0.5, 1])).toMatch(/1 of 1 boxes have a size below 0/);
    expect(rows([0.9, 0.9, 0.1, -0.1, 0.5, 1])).toMatch(/below 0/);
    expect(rows(good, [90, 90, 10, 10, 0.5, 1])).toMatch(/boxes reach 90: pixels/);
    expect(rows([0, 0, 0, 0, 0.5, 1])).toMatch(/no box has a size/);
    expect(rows([0.1, 0.1, 0.9, 0.9, 0.5, 1])).toMatch(/could be corners as well/);
    expect(said('rt-detr', { out: [[0, 6], []] })).toMatch(/no box has a size/);
  });

  it('queries with a score for each class', () => {
    expect(saidOfRows('rt-detr-rows', [[0.9, 0.9, 0.1, 0.1, 0.5, 1]])).toBeUndefined();
    expect(saidOfRows('rt-detr-rows', [[0.9, 0.9, 0.1, 0.1, 0.5, 1.5]])).toMatch(/row 0 has a score of 1.5/);
    expect(saidOfRows('rt-detr-rows', [[90, 90, 10, 10, 0.5, 1]])).toMatch(/pixels/);
  });

  it('queries with labels', () => {
    const detr = (label: number, box: number[], score: number, head = 'detr', classCount = 3) =>
      said(head, { labels: [[1], [label]], boxes: [[1, 4], box], scores: [[1], [score]] }, { classCount });
    const box = [1, 1, 9, 9];
    expect(detr(2, box, 0.5)).toBeUndefined();
    expect(detr(1.5, box, 0.5)).toMatch(/class 1.5/);
    expect(detr(3, box, 0.5)).toMatch(/label 3, which is no class/);
    expect(detr(2, box, 1.5)).toMatch(/score of 1.5/);
    expect(detr(2, [9, 1, 1, 9], 0.5)).toMatch(/1 boxes have their second corner before/);
    expect(detr(2, [0, 0, 0.5, 0.5], 0.5)).toMatch(/fractions/);
    expect(detr(90, box, 0.5, 'detr-coco-ids', 80)).toBeUndefined();
    for (const gap of [0, 12, 91]) expect(detr(gap, box, 0.5, 'detr-coco-ids', 80)).toMatch(/which is no class/);
  });

  it('queries with logits', () => {
    const logits = (head: string, values: number[][], box = [0.9, 0.9, 0.1, 0.1]) =>
      said(head, {
        logits: [[values.length, values[0].length], values.flat()],
        boxes: [[values.length, 4], values.flatMap(() => box)],
      });
    const classes = [
      [-1, 2, -3],
      [3, -1, -5],
      [-2, -3, 1],
    ];
    const withNothing = [
      [-1, 2, 3],
      [3, -1, 4],
      [-2, -3, -4],
    ];
    expect(logits('detr-logits', classes)).toBeUndefined();
    expect(logits('detr-logits', withNothing)).toMatch(/greatest in 2 of 3 rows, as one for nothing/);
    expect(logits('detr-logits', [[-1], [-2]])).toBeUndefined();
    expect(logits('detr-logits', [[0.5, 0.25]])).toMatch(/scores already/);
    expect(logits('detr-logits', classes, [90, 90, 10, 10])).toMatch(/pixels/);
    expect(logits('detr-softmax', withNothing)).toBeUndefined();
    expect(logits('detr-softmax', classes)).toMatch(/greatest in 1 of 3 rows only/);
    expect(logits('detr-softmax', [[0.25, 0.5]])).toMatch(/scores already/);
    expect(logits('detr-softmax', withNothing, [90, 90, 10, 10])).toMatch(/pixels/);
  });

  it('boxes and scores', () => {
    const split = (head: string, box: number[], scores: number[]) =>
      said(head, { boxes: [[1, 4], box], scores: [[1, 2], scores] });
    expect(split('split-boxes', [1, 1, 9, 9], [0.5, 1])).toBeUndefined();
    expect(split('split-boxes', [1, 1, 9, 9], [0.5, 1.5])).toBe('scores has a score of 1.5, outside 0..1');
    expect(split('split-boxes', [9, 1, 1, 9], [0.5, 1])).toMatch(/1 boxes have their second corner/);
    expect(split('split-boxes', [0, 0, 0.5, 0.5], [0.5, 1])).toMatch(/fractions of the input, not pixels/);
    expect(split('split-boxes-fractions', [0, 0, 0.5, 0.5], [0.5, 1])).toBeUndefined();
    expect(split('split-boxes-fractions', [1, 1, 9, 9], [0.5, 1])).toMatch(/pixels, not fractions/);
  });

  it('counted boxes, and boxes with labels', () => {
    const counted = (count: number, boxes: number[][], scores: number[], classes: number[]) =>
      said('nms-counted', {
        count: [[1], [count]],
        boxes: [[boxes.length, 4], boxes.flat()],
        scores: [[scores.length], scores],
        classes: [[classes.length], classes],
      });
    const boxes = [
      [1, 1, 9, 9],
      [9, 9, 1, 1],
    ];
    expect(counted(1, boxes, [0.5, 2], [1, -1])).toBeUndefined();
    expect(counted(2, boxes, [0.5, 0], [1, -1])).toBeUndefined();
    expect(counted(-1, boxes, [0.5, 0], [1, -1])).toBe('the count is -1');
    expect(counted(0.5, boxes, [0.5, 0], [1, -1])).toBe('the count is 0.5');
    expect(counted(2, boxes, [0.5, 2], [1, -1])).toMatch(/row 1 has a score of 2/);
    expect(counted(1, boxes, [0.5, 0], [-1, -1])).toMatch(/class -1/);
    expect(counted(2, boxes, [0.5, 0.25], [1, 1])).toMatch(/corners \(9, 9\) and \(1, 1\)/);
    expect(counted(1, [[0, 0, 0.5, 0.5]], [0.5], [1])).toMatch(/fractions/);
    const dets = (row: number[], label: number) =>
      said('nms-dets-labels', { dets: [[1, 5], row], labels: [[1], [label]] });
    expect(dets([1, 1, 9, 9, 0.5], 1)).toBeUndefined();
    expect(dets([1, 1, 9, 9, -0.5], 1)).toMatch(/score of -0.5/);
    expect(dets([1, 9, 9, 1, 0.5], 1)).toMatch(/second before the first/);
  });

  it('tables of all pictures', () => {
    const flat = (row: number[]) => saidOfRows('nms-flat', [row]);
    expect(flat([0, 1, 1, 9, 9, 1, 0.5])).toBeUndefined();
    expect(flat([1, 1, 1, 9, 9, 1, 0.5])).toMatch(/row 0 has the picture 1 of one/);
    expect(flat([0, 1, 1, 9, 9, -1, 0.5])).toMatch(/class -1/);
    expect(flat([0, 1, 1, 9, 9, 1, 5])).toMatch(/score of 5/);
    expect(flat([0, 9, 1, 1, 9, 1, 0.5])).toMatch(/corners \(9, 1\) and \(1, 9\)/);
    expect(flat([0, 0, 0, 0.5, 0.5, 1, 0.5])).toMatch(/fractions/);
    expect(saidOfRows('nms-flat-score-class', [[0, 1, 1, 9, 9, 0.5, 1]])).toBeUndefined();
    expect(saidOfRows('nms-flat-score-class', [[0, 1, 1, 9, 9, 2, 0.5]])).toMatch(/class 0.5/);
    expect(saidOfRows('nms-flat-box-last', [[0, 1, 0.5, 1, 1, 9, 9]])).toBeUndefined();
    expect(saidOfRows('nms-flat-box-last', [[0, 1, 0.5, 9, 1, 1, 9]])).toMatch(/corners/);
    const paddle = (row: number[]) => said('paddle-rows', { rows: [[1, 6], row], count: [[1], [1]] });
    expect(paddle([-1, 7, 9, 9, 1, 1])).toBeUndefined();
    expect(paddle([1, 0.5, 1, 1, 9, 9])).toBeUndefined();
    expect(paddle([0.5, 0.5, 1, 1, 9, 9])).toMatch(/class 0.5/);
  });
});

describe('values that contradict every layout', () => {
  it('are not blamed on the number of names that are given', async () => {
    const dims = [7, CELLS];
    const probe = async () => new Map([['out', { dims, data: new Float32Array(7 * CELLS).fill(-5) }]]);
    const { labels } = named(3);
    await expect(
      recognise(modelOf({ out: [1, ...dims] }), { picture: { width: 96, height: 96 }, labels }, probe),
    ).rejects.toMatchObject({
      code: 'ERR_YOLO_HEAD_UNKNOWN',
      message: expect.stringMatching(/contradict every layout.*anchor-free with 3 classes: a box has the size -5/),
    });
  });
});

describe('runs of another shape than the layout', () => {
  const table = (dims: number[]): [number[], number[]] => [dims, new Array(dims.reduce((a, b) => a * b, 1)).fill(0)];
  const decode = (head: string, named: Record<string, number[]>, more: Partial<HeadLayout> = {}) => {
    const outputs = new Map(
      Object.entries(named).map(([name, dims]) => [name, { dims, data: Float32Array.from(table(dims)[1]) }]),
    );
    const layout = { ...layoutOf(head, 2), outputs: Object.keys(named), ...more };
    return () => headNamed(head).decode(outputs, layout, 0.25, {} as never);
  };
  const mismatch = (text: RegExp) =>
    expect.objectContaining({ code: 'ERR_YOLO_SHAPE_MISMATCH', message: expect.stringMatching(text) });

  it('are refused, with the output and what it should be', () => {
    for (const [attempt, text] of [
      [decode('nanodet', { a: [15, 2], b: [15, 32] }), /"a" should be/],
      [decode('nanodet', { a: [16, 3], b: [16, 32] }), /n rows of 2/],
      [decode('nanodet', { a: [16, 2], b: [] }), /"b" should be/],
      [decode('nanodet', { a: [16, 2], b: [16, 30] }), /"b" should be rows of four distances/],
      [decode('nanodet', { a: [16, 2] }, { outputs: ['a', 'b'] }), /"b".*no such output/],
      [decode('distance-bins', { a: [2, 4, 4], b: [64, 2, 2] }), /"b" should be \[64, h, w\] of 16 cells/],
      [decode('distance-bins', { a: [2, 5, 4], b: [64, 5, 4] }), /"a" should be 2 classes for each cell/],
      [decode('rtmdet', { a: [3, 4, 4], b: [4, 4, 4] }), /"a" should be \[2, h, w\]/],
      [decode('rtmdet', { a: [2, 4, 4] }, { outputs: ['a', 'b'] }), /"b".*no such output/],
      [decode('anchor-maps', { a: [1, 4, 4, 8] }, { anchors: [[1, 2]] }), /1 anchors of 7 values/],
      [decode('anchor-maps', {}, { outputs: ['a'], anchors: [[1, 2]] }), /no such output/],
      [decode('split-boxes', { a: [9, 4], b: [8, 2] }), /"b" should be 9 rows of 2/],
      [decode('split-boxes', { a: [9, 4], b: [2, 8] }), /"b" should be 2 rows of 9/],
      [decode('split-boxes', { a: [9, 4] }, { outputs: ['a', 'b'] }), /no such output/],
      [decode('detr-logits', { a: [9, 3], b: [8, 4] }), /"a" should be 8 rows/],
      [decode('detr-softmax', { b: [8, 4] }, { outputs: ['a', 'b'] }), /"a".*no such output/],
      [decode('detr', { l: [9], b: [9, 4], s: [8] }), /"s" should be 9 rows of 1/],
      [decode('nms-counted', { n: [2], b: [9, 4], s: [9], c: [9] }), /"n" should be 1 rows of 1/],
      [decode('nms-dets-labels', { d: [9, 5], l: [8] }), /"l" should be 9 rows of 1/],
      [decode('nms-flat', { a: [9, 6] }), /n rows of 7/],
      [decode('paddle-rows', { a: [9, 7] }), /n rows of 6/],
      [decode('rt-detr-rows', { a: [9, 7] }), /\[n, 6\]/],
    ] as const)
      expect(attempt).toThrow(mismatch(text));
  });

  it('leave every head with the name that it is listed under', () => {
    for (const head of HEADS)
      for (const reading of head.read(modelOf({ out: [1, 300, 6] }))) expect(reading.layout.head).toBe(head.name);
    expect(COCO_CATEGORY_IDS).toHaveLength(80);
  });
});
