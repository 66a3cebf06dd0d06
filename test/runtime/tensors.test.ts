import { afterAll, describe, expect, it } from 'vitest';
import { float16BitsToFloat32 } from '../../lib/core/half.js';
import type { InputFormat } from '../../lib/core/input-format.js';
import { encodeOnnx, type OnnxNode } from '../../lib/onnx/writer.js';
import type { LanePlan, PictureSource } from '../../lib/runtime/backend.js';
import { createOnnxRuntimeBackend, type OnnxRuntimeBackend } from '../../lib/runtime/onnxruntime.js';
import type { Tensor } from '../../lib/types.js';
import { channelMeter, METER_SIDE } from '../support/channel-meter.js';

const SIDE = 8;

const opened: OnnxRuntimeBackend[] = [];
afterAll(() => Promise.all(opened.map((backend) => backend.close())));

async function open(bytes: Uint8Array): Promise<OnnxRuntimeBackend> {
  const backend = await createOnnxRuntimeBackend({ model: { bytes }, threads: 1 });
  opened.push(backend);
  return backend;
}

function rawPlan(side: number, format: Partial<InputFormat> = {}): LanePlan {
  return {
    inputWidth: side,
    inputHeight: side,
    format: {
      layout: 'nchw',
      type: 'float32',
      channelOrder: 'rgb',
      divisor: 255,
      letterbox: { placement: 'centre' },
      ...format,
    },
    head: null,
    suppression: { confidenceThreshold: 0.25, iouThreshold: 0.7, classAgnostic: false, maxDetections: 300 },
  };
}

function colour(rgb: readonly [number, number, number], side = SIDE): PictureSource {
  const data = new Uint8Array(3 * side * side).map((_, index) => rgb[index % 3]!);
  return { name: `rgb(${rgb})`, decode: async () => ({ data, width: side, height: side }) };
}

/** Means of a picture and of all pictures of its batch; `together` has no batch dimension where `keepsBatch` is false. */
function batchMeans({ keepsBatch = true } = {}): Uint8Array {
  const node = (op: string, inputs: string[], output: string, attributes: OnnxNode['attributes'] = {}): OnnxNode => ({
    op,
    inputs,
    outputs: [output],
    attributes,
  });
  const all = { axes: { ints: [1, 2, 3] }, keepdims: { int: 1 } };
  const over = { axes: { ints: [0] }, keepdims: { int: 1 } };
  return encodeOnnx({
    opsets: { '': 13 },
    graph: {
      name: 'batch-means',
      inputs: [{ name: 'images', type: 'float32', dims: ['batch', 3, SIDE, SIDE] }],
      outputs: [
        { name: 'own', type: 'float32', dims: ['batch', 1, 1, 1] },
        { name: 'together', type: 'float32', dims: [keepsBatch ? 'batch' : 1, 1, 1, 1] },
      ],
      nodes: [
        node('ReduceMean', ['images'], 'own', all),
        node('ReduceMean', ['own'], keepsBatch ? 'mean' : 'together', over),
        ...(keepsBatch ? [node('Sub', ['own', 'own'], 'nothing'), node('Add', ['nothing', 'mean'], 'together')] : []),
      ],
      initializers: [],
    },
  });
}

const value = ({ data }: Tensor): number => Number(data[0]);

