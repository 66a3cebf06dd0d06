import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PictureSource } from '../../lib/runtime/backend.js';
import { createOnnxRuntimeBackend, type OnnxRuntimeBackend } from '../../lib/runtime/onnxruntime.js';
import { rawPlan } from '../support/raw-plan.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-lane-'));
const workerFile = join(folder, 'worker.mjs');

const deeds = { FINE: 0, DIE_IN_PACK: 1, DIE_IN_RUN: 2, THROW_IN_RUN: 3, DIE_AFTER: 4, SLOW: 5 };

/**
 * A worker that speaks a lane's words without ONNX Runtime, and does what the first pixel of a picture says. Its model's bytes
 * are counters for all workers of a backend: of those that were started, and of the one that may not start.
 */
const WORKER = `
  import { parentPort, workerData } from 'node:worker_threads';
  const { flags, model } = workerData;
  const counters = new Uint8Array(model.bytes);
  const number = Atomics.add(counters, 0, 1) + 1;
  Atomics.store(flags, 1, 0);
  if (number === counters[1]) process.exit(4);
  let letterboxes = [];
  parentPort.on('message', async (message) => {
    if (message.kind === 'close') return parentPort.close();
    const { job, slot, count, pixels, letterbox } = message;
    const [deed] = new Uint8Array(pixels);
    if (deed === ${deeds.DIE_IN_PACK}) process.exit(3);
    if (slot === 0) letterboxes = [];
    letterboxes.push(letterbox);
    parentPort.postMessage({ kind: 'packed', job, letterboxMs: 0 });
    if (slot < count - 1) return;
    if (deed === ${deeds.DIE_IN_RUN}) return setTimeout(() => process.exit(3), 10);
    if (deed === ${deeds.THROW_IN_RUN}) return setTimeout(() => { throw new RangeError('a bug in a lane'); }, 10);
    if (deed === ${deeds.SLOW}) await new Promise((resolve) => setTimeout(resolve, 200));
    const results = letterboxes.map((letterbox) => ({
      xyxy: new Float32Array(4), confidence: new Float32Array(1), classId: Int32Array.of(number), letterbox, postprocessMs: 0,
    }));
    parentPort.postMessage({ kind: 'done', job, results, inferenceMs: 1 });
    if (deed === ${deeds.DIE_AFTER}) process.exit(3);
  });
  parentPort.postMessage({ kind: 'ready', inputs: [], outputs: [] });
`;
beforeAll(() => writeFileSync(workerFile, WORKER));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const plan = rawPlan(8);

function picture(deed: keyof typeof deeds): PictureSource {
  const data = new Uint8Array(3 * 8 * 8).fill(deeds[deed]);
  return { name: `${deed}.jpg`, decode: async () => ({ data, width: 8, height: 8 }) };
}

const isExitGuarded = (): boolean => process.listeners('exit').some(({ name }) => name === 'waitForLanes');

async function withBackend(
  body: (backend: OnnxRuntimeBackend) => Promise<void>,
  { lanes = 1, mayNotStart = 0 } = {},
): Promise<void> {
  const model = { bytes: Uint8Array.of(0, mayNotStart) };
  const backend = await createOnnxRuntimeBackend({ model, lanes, threads: 1, workerFile });
  expect(isExitGuarded()).toBe(true);
  try {
    await body(backend);
  } finally {
    await backend.close();
  }
}

/** The number of the worker that served a picture. */
async function servedBy(backend: OnnxRuntimeBackend, deed: keyof typeof deeds = 'FINE'): Promise<number> {
  const [result] = await backend.infer([picture(deed)], plan);
  return result!.classId[0]!;
}

