import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Candidates } from '../../lib/core/candidates.js';
import { float32ToFloat16Array } from '../../lib/core/half.js';
import type { HeadLayout } from '../../lib/core/heads/head.js';
import { createLetterbox } from '../../lib/core/letterbox.js';
import { headOutputs, postprocess, type Suppression } from '../../lib/core/postprocess.js';
import type { Tensor } from '../../lib/types.js';
import { CELLS, layoutOf, outputOf } from './synthetic.js';

const unscaled = createLetterbox(32, 32, 32, 32);
const suppression: Suppression = {
  confidenceThreshold: 0.25,
  iouThreshold: 0.5,
  classAgnostic: false,
  maxDetections: 300,
};
const endToEnd = (classes = 80): HeadLayout => layoutOf('end-to-end', classes);

function detect(rows: number[][], more: Partial<Suppression> = {}, letterbox = unscaled, scratch?: Candidates) {
  const { xyxy, confidence, classId } = postprocess(
    outputOf([rows.length, 6], rows.flat()),
    endToEnd(),
    { ...suppression, ...more },
    letterbox,
    scratch,
  );
  return Array.from(confidence, (value, i) => [
    ...xyxy.subarray(4 * i, 4 * i + 4),
    Number(value.toFixed(3)),
    classId[i],
  ]);
}

describe('the outputs of one picture', () => {
  const tensor = (name: string, type: Tensor['type'], dims: number[], data: Tensor['data']) =>
    ({ name, type, dims, data }) as Tensor;

  it('are views of a float32 batch, without its first dimension', () => {
    const data = Float32Array.from({ length: 12 }, (_, i) => i);
    const output = headOutputs([tensor('out', 'float32', [2, 2, 3], data)], 1).get('out');
    expect(output).toMatchObject({ dims: [2, 3], type: 'float32', data: Float32Array.of(6, 7, 8, 9, 10, 11) });
    expect(output?.data.buffer).toBe(data.buffer);
  });

  it('are float32 whatever the model gives', () => {
    const values = [0, 1, 2.5, -4];
    const whole = [0, 1, 2, 3];
    const tensors = [
      tensor('f16', 'float16', [1, 4], float32ToFloat16Array(Float32Array.from(values))),
      tensor('f64', 'float64', [1, 4], Float64Array.from(values)),
      tensor('i64', 'int64', [1, 4], BigInt64Array.from(whole.map(BigInt))),
      tensor('i32', 'int32', [1, 4], Int32Array.from(whole)),
      tensor('u8', 'uint8', [1, 4], Uint8Array.from(whole)),
    ];
    const outputs = headOutputs(tensors, 0);
    for (const name of ['f16', 'f64']) expect(outputs.get(name)?.data).toEqual(Float32Array.from(values));
    for (const name of ['i64', 'i32', 'u8']) expect(outputs.get(name)?.data).toEqual(Float32Array.from(whole));
  });

  it('are those asked for, and only those that have that picture', () => {
    const tensors = [
      tensor('a', 'float32', [2, 1], Float32Array.of(1, 2)),
      tensor('b', 'float32', [1, 1], Float32Array.of(3)),
      tensor('none', 'float32', [0, 7], new Float32Array(0)),
      tensor('scalar', 'float32', [], Float32Array.of(3)),
    ];
    expect([...headOutputs(tensors, 0).keys()]).toEqual(['a', 'b']);
    expect([...headOutputs(tensors, 1).keys()]).toEqual(['a']);
    expect([...headOutputs(tensors, 0, ['b']).keys()]).toEqual(['b']);
  });
});

