import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLetterbox } from '../../lib/core/letterbox.js';
import { YoloError } from '../../lib/errors.js';
import type { LanePlan, PictureSource } from '../../lib/runtime/backend.js';
import { type BatchResult, LaneDied } from '../../lib/runtime/lane.js';
import { type PictureLane, PictureQueue } from '../../lib/runtime/picture-queue.js';
import type { RgbImage } from '../../lib/types.js';

const plan = { inputWidth: 1, inputHeight: 1 } as LanePlan;

/** A picture whose width is its number: what comes out says what went in. */
const pixels = (number: number): RgbImage => ({ data: new Uint8Array(3), width: number, height: 1 });

function source(number: number, decode: () => Promise<RgbImage> = async () => pixels(number)): PictureSource {
  return { name: `picture ${number}`, decode };
}

/** Something that is waited for until the test lets it go. */
class Gate<T> {
  open!: (value: T) => void;
  fail!: (error: unknown) => void;
  readonly passed = new Promise<T>((resolve, reject) => {
    this.open = resolve;
    this.fail = reject;
  });
}

/** A lane that packs at once and runs until it is told. */
class FakeLane implements PictureLane {
  alive = true;
  readonly runs: number[][] = [];
  run = new Gate<void>();
  #numbers: number[] = [];

  async pack(image: RgbImage, slot: number): Promise<number> {
    if (!this.alive) throw new LaneDied('gone');
    if (slot === 0) this.#numbers = [];
    this.#numbers.push(image.width);
    return 1;
  }

  async result(): Promise<BatchResult> {
    const numbers = this.#numbers;
    this.runs.push(numbers);
    await this.run.passed;
    return { inferenceMs: 1, results: numbers.map(resultOf) };
  }

  drop(): void {}

  finish(): void {
    const { run } = this;
    this.run = new Gate();
    run.open();
  }

  die(): void {
    this.alive = false;
    this.run.passed.catch(() => {});
    this.run.fail(new LaneDied('killed'));
  }
}

const resultOf = (number: number) => ({
  xyxy: new Float32Array(4),
  confidence: new Float32Array(1),
  classId: new Int32Array([number]),
  letterbox: createLetterbox(number, 1, 1, 1),
  postprocessMs: 0,
});

function queueOf(count: number, maxQueue = Number.POSITIVE_INFINITY) {
  const lanes = Array.from({ length: count }, () => new FakeLane());
  const restarted: FakeLane[] = [];
  const queue = new PictureQueue<FakeLane>(
    lanes,
    async () => {
      const lane = new FakeLane();
      restarted.push(lane);
      return lane;
    },
    maxQueue,
  );
  return { lanes, restarted, queue };
}

