import { describe, expect, it } from 'vitest';
import type { HeadOutputs, ModelSignature } from '../../lib/core/heads/head.js';
import { type Probe, type RecogniseOptions, recognise, recogniseModel } from '../../lib/core/heads/recognise.js';
import type { InputFormat } from '../../lib/core/input-format.js';
import type { Tensor } from '../../lib/types.js';
import { outputOf, signatureOf, transposed } from './synthetic.js';

/** Not 32 or 64, where numbers of cells and of columns can be the same. */
const SIZE = 96;
const CELLS = 144 + 36 + 9;
const picture = { width: SIZE, height: SIZE };

interface Seen {
  cx: number;
  cy: number;
  w: number;
  h: number;
  confidence: number;
  classId: number;
}

const objects: Seen[] = [
  { cx: 6, cy: 6, w: 10, h: 8, confidence: 0.9, classId: 0 },
  { cx: 11, cy: 20, w: 6, h: 12, confidence: 0.8, classId: 1 },
  { cx: 20, cy: 27, w: 8, h: 8, confidence: 0.6, classId: 0 },
];
const mirroredObjects = objects.map((object) => ({ ...object, cx: SIZE - object.cx }));
/** What a network marks that is fed the wrong levels: places, whatever the picture shows. */
const noise: Seen[] = [4, 12, 20].map((cx) => ({ cx, cy: cx, w: 6, h: 6, confidence: 0.95, classId: 1 }));

/** Cells of strides 8, 16, 32 in their order. */
const grid = [8, 16, 32].flatMap((stride) =>
  Array.from({ length: (SIZE / stride) ** 2 }, (_, i) => ({
    stride,
    x: i % (SIZE / stride),
    y: Math.floor(i / (SIZE / stride)),
  })),
);

type Encode = (seen: Seen[]) => HeadOutputs;

/** Rows of box, `lead` and classes, an object in the cell of stride 8 that it lies in, the others with a small box in their cell. */
function cellRows(classes: number, withObjectness: boolean, undecoded = false) {
  return (seen: Seen[]): number[][] =>
    grid.map(({ stride, x, y }) => {
      const object = seen.find(({ cx, cy }) => stride === 8 && Math.floor(cx / 8) === x && Math.floor(cy / 8) === y);
      const { cx, cy, w, h } = object ?? { cx: (x + 0.5) * stride, cy: (y + 0.5) * stride, w: 3, h: 4 };
      const box = undecoded
        ? [cx / stride - x, cy / stride - y, Math.log(w / stride), Math.log(h / stride)]
        : [cx, cy, w, h];
      const scores = Array.from({ length: classes }, (_, id) => (object?.classId === id ? object.confidence : 0.01));
      return [...box, ...(withObjectness ? [object === undefined ? 0.02 : 0.99] : []), ...scores];
    });
}

const anchorFree =
  (classes: number): Encode =>
  (seen) =>
    outputOf([4 + classes, CELLS], transposed(cellRows(classes, false)(seen).flat(), CELLS, 4 + classes));
const anchorFreeRows =
  (classes: number): Encode =>
  (seen) =>
    outputOf([CELLS, 4 + classes], cellRows(classes, false)(seen).flat());
const yolox =
  (classes: number, undecoded: boolean): Encode =>
  (seen) =>
    outputOf([CELLS, 5 + classes], cellRows(classes, true, undecoded)(seen).flat());
const anchorBased =
  (classes: number): Encode =>
  (seen) => {
    const rows = cellRows(classes, true)(seen);
    const others = cellRows(classes, true)([]);
    return outputOf([3 * CELLS, 5 + classes], [...rows, ...others, ...others].flat());
  };
const endToEnd: Encode = (seen) => {
  const rows = seen.map(({ cx, cy, w, h, confidence, classId }) => [
    cx - w / 2,
    cy - h / 2,
    cx + w / 2,
    cy + h / 2,
    confidence,
    classId,
  ]);
  return outputOf([rows.length + 1, 6], [...rows.sort((a, b) => b[4] - a[4]).flat(), 0, 0, 0, 0, 0, 0]);
};

