import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { Detector } from '../../lib/index.js';
import { encodeOnnx } from '../../lib/onnx/writer.js';
import type { PictureSource } from '../../lib/runtime/backend.js';
import { createOnnxRuntimeBackend, type OnnxRuntimeBackend } from '../../lib/runtime/onnxruntime.js';
import { rawPlan } from '../support/raw-plan.js';
import { slowModel } from '../support/slow-model.js';

const plan = rawPlan(64);

const opened: OnnxRuntimeBackend[] = [];
afterAll(() => Promise.all(opened.map((backend) => backend.close())));

async function open(
  options: Partial<Parameters<typeof createOnnxRuntimeBackend>[0]> = {},
): Promise<OnnxRuntimeBackend> {
  const backend = await createOnnxRuntimeBackend({ model: { bytes: slowModel(2) }, threads: 1, ...options });
  opened.push(backend);
  return backend;
}

const gray = (level: number): PictureSource => ({
  name: `gray ${level}`,
  decode: async () => ({ data: new Uint8Array(64 * 64 * 3).fill(level), width: 64, height: 64 }),
});

describe('ONNX Runtime in a worker', () => {
  it('gives the raw outputs in the order of the graph, though names that are numbers sort first in an object', async () => {
    const backend = await open();
    expect(backend.inputs).toEqual([{ name: 'images', type: 'float32', dims: [1, 3, 64, 64] }]);
    expect(backend.outputs.map(({ name }) => name)).toEqual(['20', '10']);
    const [result] = await backend.infer([gray(255)], plan);
    expect(result!.outputs!.map(({ name, type, dims }) => ({ name, type, dims }))).toEqual([
      { name: '20', type: 'float32', dims: [1, 64] },
      { name: '10', type: 'float32', dims: [1, 64] },
    ]);
    // A mean of 1 in the middle; zero padding takes from it at the border.
    expect(result!.outputs![1]!.data[0]).toBeCloseTo(1, 5);
    expect(result!.outputs![0]!.data[0]).toBeLessThan(1);
  });

  it('leaves the bytes of the model and of pictures to their owners', async () => {
    const bytes = slowModel(1);
    const copy = bytes.slice();
    const backend = await open({ model: { bytes } });
    expect(bytes).toEqual(copy);
    const data = new Uint8Array(64 * 64 * 3).fill(9);
    const fromSharp = await sharp({ create: { width: 64, height: 64, channels: 3, background: 'red' } })
      .raw()
      .toBuffer();
    const before = Buffer.from(fromSharp);
    for (const pixels of [data, fromSharp, data, fromSharp]) {
      await backend.infer([{ name: 'pixels', decode: async () => ({ data: pixels, width: 64, height: 64 }) }], plan);
    }
    expect(data).toEqual(new Uint8Array(64 * 64 * 3).fill(9));
    expect(fromSharp.equals(before)).toBe(true);
  });

  it('gives each of many pictures at once its own result, on several lanes', async () => {
    const backend = await open({ lanes: 2 });
    const levels = Array.from({ length: 40 }, (_, index) => 6 * index);
    const results = await Promise.all(levels.map((level) => backend.infer([gray(level)], plan)));
    for (const [index, [result]] of results.entries())
      expect(result!.outputs![1]!.data[0]).toBeCloseTo(levels[index]! / 255, 5);
    expect(backend.stats()).toMatchObject({ lanes: 2, queued: 0, decoded: 0, completed: 40 });
    expect(backend.stats().decodedHighWater).toBeLessThanOrEqual(3);
  });

  it('goes on with a new worker when one has died', async () => {
    const backend = await open();
    await backend.lanes[0]!.kill();
    const [result] = await backend.infer([gray(255)], plan);
    expect(result!.outputs![1]!.data[0]).toBeCloseTo(1, 5);
    expect(backend.stats().lanesReplaced).toBe(1);
  });

  it('closes once, after what was accepted, and refuses the rest', async () => {
    const backend = await open();
    const calls = [1, 2, 3].map((level) => backend.infer([gray(level)], plan));
    await Promise.all([backend.close(), backend.close()]);
    expect(await Promise.all(calls)).toHaveLength(3);
    await expect(backend.infer([gray(1)], plan)).rejects.toMatchObject({ code: 'ERR_YOLO_CLOSED' });
    await backend.close();
  });

  it('goes on after a run that failed', async () => {
    const backend = await open();
    await expect(backend.infer([gray(1)], { ...plan, inputWidth: 32 })).rejects.toMatchObject({
      code: 'ERR_YOLO_DEVICE',
      phase: 'run',
    });
    expect(await backend.infer([gray(1)], plan)).toHaveLength(1);
  });
});

describe('a backend that cannot start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'yolo-runtime-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('names the operator that ONNX Runtime does not have', async () => {
    const bytes = encodeOnnx({
      opsets: { '': 13, 'of.another': 1 },
      graph: {
        name: 'foreign',
        inputs: [{ name: 'images', type: 'float32', dims: [1, 3, 64, 64] }],
        outputs: [{ name: 'output', type: 'float32', dims: [1] }],
        nodes: [{ op: 'Sorcery', domain: 'of.another', inputs: ['images'], outputs: ['output'] }],
        initializers: [],
      },
    });
    await expect(createOnnxRuntimeBackend({ model: { bytes } })).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_PARSE',
      message: expect.stringContaining('Sorcery'),
    });
  });

  it('says that the worker file is missing, and which option names it', async () => {
    await expect(open({ workerFile: join(folder, 'none.mjs') })).rejects.toMatchObject({
      code: 'ERR_YOLO_BINDING_NOT_FOUND',
      message: expect.stringMatching(/none\.mjs.*workerFile/),
    });
  });

  it('reports a worker that ends without a word', async () => {
    const workerFile = join(folder, 'mute.mjs');
    writeFileSync(workerFile, 'process.exit(3);');
    await expect(open({ workerFile })).rejects.toMatchObject({
      code: 'ERR_YOLO_LANE_FAILED',
      message: expect.stringContaining('code 3'),
    });
  });

  it('says how to install ONNX Runtime where the package is absent', async () => {
    const workerFile = join(folder, 'alone.mjs');
    const { readFileSync } = await import('node:fs');
    // Away from node_modules, as in an installation that left the optional dependency out.
    writeFileSync(workerFile, readFileSync(new URL('../../dist/onnxruntime-worker.mjs', import.meta.url)));
    await expect(Detector.create({ model: slowModel(1), workerFile, head: 'yolox' })).rejects.toMatchObject({
      code: 'ERR_YOLO_BINDING_NOT_FOUND',
      message: expect.stringMatching(/npm i onnxruntime-node$/),
    });
  });
});
