import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { modelSignature, pictureInput, readModelFile } from '../../lib/model/signature.js';
import { encodeOnnx } from '../../lib/onnx/writer.js';
import type { TensorInfo } from '../../lib/types.js';

const info = (name: string, type: TensorInfo['type'], dims: TensorInfo['dims']): TensorInfo => ({ name, type, dims });

describe('the picture input', () => {
  it('is found in either layout, with fixed and open sizes', () => {
    expect(pictureInput([info('images', 'float32', [1, 3, 480, 640])])).toEqual({
      name: 'images',
      layout: 'nchw',
      type: 'float32',
      width: 640,
      sideInputs: [],
      height: 480,
      batch: 1,
    });
    expect(pictureInput([info('image_u8', 'uint8', ['n', 416, 320, 3])])).toMatchObject({
      layout: 'nhwc',
      width: 320,
      height: 416,
      batch: 'dynamic',
    });
    expect(pictureInput([info('x', 'float16', [-1, 3, 'height', 'width'])])).toEqual({
      name: 'x',
      layout: 'nchw',
      type: 'float16',
      width: undefined,
      height: undefined,
      batch: 'dynamic',
      sideInputs: [],
    });
    expect(pictureInput([info('x', 'float32', ['a', 'b', 'c', 'd'])])).toMatchObject({ layout: 'nchw' });
    expect(pictureInput([info('x', 'float32', [1, 'h', 'w', 3])])).toMatchObject({ layout: 'nhwc' });
  });

  it('may have inputs beside it that tell of sizes', () => {
    const images = info('image', 'float32', [1, 3, 8, 8]);
    const { name, sideInputs } = pictureInput([
      info('im_shape', 'float32', [1, 2]),
      images,
      info('scale_factor', 'float32', ['n', 2]),
    ]);
    expect(name).toBe('image');
    expect(sideInputs).toEqual([
      { name: 'im_shape', type: 'float32', holds: 'height-width' },
      { name: 'scale_factor', type: 'float32', holds: 'ones' },
    ]);
    expect(pictureInput([images, info('orig_target_sizes', 'int64', ['n', 2])]).sideInputs).toEqual([
      { name: 'orig_target_sizes', type: 'int64', holds: 'width-height' },
    ]);
    for (const wrong of [info('scale_factor', 'float32', [1, 4]), info('scale_factor', 'bool', [1, 2])])
      expect(() => pictureInput([images, wrong])).toThrow(/more than a picture: scale_factor/);
  });

  it('is missed with the inputs named, where there is none or more is needed', () => {
    const size = info('threshold', 'int64', ['n', 2]);
    const cases: [inputs: TensorInfo[], message: RegExp][] = [
      [
        [info('images', 'float32', [1, 3, 8, 8]), size],
        /more than a picture: threshold\. .*images float32 \[1, 3, 8, 8\]; threshold int64 \[n, 2\]/,
      ],
      [[info('a', 'float32', [1, 3, 8, 8]), info('b', 'float32', [1, 3, 8, 8])], /more than a picture: b/],
      [[info('gray', 'float32', [1, 1, -1, 8])], /No input .*gray float32 \[1, 1, \?, 8\]/],
      [[info('flat', 'float32', [1, 3])], /No input/],
      [[info('wide', 'int64', [1, 3, 8, 8])], /No input/],
      [[], /none/],
    ];
    for (const [inputs, message] of cases)
      expect(() => pictureInput(inputs)).toThrow(
        expect.objectContaining({ code: 'ERR_YOLO_HEAD_UNKNOWN', message: expect.stringMatching(message) }),
      );
  });
});

describe('a model file', () => {
  const bytes = encodeOnnx({
    graph: { name: 'g', nodes: [], inputs: [info('images', 'float32', [1, 3, 32, 32])], outputs: [], initializers: [] },
    opsets: { '': 17 },
    metadata: { names: "{0: 'a', 1: 'b'}", task: 'detect' },
  });

  it('gives the same from disk and from memory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'signature-'));
    try {
      const path = join(folder, 'model.onnx');
      await writeFile(path, bytes);
      const file = await readModelFile({ name: 'model.onnx', path });
      expect(file).toEqual(await readModelFile({ name: 'bytes', bytes }));
      expect(modelSignature(file, pictureInput(file.inputs), 640, 480)).toEqual({
        inputs: [{ name: 'images', type: 'float32', dims: [1, 3, 32, 32] }],
        metadata: { names: "{0: 'a', 1: 'b'}", task: 'detect' },
        labels: ['a', 'b'],
        inputWidth: 640,
        inputHeight: 480,
        inputLayout: 'nchw',
        inputType: 'float32',
      });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('that is not there, or is nothing, is a clear error', async () => {
    await expect(readModelFile({ name: 'x', path: '/no/such/model.onnx' })).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_NOT_FOUND',
    });
    await expect(readModelFile({ name: 'x' })).rejects.toMatchObject({ code: 'ERR_YOLO_MODEL_PARSE' });
  });
});