interface Network {
  encode: Encode;
  /** Levels it was trained with; undefined sees nothing at any. */
  divisor?: number;
  more?: Partial<ModelSignature>;
}

function model({ encode, divisor, more }: Network) {
  const runs: { format: InputFormat; mirrored: boolean }[] = [];
  const probe: Probe = async (format, mirrored) => {
    runs.push({ format, mirrored });
    if (divisor === undefined) return encode([]);
    if (format.divisor !== divisor) return encode(noise);
    return encode(mirrored ? mirroredObjects : objects);
  };
  const dims = encode([]).get('out')?.dims ?? [];
  const signature = signatureOf([[1, ...dims]], more);
  return {
    runs,
    signature,
    recognise: (options: Partial<RecogniseOptions> = {}) => recognise(signature, { picture, ...options }, probe),
  };
}

const unknownHead = (message: RegExp) =>
  expect.objectContaining({ code: 'ERR_YOLO_HEAD_UNKNOWN', message: expect.stringMatching(message) });
const ULTRALYTICS = { task: 'detect', stride: '32' };

describe('metadata', () => {
  it('of the exporter settles everything, so that one run is enough', async () => {
    for (const [encode, head] of [
      [anchorFree(2), 'anchor-free'],
      [endToEnd, 'end-to-end'],
    ] as const) {
      const { recognise: find, runs } = model({
        encode,
        more: { metadata: { ...ULTRALYTICS, head: 'Detect' }, labels: ['a', 'b'] },
      });
      const found = await find();
      expect(found.layout).toMatchObject({ head, classCount: 2 });
      expect(found.format).toMatchObject({ channelOrder: 'rgb', divisor: 255, letterbox: { placement: 'centre' } });
      expect(found.iouThreshold).toBe(head === 'end-to-end' ? null : 0.7);
      expect(found.assumed).toEqual([]);
      expect(found.evidence[0]).toMatch(/task detect, head Detect/);
      expect(runs).toHaveLength(1);
    }
  });

  it('of YOLOv5, stride and names, does so too', async () => {
    const metadata = { stride: '32', names: "['a', 'b']" };
    const { recognise: find, runs } = model({ encode: anchorBased(2), more: { metadata, labels: ['a', 'b'] } });
    expect((await find()).layout.head).toBe('anchor-based');
    expect(runs).toHaveLength(1);
  });

  it('with names alone does not fix the levels', async () => {
    const { recognise: find } = model({
      encode: endToEnd,
      divisor: 1,
      more: { metadata: { names: "['a', 'b']" }, labels: ['a', 'b'] },
    });
    expect((await find()).format.divisor).toBe(1);
  });

  it('tells whether there is an objectness column, by the number of names', async () => {
    const three = { labels: ['a', 'b', 'c'] };
    const rows = model({ encode: anchorFreeRows(3), divisor: 255, more: three });
    expect((await rows.recognise()).layout).toMatchObject({ head: 'anchor-free-rows', classCount: 3 });
    const withObjectness = model({ encode: yolox(3, false), divisor: 1, more: three });
    expect((await withObjectness.recognise()).layout).toMatchObject({ head: 'yolox-decoded', classCount: 3 });
    const exported = model({ encode: yolox(3, false), divisor: 1, more: { ...three, metadata: ULTRALYTICS } });
    await expect(exported.recognise()).rejects.toEqual(unknownHead(/metadata says Ultralytics, not YOLOX/));
  });

  it('of another task, or with another head, is refused by its name', async () => {
    const cases: [metadata: Record<string, string>, message: RegExp][] = [
      [{ task: 'classify' }, /"classify"/],
      [{ task: 'segment' }, /task is segment/],
      [{ task: 'detect', kpt_shape: '[17, 3]' }, /task is pose/],
      [{ task: 'detect', head: 'Classify' }, /"Classify"/],
      [{ task: 'detect', head: 'RTDETRDecoder' }, /metadata says RT-DETR/],
      [{ task: 'detect', description: 'Ultralytics rtdetr-l model trained on coco.yaml' }, /metadata says RT-DETR/],
    ];
    for (const [metadata, message] of cases)
      await expect(model({ encode: endToEnd, more: { metadata } }).recognise()).rejects.toEqual(unknownHead(message));
  });
});

