import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openAsBlob,
  rmSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Detector, type ImageInput, type RawImage } from '../../lib/index.js';
import { createOnnxRuntimeBackend } from '../../lib/runtime/onnxruntime.js';
import { rawPlan } from '../support/raw-plan.js';
import { slowModel } from '../support/slow-model.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-faults-'));
const original = join(folder, 'original.png');
const slow = join(folder, 'slow.onnx');
beforeAll(async () => {
  await sharp({ create: { width: 64, height: 64, channels: 3, background: 'white' } }).toFile(original);
  writeFileSync(slow, slowModel());
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a worker that dies when the model file is gone says so, and the next works when the file is back', async () => {
  const plan = rawPlan(64);
  const picture = {
    name: 'picture',
    decode: async () => ({ data: new Uint8Array(64 * 64 * 3), width: 64, height: 64 }),
  };
  const path = join(folder, 'moving.onnx');
  copyFileSync(slow, path);
  const backend = await createOnnxRuntimeBackend({ model: { path }, threads: 1 });
  try {
    unlinkSync(path);
    expect(await backend.infer([picture], plan)).toHaveLength(1);
    await backend.lanes[0]!.kill();
    await expect(backend.infer([picture], plan)).rejects.toMatchObject({
      name: 'YoloError',
      message: expect.stringContaining('moving.onnx'),
    });
    copyFileSync(slow, path);
    expect(await backend.infer([picture], plan)).toHaveLength(1);
  } finally {
    await backend.close();
  }
});

describe('a picture that changes between the call and its turn', () => {
  const pixels: RawImage = { data: new Uint8Array(64 * 64 * 3).fill(255), width: 64, height: 64, channels: 3 };
  let detector: Detector<number>;
  beforeAll(async () => {
    const postprocessor = {
      name: 'brightest',
      decode: (outputs: Record<string, { data: ArrayLike<unknown> }>) => Number(outputs['10']!.data[0]),
    };
    detector = await Detector.create({ model: slow, threads: 1, postprocessor });
  });
  afterAll(() => detector.close());

  const brightness = async (call: Promise<number>) => Math.round((await call) * 255);
  const changes: [title: string, change: (path: string) => void, message: RegExp][] = [
    ['is deleted', (path) => unlinkSync(path), /no such file \(ENOENT\)/],
    ['is cut short', (path) => truncateSync(path, 60), /damaged, cut short/],
    ['is emptied', (path) => truncateSync(path, 0), /is empty/],
    ['becomes text', (path) => writeFileSync(path, '<html>moved</html>'), /is HTML/],
    [
      'becomes a folder',
      (path) => {
        unlinkSync(path);
        mkdirSync(path);
      },
      /it is a folder \(EISDIR\)/,
    ],
  ];

  it.each(changes)('and %s is an error of its own; the others are served', async (title, change, message) => {
    const path = join(folder, `${title}.png`);
    copyFileSync(original, path);
    // The first are in the model and decoded when the file goes.
    const before = [pixels, original, pixels].map((picture: ImageInput) => detector.detect(picture));
    const bad = detector.detect(path);
    const batch = detector.detectBatch([pixels, path, pixels]);
    const behind = detector.detect(original);
    change(path);
    const outcomes = await Promise.allSettled([...before, bad, batch, behind].map((call) => call as Promise<unknown>));
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected', 'fulfilled'],
    ]);
    await expect(bad).rejects.toMatchObject({
      code: 'ERR_YOLO_IMAGE_DECODE',
      message: expect.stringMatching(message),
    });
    await expect(bad).rejects.toThrow(path);
    await expect(batch).rejects.toMatchObject({ code: 'ERR_YOLO_IMAGE_DECODE', detail: { index: 1 } });
    expect(await Promise.all([...before, behind].map(brightness))).toEqual([255, 255, 255, 255]);
    expect(detector.stats()).toMatchObject({ queued: 0, decoded: 0, lanesReplaced: 0 });
  });

  it('and comes back in time is read as it then is', async () => {
    const path = join(folder, 'returns.png');
    const running = detector.detect(pixels);
    const call = detector.detect(path);
    await Promise.all([running, call.catch(() => {})]);
    await expect(call).rejects.toMatchObject({ code: 'ERR_YOLO_IMAGE_DECODE' });
    copyFileSync(original, path);
    expect(await brightness(detector.detect(path))).toBe(255);
  });

  it('as the file behind a Blob is an error too', async () => {
    const path = join(folder, 'blob.png');
    copyFileSync(original, path);
    const blob = await openAsBlob(path);
    const running = [pixels, pixels, pixels].map((picture) => detector.detect(picture));
    const call = detector.detect(blob);
    unlinkSync(path);
    await expect(call).rejects.toMatchObject({
      code: 'ERR_YOLO_IMAGE_DECODE',
      message: expect.stringMatching(/^Blob of/),
    });
    expect(await Promise.all(running)).toHaveLength(3);
  });
});
