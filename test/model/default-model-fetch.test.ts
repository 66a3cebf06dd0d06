import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { DEFAULT_MODEL_SHA256, resolveDefaultModel } from '../../lib/model/default-model.js';
import { sha256Of } from '../../lib/model/default-model-cache.js';
import { fetchGraphModel } from '../../lib/model/default-model-fetch.js';
import { installedGraphModel, MODELS } from './installed-graph-model.js';

const run = promisify(execFile);

/** npm is stood in for by a shell script that comes first on the PATH. */
describe.skipIf(process.platform === 'win32')('fetchGraphModel', () => {
  let folder: string;
  let tarball: string;
  let integrity: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fetch-test-'));
    const source = join(folder, 'package');
    await mkdir(join(source, 'models'), { recursive: true });
    await writeFile(join(source, 'package.json'), JSON.stringify({ name: '@vladmandic/human', version: '3.3.6' }));
    for (const name of ['centernet.json', 'centernet.bin', 'README.md']) {
      await copyFile(join(MODELS, name), join(source, 'models', name));
    }
    await run('npm', ['pack', '--silent'], { cwd: source });
    tarball = join(source, 'vladmandic-human-3.3.6.tgz');
    integrity = `sha512-${createHash('sha512')
      .update(await readFile(tarball))
      .digest('base64')}`;
    await mkdir(join(folder, 'bin'));
    await mkdir(join(folder, 'tmp'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  beforeEach(() => {
    vi.stubEnv('PATH', `${join(folder, 'bin')}${delimiter}${process.env.PATH}`);
    vi.stubEnv('TMPDIR', join(folder, 'tmp'));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    expect(await readdir(join(folder, 'tmp')), 'left behind').toEqual([]);
  });

  async function fakeNpm(script: string): Promise<void> {
    const path = join(folder, 'bin/npm');
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
  }

  const serve = () => fakeNpm(`cp '${tarball}' "$npm_config_pack_destination/"`);

  it('asks npm for the pinned version, verifies it, and gives the two files', async () => {
    await fakeNpm(`echo "$@" > '${folder}/arguments'; cp '${tarball}' "$npm_config_pack_destination/"`);
    const progress: { phase: string; message: string }[] = [];
    const files = await fetchGraphModel({ integrity, onProgress: (step) => progress.push(step) });
    const installed = await installedGraphModel();
    expect(Buffer.compare(files.topology, installed.topology)).toBe(0);
    expect(Buffer.compare(files.weights, installed.weights)).toBe(0);
    expect(await readFile(join(folder, 'arguments'), 'utf8')).toMatch(/^pack @vladmandic\/human@3\.3\.6 /);
    expect(progress.map(({ phase }) => phase)).toEqual(['download', 'verify']);
    expect(progress[0]!.message).toMatch(/MIT according to @vladmandic\/human, while none was found/);
  });

  it('leaves the model in the cache when it is fetched by permission', async () => {
    await serve();
    const options = { cacheFolder: join(folder, 'cache'), searchFrom: [join(folder, 'index.js')], allowDownload: true };
    await expect(resolveDefaultModel(options)).rejects.toThrow('is not the pinned one');
    const model = await resolveDefaultModel({ ...options, integrity });
    expect(sha256Of(await readFile((model as { path: string }).path))).toBe(DEFAULT_MODEL_SHA256);
  });

  it('uses nothing of a package that is not the pinned one, and names both digests', async () => {
    await serve();
    await expect(fetchGraphModel()).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_NOT_FOUND',
      phase: 'download',
      detail: { received: integrity, expected: expect.stringMatching(/^sha512-Nr5mPfq1/) },
    });
  });

  it("gives npm's own last lines where npm fails", async () => {
    await fakeNpm(
      'for i in $(seq 20); do echo "npm error line $i" >&2; done; echo "npm error A complete log of this run can be found in: x" >&2; exit 7',
    );
    await expect(fetchGraphModel({ integrity })).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_NOT_FOUND',
      message: expect.stringMatching(
        /npm pack ended with code 7:\nnpm error line 6\n(.|\n)*line 20\nTry again, or install/,
      ),
      detail: { code: 7, npm: expect.not.stringContaining('complete log') },
    });
  });

  it('says so where there is no npm', async () => {
    vi.stubEnv('PATH', join(folder, 'tmp'));
    await expect(fetchGraphModel({ integrity })).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_NOT_FOUND',
      message: expect.stringContaining('npm could not be started'),
    });
  });

  it('says so where npm ends well but wrote nothing, or a package without the model', async () => {
    await fakeNpm('exit 0');
    await expect(fetchGraphModel({ integrity })).rejects.toThrow('wrote no package');
    const other = join(folder, 'other');
    await mkdir(other);
    await writeFile(join(other, 'package.json'), JSON.stringify({ name: 'other', version: '1.0.0' }));
    vi.unstubAllEnvs();
    await run('npm', ['pack', '--silent'], { cwd: other });
    vi.stubEnv('PATH', `${join(folder, 'bin')}${delimiter}${process.env.PATH}`);
    vi.stubEnv('TMPDIR', join(folder, 'tmp'));
    const packed = join(other, 'other-1.0.0.tgz');
    await fakeNpm(`cp '${packed}' "$npm_config_pack_destination/"`);
    const digest = createHash('sha512')
      .update(await readFile(packed))
      .digest('base64');
    await expect(fetchGraphModel({ integrity: `sha512-${digest}` })).rejects.toThrow('holds no models/centernet.json');
  });

  it('stops npm after the time allowed', async () => {
    await fakeNpm(`echo $$ > '${folder}/pid'; echo "still trying" >&2; exec sleep 30`);
    const began = performance.now();
    await expect(fetchGraphModel({ integrity, timeoutMs: 300 })).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_NOT_FOUND',
      message: expect.stringContaining('did not end within 0.3 s'),
      detail: { npm: 'still trying' },
    });
    expect(performance.now() - began).toBeLessThan(5000);
    await expectGone(join(folder, 'pid'));
  });

  it('stops npm on abort and rejects with the reason', async () => {
    await fakeNpm(`echo $$ > '${folder}/pid'; exec sleep 30`);
    const controller = new AbortController();
    const reason = new Error('enough');
    const fetched = fetchGraphModel({ integrity, signal: controller.signal });
    setTimeout(() => controller.abort(reason), 300);
    await expect(fetched).rejects.toBe(reason);
    await expectGone(join(folder, 'pid'));
  });

  it('is ERR_YOLO_CACHE where there is no temporary folder', async () => {
    vi.stubEnv('TMPDIR', join(folder, 'absent'));
    await expect(fetchGraphModel({ integrity })).rejects.toMatchObject({
      code: 'ERR_YOLO_CACHE',
      message: expect.stringContaining('set TMPDIR'),
    });
  });
});

async function expectGone(pidFile: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8'));
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 3000 });
}