describe('shapes', () => {
  it('tell [1, 6, N] of two classes from rows [1, N, 6] of finished boxes, in pixels by their corners', async () => {
    const columns = model({ encode: anchorFree(2), divisor: 255 });
    expect((await columns.recognise()).layout).toMatchObject({ head: 'anchor-free', classCount: 2 });
    const single = model({ encode: anchorFree(1) });
    expect((await single.recognise()).evidence[0]).toBe(
      'out [1, 5, 189] is the cells of strides 8, 16, 32 by box, 1 class',
    );
    const rows = model({ encode: endToEnd, divisor: 255 });
    const found = await rows.recognise();
    expect(found.layout).toMatchObject({ head: 'end-to-end', classCount: 80 });
    expect(found.assumed).toEqual([expect.stringMatching(/80 classes/)]);
    expect(found.iouThreshold).toBeNull();
  });

  it('tell three anchors a cell of any class count, and the maps they were made from beside them', async () => {
    const { recognise: find } = model({ encode: anchorBased(3), divisor: 255 });
    expect((await find()).layout).toMatchObject({ head: 'anchor-based', classCount: 3 });
    const probe: Probe = async (_, mirrored) => anchorBased(3)(mirrored ? mirroredObjects : objects);
    const maps = [
      [1, 3, 12, 12, 8],
      [1, 3, 6, 6, 8],
      [1, 3, 3, 3, 8],
    ];
    const found = await recognise(signatureOf([[1, 3 * CELLS, 8], ...maps]), { picture }, probe);
    expect(found.layout.outputs).toEqual(['out']);
    expect(found.evidence.join()).toMatch(/out1, out2, out3 are the maps/);
    for (const wrong of [
      [1, 3, 12, 12, 9],
      [1, 12, 12, 8],
      [1, 3, 13, 12, 8],
    ])
      await expect(recognise(signatureOf([[1, 3 * CELLS, 8], wrong]), { picture }, probe)).rejects.toEqual(
        unknownHead(/no known layout/),
      );
  });

  it('of no layout are refused, with the outputs and what can be set', async () => {
    const none: Probe = () => Promise.reject(new Error('not to be run'));
    for (const shapes of [
      [[1, 1000]],
      [[1, 300, 4]],
      [[1, 84, 4]],
      [[1, 4, CELLS]],
      [[1, CELLS, 4]],
      [[1, 3 * CELLS, 5]],
      [
        [1, CELLS, 2],
        [1, CELLS, 5],
      ],
    ])
      await expect(recognise(signatureOf(shapes), { picture }, none)).rejects.toEqual(
        unknownHead(/no known layout: out float32 \[1, .*`postprocessor`.*`head`: end-to-end, /),
      );
  });

  it('of raw anchor maps are read with anchors that are given, and refused without', async () => {
    const maps = signatureOf([
      [1, 3, 12, 12, 8],
      [1, 3, 6, 6, 8],
    ]);
    const probe: Probe = async () =>
      new Map([
        ['out', { dims: [3, 12, 12, 8], data: new Float32Array(3 * 144 * 8).fill(-9) }],
        ['out1', { dims: [3, 6, 6, 8], data: new Float32Array(3 * 36 * 8).fill(-9) }],
      ]);
    const none: Probe = () => Promise.reject(new Error('not to be run'));
    for (const head of [undefined, 'anchor-maps'])
      await expect(recognise(maps, { picture, head }, head === undefined ? probe : none)).rejects.toEqual(
        unknownHead(/are anchor-maps, but .*set `anchors` to 'yolov5' or 'yolov7'/),
      );
    const anchors = [
      [10, 13, 16, 30, 33, 23],
      [30, 61, 62, 45, 59, 119],
    ];
    const found = await recognise(maps, { picture, anchors }, probe);
    expect(found.layout).toMatchObject({ head: 'anchor-maps', classCount: 3, anchors });
    await expect(recognise(maps, { picture, anchors: anchors.slice(1) }, probe)).rejects.toEqual(
      unknownHead(/should have 2 levels of 3 widths and heights/),
    );
    // 64 bins and 80 classes are as many channels as three anchors of 43 classes.
    const bins = signatureOf([
      [1, 144, 12, 12],
      [1, 144, 6, 6],
    ]);
    const ramp = (length: number) => Float32Array.from({ length }, (_, i) => Math.sin(i));
    const other: Probe = async () =>
      new Map([
        ['out', { dims: [144, 12, 12], data: ramp(144 * 144) }],
        ['out1', { dims: [144, 6, 6], data: ramp(144 * 36) }],
      ]);
    for (const given of [undefined, anchors])
      await expect(recognise(bins, { picture, anchors: given }, other)).rejects.toEqual(
        unknownHead(/contradict every layout.*see an object, so that is no objectness/),
      );
  });

  it('that the names contradict are refused, with both counts', async () => {
    const { recognise: find } = model({ encode: anchorFree(3), more: { labels: ['only'] } });
    await expect(find()).rejects.toEqual(unknownHead(/1 class names.*anchor-free with 3 classes.*`labels`/));
    const given = model({ encode: anchorFree(3), more: { labels: ['only'] } }).recognise({ labels: ['a', 'b'] });
    await expect(given).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringMatching(/labels to have 3 names.*received 2/),
    });
    const right = await model({ encode: anchorFree(3), more: { labels: ['only'] } }).recognise({
      labels: ['a', 'b', 'c'],
    });
    expect(right.layout.classCount).toBe(3);
  });
});