describe('a worker that dies', () => {
  it.each(['DIE_IN_PACK', 'DIE_IN_RUN'] as const)(
    'twice with one picture (%s) names it, and the next is served',
    (deed) =>
      withBackend(async (backend) => {
        expect(await servedBy(backend)).toBe(1);
        const [bad, good] = await Promise.allSettled([servedBy(backend, deed), servedBy(backend)]);
        expect(bad).toMatchObject({
          status: 'rejected',
          reason: {
            code: 'ERR_YOLO_LANE_FAILED',
            message: expect.stringMatching(new RegExp(`${deed}\\.jpg.*code 3`)),
            detail: { pictures: [`${deed}.jpg`] },
          },
        });
        // The picture goes behind the other one for its second try.
        expect(good).toEqual({ status: 'fulfilled', value: 2 });
        expect(await servedBy(backend)).toBe(3);
        expect(backend.stats()).toMatchObject({ lanesReplaced: 2, queued: 0, decoded: 0 });
      }),
  );

  it('of an uncaught error passes the error on', () =>
    withBackend(async (backend) => {
      await expect(servedBy(backend, 'THROW_IN_RUN')).rejects.toMatchObject({
        code: 'ERR_YOLO_LANE_FAILED',
        message: expect.stringContaining('a bug in a lane'),
        cause: { cause: { name: 'RangeError', message: 'a bug in a lane' } },
      });
      expect(await servedBy(backend)).toBe(3);
    }));

  it('after a result, while nobody looks, is replaced for the next picture', () =>
    withBackend(async (backend) => {
      expect(await servedBy(backend, 'DIE_AFTER')).toBe(1);
      // At once, when nobody has noticed it yet, and later, when it is known.
      expect(await servedBy(backend, 'DIE_AFTER')).toBe(2);
      await delay(50);
      expect(backend.lanes[0]!.alive).toBe(false);
      expect(await servedBy(backend)).toBe(3);
    }));

  it('takes no other lane with it', () =>
    withBackend(
      async (backend) => {
        const calls = (['SLOW', 'DIE_IN_RUN', 'SLOW', 'FINE', 'SLOW'] as const).map((deed) => servedBy(backend, deed));
        const outcomes = await Promise.allSettled(calls);
        expect(outcomes.map(({ status }) => status)).toEqual([
          'fulfilled',
          'rejected',
          'fulfilled',
          'fulfilled',
          'fulfilled',
        ]);
        expect(backend.stats()).toMatchObject({ lanesReplaced: 1, completed: 4, queued: 0, decoded: 0 });
      },
      { lanes: 2 },
    ));

  it('and cannot be started again once is given one more try with the next picture', () =>
    withBackend(
      async (backend) => {
        // The first worker dies with it, the second does not start.
        await expect(servedBy(backend, 'DIE_IN_RUN')).rejects.toMatchObject({ code: 'ERR_YOLO_LANE_FAILED' });
        expect(await servedBy(backend)).toBe(3);
        expect(backend.stats()).toMatchObject({ lanesReplaced: 1 });
      },
      { mayNotStart: 2 },
    ));

  it('while it starts leaves nothing of the other lanes running', async () => {
    const bytes = Uint8Array.of(0, 2);
    await expect(
      createOnnxRuntimeBackend({ model: { bytes }, lanes: 3, threads: 1, workerFile }),
    ).rejects.toMatchObject({ code: 'ERR_YOLO_LANE_FAILED', message: expect.stringContaining('code 4') });
    expect(isExitGuarded()).toBe(false);
  });

  it('by a kill from outside in the middle of a run costs nobody a result', () =>
    withBackend(
      async (backend) => {
        const before = await servedBy(backend);
        // Two are in the model, one is decoded, and the others wait.
        const deedsOfCalls = ['SLOW', 'SLOW', 'FINE', 'SLOW', 'FINE', 'FINE'] as const;
        const calls = deedsOfCalls.map((deed) => servedBy(backend, deed));
        await delay(60);
        await backend.lanes[0]!.kill();
        // Of the two workers that began, and the one in place of the one that was killed.
        for (const worker of [before, ...(await Promise.all(calls))]) expect([1, 2, 3]).toContain(worker);
        expect(backend.stats()).toMatchObject({ lanesReplaced: 1, completed: 7, queued: 0, decoded: 0 });
      },
      { lanes: 2 },
    ));

  it('by a kill from outside, twice with one picture, rejects that one by its name and keeps what was done', () =>
    withBackend(async (backend) => {
      const done = servedBy(backend);
      const bad = servedBy(backend, 'SLOW');
      const behind = servedBy(backend);
      expect(await done).toBe(1);
      await delay(50);
      await backend.lanes[0]!.kill();
      expect(await behind).toBe(2);
      await delay(50);
      await backend.lanes[0]!.kill();
      await expect(bad).rejects.toMatchObject({
        code: 'ERR_YOLO_LANE_FAILED',
        detail: { pictures: ['SLOW.jpg'] },
      });
      expect(await servedBy(backend)).toBe(3);
    }));

  it('does not keep close() waiting, at whatever moment', async () => {
    for (const deed of ['DIE_IN_PACK', 'DIE_IN_RUN', 'DIE_AFTER'] as const) {
      await withBackend(
        async (backend) => {
          const calls = [servedBy(backend, deed), servedBy(backend, deed), servedBy(backend)];
          const settled = Promise.allSettled(calls);
          await backend.close();
          const [, , last] = await settled;
          expect(last!.status).toBe('fulfilled');
        },
        { lanes: 2 },
      );
    }
    expect(isExitGuarded()).toBe(false);
  });
});

describe('an abort', () => {
  it('in the middle of a run rejects at once, and close() waits for the run', () =>
    withBackend(async (backend) => {
      const began = performance.now();
      const stop = new AbortController();
      const reason = new Error('enough');
      setTimeout(() => stop.abort(reason), 30);
      await expect(backend.infer([picture('SLOW')], plan, stop.signal)).rejects.toBe(reason);
      expect(performance.now() - began).toBeLessThan(150);
      await backend.close();
      expect(performance.now() - began).toBeGreaterThan(190);
    }));
});