describe('postprocessing', () => {
  it('leaves the wanted classes before suppression, so that an unwanted box suppresses nothing', () => {
    const rows = [
      [0, 0, 10, 10, 0.9, 3],
      [0, 0, 10, 10, 0.8, 5],
      [20, 20, 30, 30, 0.7, 4],
    ];
    expect(detect(rows, { classes: [4, 5], classAgnostic: true })).toEqual([
      [0, 0, 10, 10, 0.8, 5],
      [20, 20, 30, 30, 0.7, 4],
    ]);
    expect(detect(rows, { classAgnostic: true }).map((row) => row[5])).toEqual([3, 4]);
    expect(detect(rows).map((row) => row[5])).toEqual([3, 5, 4]);
    expect(detect(rows, { classes: [] })).toEqual([]);
  });

  it('holds classes to thresholds of their own before suppression, above or below the general one', () => {
    const rows = [
      [0, 0, 10, 10, 0.9, 3],
      [0, 0, 10, 10, 0.8, 5],
      [20, 20, 30, 30, 0.2, 4],
      [20, 20, 30, 30, 0.15, 5],
      [40, 40, 50, 50, 0.1, 4],
    ];
    const classThresholds = new Map([
      [3, 0.9],
      [4, 0.1],
    ]);
    const kept = [
      [0, 0, 10, 10, 0.8, 5],
      [20, 20, 30, 30, 0.2, 4],
    ];
    for (const more of [{}, { classAgnostic: true }, { iouThreshold: null }, { maxDetections: 2 }])
      expect(detect(rows, { classThresholds, ...more })).toEqual(kept);
    expect(detect(rows, { classThresholds, maxDetections: 1 })).toEqual([kept[0]]);
    expect(detect(rows, { classThresholds, classes: [4] })).toEqual([kept[1]]);
    expect(detect(rows, { classThresholds: new Map() })).toEqual(detect(rows));
  });

  it('lets a box below its own threshold suppress none of another class, unless it is kept', () => {
    const rows = [
      [0, 0, 10, 10, 0.6, 1],
      [0, 0, 10, 10, 0.3, 2],
    ];
    const found = (classThresholds: Map<number, number>, classAgnostic: boolean) =>
      detect(rows, { classThresholds, classAgnostic }).map((row) => row[5]);
    expect(found(new Map([[1, 0.7]]), true)).toEqual([2]);
    expect(found(new Map([[2, 0.1]]), true)).toEqual([1]);
    expect(found(new Map([[2, 0.1]]), false)).toEqual([1, 2]);
  });

  it('suppresses nothing without an IoU threshold, but orders by confidence, equal ones as they came', () => {
    const rows = [
      [0, 0, 10, 10, 0.5, 1],
      [0, 0, 10, 10, 0.9, 1],
      [0, 0, 11, 11, 0.5, 1],
      [0, 0, 12, 12, 0.5, 1],
    ];
    expect(detect(rows, { iouThreshold: null }).map((row) => [row[2], row[4]])).toEqual([
      [10, 0.9],
      [10, 0.5],
      [11, 0.5],
      [12, 0.5],
    ]);
    expect(detect(rows, { iouThreshold: 0.5 })).toHaveLength(1);
  });

  it('returns the best so many, with and without suppression', () => {
    const rows = Array.from({ length: 10 }, (_, i) => [3 * i, 0, 3 * i + 2, 2, 0.3 + i / 20, 0]);
    for (const iouThreshold of [null, 0.5])
      expect(detect(rows, { iouThreshold, maxDetections: 3 }).map((row) => row[4])).toEqual([0.75, 0.7, 0.65]);
  });

  it('gives boxes in the pixels of the picture, cut to it; one left without area stays', () => {
    const letterbox = createLetterbox(64, 32, 32, 32);
    expect(
      detect(
        [
          [4, 10, 40, 20, 0.9, 0],
          [40, 8, 50, 9, 0.8, 0],
        ],
        {},
        letterbox,
      ),
    ).toEqual([
      [8, 4, 64, 24, 0.9, 0],
      [64, 0, 64, 2, 0.8, 0],
    ]);
  });

  it('keeps nothing of one picture in the next, and returns nothing that it will overwrite', () => {
    const scratch = new Candidates();
    const first = postprocess(outputOf([1, 6], [1, 2, 3, 4, 0.9, 1]), endToEnd(), suppression, unscaled, scratch);
    expect(detect([[5, 6, 7, 8, 0.6, 2]], {}, unscaled, scratch)).toEqual([[5, 6, 7, 8, 0.6, 2]]);
    expect([...first.xyxy]).toEqual([1, 2, 3, 4]);
  });

  it('decodes at the size that the picture was laid into', () => {
    const layout = layoutOf('anchor-free', 1);
    const letterbox = createLetterbox(64, 64, 64, 64);
    const cells = 64 + 16 + 4;
    const run = () => postprocess(outputOf([5, cells], new Float32Array(5 * cells)), layout, suppression, letterbox);
    expect(run).not.toThrow();
    expect(() =>
      postprocess(outputOf([5, CELLS], new Float32Array(5 * CELLS)), layout, suppression, letterbox),
    ).toThrow(/64x64/);
  });

  it('never makes a detection of a row with a value that is no number', () => {
    const value = fc.oneof(fc.float({ min: 0, max: 1, noNaN: true }), fc.constantFrom(Number.NaN, Infinity, -Infinity));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(value, value, value, value, fc.constant(0.9), fc.constant(1)), { minLength: 1 }),
        (rows) => {
          const good = rows.filter((row) => row.every(Number.isFinite));
          fc.pre(good.length > 0);
          expect(detect(rows, { iouThreshold: null })).toHaveLength(good.length);
        },
      ),
    );
  });

  it('says that the outputs are not numbers, of which output and precision, instead of finding nothing', () => {
    const layout = layoutOf('anchor-free', 1);
    const data = new Float32Array(5 * CELLS).fill(1);
    data.fill(Number.NaN, 4 * CELLS);
    const outputs = new Map([['out', { dims: [5, CELLS], data, type: 'float16' as const }]]);
    expect(() => postprocess(outputs, layout, suppression, unscaled)).toThrow(
      expect.objectContaining({
        code: 'ERR_YOLO_DEVICE',
        message: expect.stringMatching(/21 of 105 .*"out" \(float16\) are NaN/),
      }),
    );
    const unknownType = new Map([['out', { dims: [5, CELLS], data }]]);
    expect(() => postprocess(unknownType, layout, suppression, unscaled)).toThrow(/float32/);
  });

  it('takes a few such values for what they are when nothing is found', () => {
    const rows = Array.from({ length: 20 }, () => [0, 0, 1, 1, 0, 0]);
    rows[3][4] = Number.NaN;
    expect(detect(rows)).toEqual([]);
  });
});