describe('values', () => {
  it('tell undecoded from decoded YOLOX, whether or not anything is found', async () => {
    for (const divisor of [1, undefined]) {
      const raw = await model({ encode: yolox(80, true), divisor }).recognise();
      expect(raw.layout.head).toBe('yolox');
      const decoded = await model({ encode: yolox(80, false), divisor }).recognise();
      expect(decoded.layout.head).toBe('yolox-decoded');
      expect(decoded.candidates.map(({ head, against }) => [head, against !== undefined])).toEqual([
        ['yolox-decoded', false],
        ['yolov6', true],
        ['yolox', true],
        ['anchor-free-rows', true],
      ]);
      for (const { format, iouThreshold } of [raw, decoded]) {
        expect(format).toMatchObject({ channelOrder: 'bgr', divisor: 1, letterbox: { placement: 'top-left' } });
        expect(iouThreshold).toBe(0.45);
      }
    }
  });

  it("take an objectness that is always 1 for YOLOv6's, neither for a class nor for an objectness", async () => {
    const constant: Encode = (seen) =>
      outputOf(
        [CELLS, 85],
        cellRows(80, true)(seen).flatMap((row) => row.with(4, 1)),
      );
    const found = await model({ encode: constant, divisor: 255 }).recognise();
    expect(found.layout).toMatchObject({ head: 'yolov6', classCount: 80 });
    expect(found.candidates.map(({ against = '' }) => against).join()).toMatch(
      /class 0 .*objectness is 1 in every row/,
    );
  });

  it('refuse rows that look like an end-to-end output and are none', async () => {
    const rows =
      (...values: number[][]): Encode =>
      () =>
        outputOf([values.length, 6], values.flat());
    const good = [1, 2, 30, 30, 0.9, 1];
    const cases: [encode: Encode, message: RegExp][] = [
      [rows(good, [1, 2, 30, 30, 0.5, 1], [1, 2, 30, 30, 0.6, 1]), /not sorted/],
      [rows([0.4, 0.5, 0.6, 0.7, 0.9, 1]), /fractions/],
      [rows([20, 20, 4, 4, 0.9, 1]), /second before the first/],
      [rows([1, 2, 30, 30, 0.9, 0.5]), /no whole number/],
      [rows([1, 2, 30, 30, 0.9, -1]), /class -1/],
      [rows([1, 2, 30, 30, 16, 0.9]), /above 1/],
    ];
    for (const [encode, message] of cases)
      await expect(model({ encode }).recognise()).rejects.toEqual(unknownHead(message));
    await expect(model({ encode: rows(good, good, [0, 0, 0, 0, -1, -1]) }).recognise()).resolves.toBeDefined();
  });

  it('refuse scores outside 0..1, sizes below 0 and fractions of the input, for every layout of cells', async () => {
    const faults: [message: RegExp, fault: (row: number[]) => number[]][] = [
      [/outside 0\.\.1/, (row) => row.with(4, 1.5)],
      [/outside 0\.\.1/, (row) => row.with(4, -0.5)],
      [/below 0/, (row) => row.with(2, -3)],
      [/fractions/, (row) => row.map((value, i) => (i < 4 ? value / SIZE : value))],
    ];
    for (const [message, fault] of faults) {
      const faulty = (data: number[][]) => data.flatMap(fault);
      const encodings: Encode[] = [
        (seen) => outputOf([6, CELLS], transposed(faulty(cellRows(2, false)(seen)), CELLS, 6)),
        (seen) => outputOf([CELLS, 84], faulty(cellRows(80, false)(seen))),
        (seen) =>
          outputOf(
            [3 * CELLS, 7],
            faulty([...cellRows(2, true)(seen), ...cellRows(2, true)([]), ...cellRows(2, true)([])]),
          ),
      ];
      for (const encode of encodings)
        await expect(model({ encode, divisor: 255 }).recognise()).rejects.toEqual(unknownHead(message));
    }
  });

  it('that are no numbers are an error of their own, naming the precision', async () => {
    const broken: Encode = () =>
      new Map([
        ['out', { dims: [6, CELLS], data: new Float32Array(6 * CELLS).fill(Number.NaN), type: 'float16' as const }],
      ]);
    await expect(model({ encode: broken }).recognise()).rejects.toMatchObject({
      code: 'ERR_YOLO_DEVICE',
      message: expect.stringMatching(/float16/),
    });
  });
});

