import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slowModel } from '../support/slow-model.js';

const library = new URL('../../dist/index.js', import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), 'yolo-exit-'));
const model = join(folder, 'slow.onnx');

beforeAll(() => writeFileSync(model, slowModel()));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

/** Runs a script whose first lines make a detector and a `run()` of many calls at once. */
function child(script: string, options: { create?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Ended> {
  const create = options.create ?? 'const detector = await Detector.create(options);';
  const code = `
    import { setTimeout as after } from 'node:timers/promises';
    import { Detector } from ${JSON.stringify(library)};
    const options = { model: ${JSON.stringify(model)}, device: 'cpu', lanes: 2, threads: 1, postprocessor: { name: 'none', decode: () => 1 } };
    const picture = { data: new Uint8Array(64 * 64 * 3), width: 64, height: 64, channels: 3 };
    ${create}
    const run = () => { for (let i = 0; i < 200; i++) detector.detect(picture).catch(() => {}); };
    ${script}`;
  const started = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  let stderr = '';
  started.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => {
    started.on('close', (code, signal) => resolve({ code, signal, stderr }));
  });
}

/** The same with 25 delays, two children at a time. */
async function codesOf(script: (delayMs: number) => string, create?: string): Promise<string[]> {
  const codes: string[] = [];
  const delays = Array.from({ length: 25 }, (_, index) => 3 * index);
  const worker = async (): Promise<void> => {
    for (let delay = delays.shift(); delay !== undefined; delay = delays.shift()) {
      const { code, signal } = await child(script(delay), { create });
      codes.push(signal ?? String(code));
    }
  };
  await Promise.all([worker(), worker()]);
  return codes;
}

const all = (code: string): string[] => Array(25).fill(code);

describe('a process that ends in the middle of a run, 25 times', () => {
  it('keeps the code of process.exit()', async () => {
    expect(await codesOf((ms) => `run(); await after(${ms}); process.exit(5);`)).toEqual(all('5'));
  });

  it('keeps the code of an uncaught error', async () => {
    expect(await codesOf((ms) => `run(); setTimeout(() => { throw new Error('uncaught'); }, ${ms});`)).toEqual(
      all('1'),
    );
  });

  it('keeps the code of a signal handler', async () => {
    const script = (ms: number) =>
      `process.on('SIGINT', () => process.exit(7)); run(); setTimeout(() => process.kill(process.pid, 'SIGINT'), ${ms});`;
    expect(await codesOf(script)).toEqual(all('7'));
  });

  it('keeps the code of process.exit() while a detector is being made', async () => {
    expect(
      await codesOf(
        (ms) => `await after(2 * ${ms}); process.exit(5);`,
        'const making = Detector.create(options); making.catch(() => {});',
      ),
    ).toEqual(all('5'));
  });
});

describe('a script', () => {
  it('that forgets close() ends by itself, with code 0 and nothing on stderr', async () => {
    expect(await child('await detector.detect(picture);')).toEqual({ code: 0, signal: null, stderr: '' });
  });

  it('that awaits nothing still gets its result before it ends', async () => {
    const { code } = await child('detector.detect(picture).then(() => { process.exitCode = 3; });');
    expect(code).toBe(3);
  });

  it('with 20 detectors draws no warning', async () => {
    const script =
      'const more = await Promise.all(Array.from({ length: 19 }, () => Detector.create(options))); await Promise.all(more.map((one) => one.close()));';
    const create = 'options.lanes = 1; const detector = await Detector.create(options);';
    expect(await child(script, { create })).toEqual({ code: 0, signal: null, stderr: '' });
  });

  it('leaves nothing of ONNX Runtime in the temporary folder', async () => {
    const own = mkdtempSync(join(folder, 'tmp-'));
    const { code } = await child('await detector.detect(picture); await detector.close();', { env: { TMPDIR: own } });
    expect(code).toBe(0);
    expect(readdirSync(own)).toEqual([]);
  });

  it('may use a detector in a worker thread of its own, which ends when it likes', async () => {
    const script = `
      const { Worker } = await import('node:worker_threads');
      const code = ${JSON.stringify(`
        import { workerData } from 'node:worker_threads';
        import(workerData.library).then(async ({ Detector }) => {
          const detector = await Detector.create({ model: workerData.model, postprocessor: { name: 'none', decode: () => 1 } });
          const picture = { data: new Uint8Array(64 * 64 * 3), width: 64, height: 64, channels: 3 };
          await detector.detect(picture);
          for (let i = 0; i < 20; i++) detector.detect(picture).catch(() => {});
          setTimeout(() => process.exit(9), workerData.delay);
        });`)};
      for (const delay of [0, 7, 15, 40]) {
        const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(code)), { workerData: { library: ${JSON.stringify(library)}, model: options.model, delay } });
        const ended = await new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject));
        if (ended !== 9) process.exit(20 + ended);
      }`;
    expect(await child(script, { create: 'const detector = undefined;' })).toEqual({
      code: 0,
      signal: null,
      stderr: '',
    });
  });
});

it('runs these children against the built library', () => {
  expect(fileURLToPath(library)).toMatch(/dist[\\/]index\.js$/);
});
