import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resolveModel } from '../../lib/model/source.js';

describe('resolveModel', () => {
  let folder: string;
  let path: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'source test-'));
    path = join(folder, 'ein Modell.onnx');
    await writeFile(path, 'model');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('keeps a path as an absolute path', async () => {
    const expected = { name: 'ein Modell.onnx', path, isDefault: false };
    expect(await resolveModel(path)).toEqual(expected);
    expect(await resolveModel(relative(process.cwd(), path))).toEqual(expected);
  });

  it('takes a file: URL, as an object and as text', async () => {
    const url = pathToFileURL(path);
    expect((await resolveModel(url)).path).toBe(path);
    expect((await resolveModel(url.href)).path).toBe(path);
  });

  it('hands on bytes without copying them, of an ArrayBuffer and of a view into a larger one', async () => {
    const buffer = new ArrayBuffer(8);
    const view = new Uint8Array(buffer, 2, 3);
    expect((await resolveModel(view)).bytes).toBe(view);
    const whole = await resolveModel(buffer);
    expect(whole).toMatchObject({ name: 'model of 8 bytes', isDefault: false });
    expect(whole.bytes!.buffer).toBe(buffer);
  });

  it('is the default model where none is given', async () => {
    const model = await resolveModel(undefined, { cacheFolder: join(folder, 'cache') });
    expect(model).toMatchObject({ name: 'centernet-mobilenetv3-512', isDefault: true });
    expect(model.path!.startsWith(join(folder, 'cache'))).toBe(true);
  });

  it('names the absolute path where there is no such file', async () => {
    await expect(resolveModel('no/such.onnx')).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_NOT_FOUND',
      message: expect.stringContaining(resolve('no/such.onnx')),
      detail: { path: resolve('no/such.onnx'), code: 'ENOENT' },
    });
    await expect(resolveModel(join(path, 'below.onnx'))).rejects.toMatchObject({ code: 'ERR_YOLO_MODEL_NOT_FOUND' });
  });

  it('refuses a folder', async () => {
    await expect(resolveModel(folder)).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringContaining(`${folder} is a folder`),
    });
  });

  it('refuses an empty file and empty bytes', async () => {
    const empty = join(folder, 'empty.onnx');
    await writeFile(empty, '');
    await expect(resolveModel(empty)).rejects.toMatchObject({ code: 'ERR_YOLO_MODEL_PARSE' });
    await expect(resolveModel(new Uint8Array())).rejects.toMatchObject({ code: 'ERR_YOLO_MODEL_PARSE' });
  });

  it.each(['https://example.com/yolo.onnx', new URL('http://example.com/yolo.onnx'), new URL('data:,x')])(
    'refuses %s with the remedy',
    async (url) => {
      await expect(resolveModel(url)).rejects.toMatchObject({
        code: 'ERR_YOLO_INVALID_ARGUMENT',
        message: expect.stringMatching(/received (https?|data):.*save the file and pass its path/),
      });
    },
  );

  it('refuses a file: URL of another machine', async () => {
    await expect(resolveModel('file://elsewhere/yolo.onnx')).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
    });
  });

  it('rejects with the reason of a signal that was given up', async () => {
    const reason = new Error('enough');
    await expect(resolveModel(path, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