describe('a run', () => {
  it('without the output that the signature has is a mismatch', async () => {
    const other: Probe = async () => outputOf([6, CELLS], new Float32Array(6 * CELLS), 'other');
    await expect(recognise(signatureOf([[1, 6, CELLS]]), { picture }, other)).rejects.toMatchObject({
      code: 'ERR_YOLO_SHAPE_MISMATCH',
    });
  });
});

describe('queries of two classes', () => {
  const signature = signatureOf([
    [1, 300, 2],
    [1, 300, 4],
  ]);
  /** The last class is the greater one everywhere, and is seen twice. */
  const probe: Probe = async () =>
    new Map([
      [
        'out',
        {
          dims: [300, 2],
          data: Float32Array.from({ length: 600 }, (_, i) => (i < 4 ? (i % 2) * 7 - 4.5 : (i % 2) - 4.7)),
        },
      ],
      ['out1', { dims: [300, 4], data: Float32Array.from({ length: 1200 }, (_, i) => (i % 4 < 2 ? 0.5 : 0.2)) }],
    ]);

  it('are not taken for one class and nothing', async () => {
    const found = await recognise(signature, { picture, labels: ['a', 'b'] }, probe);
    expect(found.layout).toMatchObject({ head: 'detr-logits', classCount: 2 });
    await expect(recognise(signature, { picture }, probe)).rejects.toEqual(
      unknownHead(/more than one way.*detr-logits with 2 classes.*detr-softmax with 1 classes/),
    );
  });
});

