import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COCO_LABELS, labelsFromMetadata } from '../../lib/labels.js';
import { convertDefaultModel, DEFAULT_MODEL_SHA256 } from '../../lib/model/default-model.js';
import { sha256Of } from '../../lib/model/default-model-cache.js';
import { readOnnxMetadata } from '../../lib/onnx/metadata.js';
import { describeShared, shared } from '../support/shared.js';
import { installedGraphModel } from './installed-graph-model.js';

const SIZE = 512;

/** A photo letterboxed into the middle of 512 x 512, RGB 0..255, interleaved. Resampled by sharp, whose pixels are good enough here. */
async function modelInput(path: string): Promise<ort.Tensor> {
  const background = { r: 114, g: 114, b: 114 };
  const pixels = await sharp(path)
    .autoOrient()
    .removeAlpha()
    .toColourspace('srgb')
    .resize(SIZE, SIZE, { fit: 'contain', background })
    .raw()
    .toBuffer();
  return new ort.Tensor('float32', Float32Array.from(pixels), [1, SIZE, SIZE, 3]);
}

async function run(session: ort.InferenceSession, input: ort.Tensor): Promise<ort.Tensor> {
  const results = await session.run({ [session.inputNames[0]!]: input });
  return results[session.outputNames[0]!]!;
}

describe('convertDefaultModel', () => {
  let bytes: Uint8Array;
  let session: ort.InferenceSession;
  beforeAll(async () => {
    bytes = convertDefaultModel(await installedGraphModel());
    session = await ort.InferenceSession.create(bytes, { logSeverityLevel: 3 });
  });
  afterAll(() => session.release());

  it('gives the very bytes whose digest is pinned', () => {
    expect(sha256Of(bytes)).toBe(DEFAULT_MODEL_SHA256);
  });

  it('has one picture input and one output of fixed sizes', () => {
    expect(session.inputMetadata).toMatchObject([{ name: 'images', type: 'float32', shape: [1, 512, 512, 3] }]);
    expect(session.outputMetadata).toMatchObject([{ name: 'detections', type: 'float32', shape: [1, 100, 6] }]);
  });

  it('carries its class names and says where it comes from', async () => {
    const source = {
      size: bytes.length,
      read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
    };
    const { properties, producerName, opsets } = await readOnnxMetadata(source, 'default model');
    expect({ producerName, opsets }).toEqual({ producerName: 'migraphx-yolo', opsets: { '': 13 } });
    expect(labelsFromMetadata(properties)).toEqual(COCO_LABELS);
    expect(properties.license).toBe('MIT according to @vladmandic/human; none found where its weights come from');
  });

  it('finds the people and the aeroplane of the shipped photo', async () => {
    const { data } = await run(session, await modelInput(join(import.meta.dirname, '../../assets/aeroplane.jpg')));
    const values = data as Float32Array;
    const found = Array.from({ length: 100 }, (_, row) => Array.from(values.subarray(6 * row, 6 * row + 6))).filter(
      (row) => row[4]! > 0.4,
    );
    const labels = found.map((row) => COCO_LABELS[row[5]!]);
    expect(labels.filter((label) => label === 'airplane')).toHaveLength(1);
    expect(labels.filter((label) => label === 'person').length).toBeGreaterThanOrEqual(2);
    const [x1, y1, x2, y2] = found[labels.indexOf('airplane')]!;
    expect(x2! - x1!).toBeGreaterThan(SIZE / 2);
    expect(y2! - y1!).toBeGreaterThan(SIZE / 6);
    const scores = Array.from({ length: 100 }, (_, row) => values[6 * row + 4]!);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  describeShared('against a conversion by other means', () => {
    it('gives the same rows within 0.001 on every photo', async () => {
      const other = await ort.InferenceSession.create(shared('models/centernet_mobilenetv3_512_nhwc_end_to_end.onnx'), {
        logSeverityLevel: 3,
      });
      const photos = ['classic', 'coco/evaluation', 'coco/calibration'].flatMap((folder) =>
        readdirSync(shared(`photos/${folder}`))
          .filter((name) => /\.(jpe?g|png)$/i.test(name))
          .map((name) => shared(`photos/${folder}/${name}`)),
      );
      expect(photos.length).toBeGreaterThanOrEqual(138);
      let worst = 0;
      for (const photo of photos) {
        const input = await modelInput(photo);
        const ours = (await run(session, input)).data as Float32Array;
        const theirs = (await run(other, input)).data as Float32Array;
        for (let i = 0; i < 600; i++) worst = Math.max(worst, Math.abs(ours[i]! - theirs[i]!));
      }
      await other.release();
      expect(worst).toBeLessThanOrEqual(1e-3);
    }, 120_000);
  });
});

describe('a graph that is not understood', () => {
  const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

  async function changed(change: (node: { name: string; op: string; attr: Record<string, unknown> }) => void) {
    const { topology, weights } = await installedGraphModel();
    const file = JSON.parse(new TextDecoder().decode(topology));
    file.modelTopology.node.forEach(change);
    return () => convertDefaultModel({ topology: encode(file), weights });
  }

  it('is refused with the operator and the node that are not known', async () => {
    const convert = await changed((node) => {
      if (node.op === 'MaxPool') node.op = 'AvgPool';
    });
    expect(convert).toThrow(
      expect.objectContaining({
        code: 'ERR_YOLO_MODEL_PARSE',
        message: expect.stringMatching(
          /Operator AvgPool \(node "tower_0\/max_pooling2d\/MaxPool"\) is not known; known are /,
        ),
      }),
    );
  });

  it.each([
    ['MaxPool', 'padding', { s: btoa('EXPLICIT') }, 'padding EXPLICIT'],
    ['_FusedConv2D', 'fused_ops', { list: { s: [btoa('BiasAdd'), btoa('Elu')] } }, 'fused operators BiasAdd, Elu'],
    ['_FusedConv2D', 'data_format', { s: btoa('NCHW') }, 'data format NCHW'],
    ['ResizeBilinear', 'align_corners', { b: true }, 'aligned corners'],
    ['StridedSlice', 'shrink_axis_mask', { i: '1' }, 'a shrink_axis_mask'],
    ['Cast', 'DstT', { type: 'DT_HALF' }, 'a cast to DT_HALF'],
    ['Mean', 'keep_dims', { b: false }, 'other axes than the image'],
    ['MaxPool', 'strides', { list: { i: ['2', '1', '1', '1'] } }, 'strides of [2, 1, 1, 1]'],
  ])('is refused where a %s has another %s than is known', async (op, attribute, value, text) => {
    const convert = await changed((node) => {
      if (node.op === op) node.attr[attribute] = value;
    });
    expect(convert).toThrow(
      expect.objectContaining({ code: 'ERR_YOLO_MODEL_PARSE', message: expect.stringContaining(text) }),
    );
  });

  it('is refused where the weights file is short or long', async () => {
    const { topology, weights } = await installedGraphModel();
    expect(() => convertDefaultModel({ topology, weights: weights.subarray(0, 1000) })).toThrow(
      'lies beyond the 1000 bytes',
    );
    const longer = new Uint8Array(weights.length + 2);
    longer.set(weights);
    expect(() => convertDefaultModel({ topology, weights: longer })).toThrow(
      'The weights take 4030290 bytes but their file has 4030292',
    );
  });
});