describe('ONNX Runtime', () => {
  it.each([
    { type: 'float32', layout: 'nchw' },
    { type: 'float16', layout: 'nchw' },
    { type: 'uint8', layout: 'nhwc' },
    { type: 'uint8', layout: 'nchw' },
    { type: 'float16', layout: 'nhwc' },
  ] as const)('is fed with $type in $layout order', async ({ type, layout }) => {
    const backend = await open(channelMeter({ type, layout }));
    expect(backend.inputs[0]).toMatchObject({ name: 'images', type });
    const [result] = await backend.infer([colour([64, 255, 128], METER_SIDE)], rawPlan(METER_SIDE, { type, layout }));
    const { dims, data } = result!.outputs![0]!;
    expect(dims).toEqual([1, 3, 6]);
    // Rows of x1, y1, x2, y2, mean, channel, by falling mean.
    const means = [4, 10, 16].map((at) => Number(data[at]));
    expect([5, 11, 17].map((at) => data[at])).toEqual([1, 2, 0]);
    [255, 128, 64].forEach((level, row) => {
      expect(means[row]).toBeCloseTo(level / 255, type === 'float16' ? 3 : 4);
    });
  });

  it('gives float16 outputs as their bits', async () => {
    const type = 'float16';
    const backend = await open(
      encodeOnnx({
        opsets: { '': 13 },
        graph: {
          name: 'half-means',
          inputs: [{ name: 'images', type, dims: [1, 3, SIDE, SIDE] }],
          outputs: [{ name: 'means', type, dims: [1, 3] }],
          nodes: [
            {
              op: 'ReduceMean',
              inputs: ['images'],
              outputs: ['means'],
              attributes: { axes: { ints: [2, 3] }, keepdims: { int: 0 } },
            },
          ],
          initializers: [],
        },
      }),
    );
    const [result] = await backend.infer([colour([0, 255, 51])], rawPlan(SIDE, { type }));
    const [means] = result!.outputs!;
    expect(means).toMatchObject({ name: 'means', type: 'float16', dims: [1, 3] });
    expect(means!.data).toBeInstanceOf(Uint16Array);
    const numbers = Array.from(means!.data as Uint16Array, float16BitsToFloat32);
    [0, 1, 0.2].forEach((mean, channel) => {
      expect(numbers[channel]).toBeCloseTo(mean, 3);
    });
  });

  it('runs pictures of an open batch dimension in one run, and gives each its own part', async () => {
    const backend = await open(batchMeans());
    const levels = [0, 51, 255] as const;
    const pictures = levels.map((level) => colour([level, level, level]));
    const results = await backend.infer(pictures, rawPlan(SIDE));
    results.forEach(({ outputs, timings }, index) => {
      const [own, together] = outputs!;
      expect(own!.dims).toEqual([1, 1, 1, 1]);
      expect(own!.data).toHaveLength(1);
      expect(value(own!)).toBeCloseTo(levels[index]! / 255, 5);
      expect(value(together!)).toBeCloseTo((0 + 51 + 255) / 3 / 255, 5);
      expect(timings.inferenceMs).toBe(results[0]!.timings.inferenceMs);
    });
    // A smaller one after it sees nothing of the larger.
    const [alone] = await backend.infer([pictures[1]!], rawPlan(SIDE));
    expect(value(alone!.outputs![1]!)).toBeCloseTo(0.2, 5);
  });

  it('names the output that has no part for each picture of a batch', async () => {
    const backend = await open(batchMeans({ keepsBatch: false }));
    const pictures = [colour([1, 1, 1]), colour([2, 2, 2])];
    await expect(backend.infer(pictures, rawPlan(SIDE))).rejects.toMatchObject({
      code: 'ERR_YOLO_SHAPE_MISMATCH',
      message: expect.stringMatching(/"together".*maxBatch/),
    });
    expect(await backend.infer([pictures[0]!], rawPlan(SIDE))).toHaveLength(1);
  });

  it('runs two models of one process at the same time', async () => {
    const [meter, means] = await Promise.all([open(channelMeter()), open(batchMeans())]);
    const calls = Array.from({ length: 20 }, async (_, index) => {
      const level = 5 * index;
      const [[metered], [averaged]] = await Promise.all([
        meter.infer([colour([level, level, level], METER_SIDE)], rawPlan(METER_SIDE)),
        means.infer([colour([level, level, level])], rawPlan(SIDE)),
      ]);
      expect(Number(metered!.outputs![0]!.data[4])).toBeCloseTo(level / 255, 5);
      expect(value(averaged!.outputs![0]!)).toBeCloseTo(level / 255, 5);
    });
    await Promise.all(calls);
  });
});