describe('two layouts that fit', () => {
  it('are told apart by the class count of COCO, which is said to be an assumption', async () => {
    const rows = await model({ encode: anchorFreeRows(80), divisor: 255 }).recognise();
    expect(rows.layout).toMatchObject({ head: 'anchor-free-rows', classCount: 80 });
    expect(rows.assumed[0]).toMatch(/80 classes, as COCO/);
  });

  it('are refused where nothing tells them apart, and read where `head` or `labels` does', async () => {
    const network = { encode: yolox(3, false), divisor: 1 };
    await expect(model(network).recognise()).rejects.toEqual(
      unknownHead(
        /more than one way.*anchor-free-rows with 4 classes.*yolox-decoded with 3 classes.*yolox with 3 classes/,
      ),
    );
    expect((await model(network).recognise({ head: 'yolox-decoded' })).layout.classCount).toBe(3);
    expect((await model(network).recognise({ labels: ['a', 'b', 'c'] })).layout.head).toBe('yolox-decoded');
  });

  it('are told apart by the mirrored picture, where one of them finds its objects again and the other does not', async () => {
    // Read with objectness, the first class of this network would be one, and nothing would be confident.
    const onlyRows: Encode = (seen) =>
      outputOf(
        [CELLS, 7],
        cellRows(3, false)(seen).flatMap((row) => row.with(4, Math.min(row[4], 0.2))),
      );
    const found = await model({
      encode: (seen) => onlyRows(seen.map((object) => ({ ...object, classId: 1 }))),
      divisor: 255,
    }).recognise();
    expect(found.layout).toMatchObject({ head: 'anchor-free-rows', classCount: 3 });
    expect(found.assumed[0]).toMatch(/agree by \d\.\d\d/);
    expect(found.candidates).toHaveLength(5);
  });
});

describe('the scale of float levels', () => {
  it('is the one whose boxes the mirrored picture shows again', async () => {
    for (const divisor of [255, 1]) {
      for (const encode of [anchorFree(2), anchorBased(2), yolox(80, true), endToEnd]) {
        const found = await model({ encode, divisor }).recognise();
        expect(found.format.divisor).toBe(divisor);
        expect(found.evidence.at(-1)).toMatch(new RegExp(`divisor ${divisor}: .* agree by (0\\.9|1)`));
        expect(found.assumed.filter((line) => line.includes('divisor'))).toEqual([]);
      }
    }
  });

  it("is the family's, and said to be assumed, where nothing is found", async () => {
    const found = await model({ encode: anchorFree(2) }).recognise();
    expect(found.format.divisor).toBe(255);
    expect(found.assumed).toEqual([
      expect.stringMatching(/divisor 255, as the Ultralytics family.*0\.00 with it and by 0\.00 with divisor 1/),
    ]);
  });

  it('is not proved by boxes that stay where they are when the picture is mirrored', async () => {
    const symmetric = [SIZE / 2, SIZE / 2].map((cx, i) => ({
      cx,
      cy: 8 + 16 * i,
      w: 8,
      h: 8,
      confidence: 0.9,
      classId: 0,
    }));
    const encode = anchorFree(2);
    const probe: Probe = async (format) => encode(format.divisor === 1 ? symmetric : []);
    const found = await recognise(signatureOf([[1, 6, CELLS]]), { picture }, probe);
    expect(found.format.divisor).toBe(255);
  });

  it('is proved anew with no run twice, and only as far as needed', async () => {
    const usual = model({ encode: anchorFree(2), divisor: 255 });
    await usual.recognise();
    expect(usual.runs.map(({ format, mirrored }) => [format.divisor, mirrored])).toEqual([
      [255, false],
      [255, true],
    ]);
    const other = model({ encode: anchorFree(2), divisor: 1 });
    await other.recognise();
    expect(other.runs).toHaveLength(4);
  });
});

