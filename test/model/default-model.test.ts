import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'tsup';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_MODEL_SHA256, resolveDefaultModel } from '../../lib/model/default-model.js';
import { sha256Of } from '../../lib/model/default-model-cache.js';
import { MODELS } from './installed-graph-model.js';

const run = promisify(execFile);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'default-model-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function pathFrom(options: Parameters<typeof resolveDefaultModel>[0]): Promise<string> {
  const model = await resolveDefaultModel(options);
  if (!('path' in model)) throw new Error('Expected a path');
  return model.path;
}

/** A file below which Node's `require` finds no package. */
const NOWHERE = join(tmpdir(), 'nowhere', 'index.js');

/** Only the cache and these files are asked. */
const alone = (cache: string) => ({ cacheFolder: cache, searchFrom: [NOWHERE] });

describe('the default model', () => {
  it('is converted from the installed package, kept in the cache, and found there afterwards', async () => {
    const path = await pathFrom({ cacheFolder: join(folder, 'new') });
    expect(path.startsWith(join(folder, 'new', 'centernet'))).toBe(true);
    expect(sha256Of(await readFile(path))).toBe(DEFAULT_MODEL_SHA256);
    expect(await readdir(join(folder, 'new'))).toHaveLength(1);
    expect(await pathFrom(alone(join(folder, 'new')))).toBe(path);
  });

  it('says what it does while it converts, and nothing when the cache has it', async () => {
    const phases: string[] = [];
    const onProgress = ({ phase }: { phase: string }) => phases.push(phase);
    await pathFrom({ cacheFolder: folder, onProgress });
    expect(phases).toEqual(['convert', 'cache']);
    await pathFrom({ cacheFolder: folder, onProgress });
    expect(phases).toHaveLength(2);
  });

  it.each([
    ['changed in one byte', (bytes: Buffer) => bytes.fill(bytes[5000]! ^ 1, 5000, 5001)],
    ['cut off', (bytes: Buffer) => bytes.subarray(0, 100_000)],
    ['empty', (bytes: Buffer) => bytes.subarray(0, 0)],
  ])('is made again where the file in the cache is %s', async (_, damage) => {
    const path = await pathFrom({ cacheFolder: folder });
    await writeFile(path, damage(await readFile(path)));
    expect(await pathFrom({ cacheFolder: folder })).toBe(path);
    expect(sha256Of(await readFile(path))).toBe(DEFAULT_MODEL_SHA256);
  });

  it('comes from memory where the cache cannot be written', async () => {
    const file = join(folder, 'a file');
    await writeFile(file, '');
    const model = await resolveDefaultModel({ cacheFolder: join(file, 'below') });
    expect('bytes' in model && sha256Of(model.bytes)).toBe(DEFAULT_MODEL_SHA256);
  });

  it('comes from memory where its place in the cache is taken by a folder, and leaves no unfinished file', async () => {
    const path = await pathFrom({ cacheFolder: folder });
    await rm(path);
    await mkdir(join(path, 'full'), { recursive: true });
    expect(await resolveDefaultModel({ cacheFolder: folder })).toHaveProperty('bytes');
    expect(await readdir(folder)).toHaveLength(1);
  });

  it('is written whole by processes that start at the same time', async () => {
    const outDir = join(folder, 'built');
    await build({
      entry: { model: 'lib/model/default-model.ts' },
      outDir,
      format: ['esm'],
      target: 'node20',
      outExtension: () => ({ js: '.mjs' }),
      config: false,
      silent: true,
    });
    const cache = join(folder, 'cache');
    const script = `
      const { resolveDefaultModel } = await import(${JSON.stringify(join(outDir, 'model.mjs'))});
      console.log((await resolveDefaultModel({ cacheFolder: ${JSON.stringify(cache)} })).path);`;
    const start = () =>
      run(process.execPath, ['--input-type=module', '--eval', script], { cwd: join(MODELS, '../../../..') });
    const printed = await Promise.all([start(), start(), start()]);
    const paths = new Set(printed.map(({ stdout }) => stdout.trim()));
    expect(printed.map(({ stderr }) => stderr)).toEqual(['', '', '']);
    expect(paths.size).toBe(1);
    expect(await readdir(cache)).toHaveLength(1);
    expect(sha256Of(await readFile([...paths][0]!))).toBe(DEFAULT_MODEL_SHA256);
  });

  it('is found in a package that the current directory has, and not where its files are others', async () => {
    const root = join(folder, 'node_modules/@vladmandic/human');
    await mkdir(join(root, 'models'), { recursive: true });
    await mkdir(join(root, 'dist'), { recursive: true });
    await writeFile(join(root, 'package.json'), JSON.stringify({ exports: { node: './dist/human.node.js' } }));
    await writeFile(join(root, 'dist/human.node.js'), '');
    for (const name of ['centernet.json', 'centernet.bin']) {
      await writeFile(join(root, 'models', name), await readFile(join(MODELS, name)));
    }
    const options = { cacheFolder: join(folder, 'cache'), searchFrom: [NOWHERE, join(folder, 'package.json')] };
    await pathFrom(options);

    await rm(join(folder, 'cache'), { recursive: true });
    await writeFile(join(root, 'models/centernet.bin'), 'other');
    await expect(resolveDefaultModel(options)).rejects.toMatchObject({ code: 'ERR_YOLO_MODEL_NOT_FOUND' });
  });

  it('is never fetched without permission: the error says what is missing and what helps', async () => {
    await expect(resolveDefaultModel(alone(folder))).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_NOT_FOUND',
      phase: 'load',
      message: expect.stringMatching(
        /there is no copy at .*centernet.*npx migraphx-yolo detect.*allowDownload: true.*npm install @vladmandic\/human@3\.3\.6.*model: 'yours\.onnx'/,
      ),
      detail: { cacheState: 'absent' },
    });
  });

  it('says so where the copy in the cache is damaged and there is nothing to make it from', async () => {
    const path = await pathFrom({ cacheFolder: folder });
    await writeFile(path, 'damaged');
    await expect(resolveDefaultModel(alone(folder))).rejects.toThrow(`the copy at ${path} is damaged`);
  });

  it('rejects with the reason of a signal that was given up', async () => {
    const reason = new Error('enough');
    await expect(resolveDefaultModel({ cacheFolder: folder, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