/** Lets everything happen that can without a gate being opened. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn();
}

const numbersOf = (results: { classId: Int32Array }[]): number[] => results.map(({ classId }) => classId[0]!);

describe('the queue of pictures', () => {
  it('serves calls in their order and decodes at most one picture more than there are lanes', async () => {
    const { lanes, queue } = queueOf(1);
    const decoded: number[] = [];
    const calls = [1, 2, 3, 4, 5].map((number) =>
      queue.submit(
        [
          source(number, async () => {
            decoded.push(number);
            return pixels(number);
          }),
        ],
        plan,
      ),
    );
    await settle();
    // The first is in the lane, letterboxed; two more are decoded and wait for it.
    expect(decoded).toEqual([1, 2, 3]);
    expect(queue.stats()).toMatchObject({ queued: 2, decoded: 2, decodedHighWater: 2 });
    for (let i = 0; i < 5; i++) {
      lanes[0]!.finish();
      await settle();
    }
    expect((await Promise.all(calls)).map(numbersOf)).toEqual([[1], [2], [3], [4], [5]]);
    expect(lanes[0]!.runs).toEqual([[1], [2], [3], [4], [5]]);
    expect(queue.stats()).toMatchObject({ queued: 0, decoded: 0, decodedHighWater: 2, completed: 5 });
  });

  it('runs a batch as one, its pictures decoded one by one', async () => {
    const { lanes, queue } = queueOf(1);
    const call = queue.submit(
      [1, 2, 3, 4].map((number) => source(number)),
      plan,
    );
    await settle();
    expect(lanes[0]!.runs).toEqual([[1, 2, 3, 4]]);
    lanes[0]!.finish();
    expect(numbersOf(await call)).toEqual([1, 2, 3, 4]);
    expect(queue.stats().decodedHighWater).toBeLessThanOrEqual(2);
  });

  it('gives nothing for no pictures', async () => {
    expect(await queueOf(1).queue.submit([], plan)).toEqual([]);
  });

  it('rejects only the call whose picture cannot be decoded', async () => {
    const { lanes, queue } = queueOf(1);
    const broken = new YoloError('ERR_YOLO_IMAGE_DECODE', 'broken');
    const bad = queue.submit([source(1), source(2, () => Promise.reject(broken)), source(3)], plan);
    const good = queue.submit([source(4)], plan);
    await expect(bad).rejects.toBe(broken);
    await settle();
    lanes[0]!.finish();
    expect(numbersOf(await good)).toEqual([4]);
    expect(queue.stats()).toMatchObject({ queued: 0, decoded: 0 });
  });

  it('lets maxQueue pictures wait to be decoded, and refuses the next', async () => {
    const { lanes, queue } = queueOf(1, 2);
    const calls = [1, 2, 3].map((number) => queue.submit([source(number)], plan));
    await settle();
    // One runs and two are decoded: nobody waits yet.
    const waiting = [4, 5].map((number) => queue.submit([source(number)], plan));
    await expect(queue.submit([source(6)], plan)).rejects.toMatchObject({
      code: 'ERR_YOLO_QUEUE_FULL',
      detail: { queued: 2, maxQueue: 2, pictures: 1 },
    });
    for (let i = 0; i < 5; i++) {
      lanes[0]!.finish();
      await settle();
    }
    expect((await Promise.all([...calls, ...waiting])).flatMap(numbersOf)).toEqual([1, 2, 3, 4, 5]);
  });

  it('drops a call that waits when it is aborted, and its picture is never decoded', async () => {
    const { lanes, queue } = queueOf(1);
    const stop = new AbortController();
    let touched = false;
    const calls = [1, 2, 3].map((number) => queue.submit([source(number)], plan));
    const aborted = queue.submit(
      [
        source(4, async () => {
          touched = true;
          return pixels(4);
        }),
      ],
      plan,
      stop.signal,
    );
    await settle();
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    for (let i = 0; i < 3; i++) {
      lanes[0]!.finish();
      await settle();
    }
    await Promise.all(calls);
    expect(touched).toBe(false);
    expect(queue.stats()).toMatchObject({ queued: 0, decoded: 0 });
  });

  it('rejects at once when a run is aborted; its lane finishes it and goes on', async () => {
    const { lanes, queue } = queueOf(1);
    const stop = new AbortController();
    const aborted = queue.submit([source(1)], plan, stop.signal);
    const next = queue.submit([source(2)], plan);
    await settle();
    stop.abort();
    await expect(aborted).rejects.toBe(stop.signal.reason);
    await settle();
    expect(lanes[0]!.runs).toEqual([[1]]);
    lanes[0]!.finish();
    await settle();
    lanes[0]!.finish();
    expect(numbersOf(await next)).toEqual([2]);
  });

  it('rejects with the reason of a signal that was aborted before', async () => {
    const { queue } = queueOf(1);
    await expect(queue.submit([source(1)], plan, AbortSignal.abort('why'))).rejects.toBe('why');
  });

  it('replaces a lane that dies and tries its pictures once more, decoded anew', async () => {
    const { lanes, restarted, queue } = queueOf(1);
    let decodes = 0;
    const call = queue.submit(
      [
        source(1, async () => {
          decodes++;
          return pixels(1);
        }),
      ],
      plan,
    );
    await settle();
    lanes[0]!.die();
    await settle();
    restarted[0]!.finish();
    expect(numbersOf(await call)).toEqual([1]);
    expect(decodes).toBe(2);
    expect(queue.stats()).toMatchObject({ lanesReplaced: 1, decoded: 0, queued: 0 });
  });

  it('names the pictures with which two lanes died, and serves the next', async () => {
    const { lanes, restarted, queue } = queueOf(1);
    const call = queue.submit([source(1), source(2)], plan);
    await settle();
    lanes[0]!.die();
    await settle();
    restarted[0]!.die();
    await expect(call).rejects.toMatchObject({
      code: 'ERR_YOLO_LANE_FAILED',
      message: expect.stringContaining('picture 1, picture 2'),
      detail: { pictures: ['picture 1', 'picture 2'] },
    });
    const next = queue.submit([source(3)], plan);
    await settle();
    restarted[1]!.finish();
    expect(numbersOf(await next)).toEqual([3]);
  });

  it('finishes what it has accepted when it is drained, and refuses the rest', async () => {
    const { lanes, queue } = queueOf(1);
    const call = queue.submit([source(1)], plan);
    const drained = queue.drain();
    expect(queue.drain()).toBe(drained);
    await expect(queue.submit([source(2)], plan)).rejects.toMatchObject({ code: 'ERR_YOLO_CLOSED' });
    await settle();
    lanes[0]!.finish();
    expect(numbersOf(await call)).toEqual([1]);
    await drained;
  });

  it('settles every call, whatever happens to pictures, lanes and callers', async () => {
    const fate = fc.constantFrom('fine', 'fine', 'fine', 'undecodable', 'aborted', 'fatal');
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.record({ size: fc.integer({ min: 1, max: 6 }), fate, delay: fc.integer({ min: 0, max: 3 }) }), {
          maxLength: 12,
        }),
        async (laneCount, jobs) => {
          const fatal = new Set<number>();
          const newLane = (): PictureLane => {
            let numbers: number[] = [];
            const lane = {
              alive: true,
              async pack(image: RgbImage, slot: number) {
                await turn();
                if (slot === 0) numbers = [];
                numbers.push(image.width);
                if (fatal.has(image.width)) lane.alive = false;
                if (!lane.alive) throw new LaneDied('killed');
                return 0;
              },
              async result() {
                await turn();
                return { inferenceMs: 0, results: numbers.map(resultOf) };
              },
              drop() {},
            };
            return lane;
          };
          const queue = new PictureQueue(
            Array.from({ length: laneCount }, newLane),
            async () => newLane(),
            Number.POSITIVE_INFINITY,
          );
          let number = 0;
          const calls = jobs.map(async ({ size, fate, delay }) => {
            const numbers = Array.from({ length: size }, () => ++number);
            if (fate === 'fatal') fatal.add(numbers.at(-1)!);
            const pictures = numbers.map((at) =>
              source(at, async () => {
                for (let i = 0; i < delay; i++) await turn();
                if (fate === 'undecodable' && at === numbers.at(-1))
                  throw new YoloError('ERR_YOLO_IMAGE_DECODE', 'broken');
                return pixels(at);
              }),
            );
            const stop = new AbortController();
            if (fate === 'aborted') void turn().then(() => stop.abort('stopped'));
            const outcome = await queue.submit(pictures, plan, stop.signal).then(numbersOf, (error: unknown) => error);
            if (fate === 'fine') expect(outcome).toEqual(numbers);
            if (fate === 'undecodable') expect(outcome).toMatchObject({ code: 'ERR_YOLO_IMAGE_DECODE' });
            if (fate === 'fatal') expect(outcome).toMatchObject({ code: 'ERR_YOLO_LANE_FAILED' });
          });
          await Promise.all(calls);
          await queue.drain();
          await settle();
          expect(queue.stats()).toMatchObject({ queued: 0, decoded: 0 });
          expect(queue.stats().decodedHighWater).toBeLessThanOrEqual(laneCount + 1);
        },
      ),
      { numRuns: 300 },
    );
  });
});