describe('the input format', () => {
  it('is RGB for interleaved and for byte inputs, whatever the family, and bytes go in as they are', async () => {
    const interleaved = await model({ encode: yolox(80, true), divisor: 1, more: { inputLayout: 'nhwc' } }).recognise();
    expect(interleaved.format).toMatchObject({
      layout: 'nhwc',
      channelOrder: 'rgb',
      letterbox: { placement: 'top-left' },
    });
    const bytes = model({ encode: anchorFree(2), divisor: 1, more: { inputType: 'uint8' } });
    expect((await bytes.recognise()).format).toMatchObject({ type: 'uint8', channelOrder: 'rgb', divisor: 1 });
    expect(bytes.runs).toHaveLength(1);
  });

  it('is of the type that the model takes', async () => {
    const found = await model({ encode: anchorFree(2), divisor: 255, more: { inputType: 'float16' } }).recognise();
    expect(found.format).toMatchObject({ type: 'float16', divisor: 255 });
  });

  it('is what is given, as far as it is given', async () => {
    const network = model({ encode: anchorFree(2) });
    const found = await network.recognise({
      inputFormat: { channelOrder: 'bgr', divisor: 2, letterbox: { placement: 'stretch', padValue: 0 } },
    });
    expect(found.format).toMatchObject({
      channelOrder: 'bgr',
      divisor: 2,
      letterbox: { placement: 'stretch', padValue: 0 },
    });
    expect(network.runs).toHaveLength(1);
    const mean = [1, 2, 3] as const;
    const std = [4, 5, 6] as const;
    const normalised = await model({ encode: anchorFree(2) }).recognise({ inputFormat: { mean, std } });
    expect(normalised.format).toMatchObject({ mean, std, channelOrder: 'rgb', letterbox: { placement: 'centre' } });
    expect(normalised.assumed).toEqual([]);
  });
});

describe('a head that is given', () => {
  it('goes before metadata and values, and may pick one output of several', async () => {
    const seg = signatureOf(
      [
        [1, 7, CELLS],
        [1, 32, 8, 8],
      ],
      { metadata: { task: 'segment' } },
    );
    const probe: Probe = async (format, mirrored) =>
      anchorFree(3)(format.divisor === 255 ? (mirrored ? mirroredObjects : objects) : noise);
    const found = await recognise(seg, { picture, head: 'anchor-free' }, probe);
    expect(found.layout).toMatchObject({ head: 'anchor-free', outputs: ['out'], classCount: 3 });
    expect(found.format.divisor).toBe(255);
  });

  it('must exist, and fit the shapes', async () => {
    await expect(model({ encode: anchorFree(2) }).recognise({ head: 'v8' })).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
    });
    await expect(model({ encode: anchorFree(2) }).recognise({ head: 'end-to-end' })).rejects.toEqual(
      unknownHead(/no known layout/),
    );
  });
});

describe('recognition from runs alone', () => {
  it('learns the shapes from the first run, and does not repeat it', async () => {
    const runs: boolean[] = [];
    const { outputs: _, ...unrun } = signatureOf([]);
    const run = async (_format: InputFormat, mirrored: boolean): Promise<Tensor[]> => {
      runs.push(mirrored);
      const { data } = anchorFree(2)(mirrored ? mirroredObjects : objects).get('out') ?? { data: new Float32Array() };
      return [{ name: 'out', type: 'float32', dims: [1, 6, CELLS], data }];
    };
    const found = await recogniseModel(unrun, { picture }, run);
    expect(found.layout).toMatchObject({ head: 'anchor-free', outputs: ['out'] });
    expect(runs).toEqual([false, true]);
  });

  it('runs again in the format of another family', async () => {
    const orders: string[] = [];
    const { outputs: _, ...unrun } = signatureOf([]);
    const run = async (format: InputFormat, mirrored: boolean): Promise<Tensor[]> => {
      orders.push(format.channelOrder);
      const { data } = yolox(80, true)(mirrored ? mirroredObjects : objects).get('out') ?? { data: new Float32Array() };
      return [{ name: 'out', type: 'float32', dims: [1, CELLS, 85], data }];
    };
    expect((await recogniseModel(unrun, { picture }, run)).family.name).toBe('YOLOX');
    expect(orders).toEqual(['rgb', 'bgr', 'bgr']);
  });
});
