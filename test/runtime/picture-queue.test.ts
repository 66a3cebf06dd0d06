import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

const CODE_OF: Readonly<Record<string, string>> = {
  undecodable: 'ERR_YOLO_IMAGE_DECODE',
  unpackable: 'ERR_YOLO_INTERNAL',
  unrunnable: 'ERR_YOLO_DEVICE',
};

async function turnsOf(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

/** A lane that takes a few turns for everything, does to each batch what its last picture is fated to, and can die at any time. */
class MortalLane implements PictureLane {
  alive = true;
  readonly #fateOf: ReadonlyMap<number, string>;
  #numbers: number[] = [];

  constructor(fateOf: ReadonlyMap<number, string>) {
    this.#fateOf = fateOf;
  }

  async pack(image: RgbImage, slot: number): Promise<number> {
    await this.#live(1);
    if (slot === 0) this.#numbers = [];
    this.#numbers.push(image.width);
    if (this.#fateOf.get(image.width) === 'fatal') this.die();
    if (this.#fateOf.get(image.width) === 'unpackable') throw new YoloError('ERR_YOLO_INTERNAL', 'no room');
    return this.#live(1);
  }

  async result(): Promise<BatchResult> {
    const numbers = this.#numbers;
    await this.#live(3);
    if (this.#fateOf.get(numbers.at(-1)!) === 'unrunnable') throw new YoloError('ERR_YOLO_DEVICE', 'does not fit');
    return { inferenceMs: 0, results: numbers.map(resultOf) };
  }

  drop(): void {}

  die(): void {
    this.alive = false;
  }

  async #live(turns: number): Promise<number> {
    await turnsOf(turns);
    if (!this.alive) throw new LaneDied('killed');
    return turns;
  }
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let i = 0; i < 3; i++) {
    await settle();
    collect();
  }
}

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

  it('replaces a lane that died idle without counting it against the next picture', async () => {
    const { lanes, restarted, queue } = queueOf(1);
    lanes[0]!.die();
    const call = queue.submit([source(1)], plan);
    await settle();
    restarted[0]!.die();
    await settle();
    restarted[1]!.finish();
    expect(numbersOf(await call)).toEqual([1]);
    expect(queue.stats().lanesReplaced).toBe(2);
  });

  it('rejects with the reason why no lane can be started, and tries again for the next picture', async () => {
    const lane = new FakeLane();
    lane.die();
    const reasons: Error[] = [
      new YoloError('ERR_YOLO_MODEL_PARSE', 'The file is gone'),
      new LaneDied('killed'),
      new LaneDied('killed again'),
    ];
    const fresh = new FakeLane();
    const queue = new PictureQueue<FakeLane>(
      [lane],
      async () => {
        const reason = reasons.shift();
        if (reason !== undefined) throw reason;
        return fresh;
      },
      Number.POSITIVE_INFINITY,
    );
    await expect(queue.submit([source(1)], plan)).rejects.toMatchObject({ code: 'ERR_YOLO_MODEL_PARSE' });
    await expect(queue.submit([source(2)], plan)).rejects.toMatchObject({
      code: 'ERR_YOLO_LANE_FAILED',
      message: expect.stringContaining('picture 2'),
    });
    const call = queue.submit([source(3)], plan);
    await settle();
    fresh.finish();
    expect(numbersOf(await call)).toEqual([3]);
    await queue.drain();
    expect(queue.stats()).toMatchObject({ queued: 0, decoded: 0, lanesReplaced: 1 });
  });

  it('waits for a lane that is being restarted when it is drained', async () => {
    const lane = new FakeLane();
    lane.die();
    const started = new Gate<FakeLane>();
    const queue = new PictureQueue<FakeLane>([lane], () => started.passed, Number.POSITIVE_INFINITY);
    const stop = new AbortController();
    const call = queue.submit([source(1)], plan, stop.signal);
    await settle();
    let drained = false;
    const draining = queue.drain().then(() => {
      drained = true;
    });
    stop.abort('enough');
    await expect(call).rejects.toBe('enough');
    await settle();
    expect(drained).toBe(false);
    const fresh = new FakeLane();
    started.open(fresh);
    await draining;
    // Close can reach it, and so it does not stay behind.
    expect(queue.lanes).toEqual([fresh]);
    expect(fresh.runs).toEqual([]);
  });

  it('lets go of the pixels of pictures that were letterboxed or aborted while another runs', async () => {
    const { lanes, queue } = queueOf(1);
    const seen: WeakRef<RgbImage>[] = [];
    const watched = (number: number): PictureSource =>
      source(number, async () => {
        const image = pixels(number);
        seen.push(new WeakRef(image));
        return image;
      });
    const stop = new AbortController();
    const batch = queue.submit([1, 2, 3, 4].map(watched), plan);
    await settle();
    const aborted = [5, 6].map((number) => queue.submit([watched(number)], plan, stop.signal));
    await settle();
    stop.abort('enough');
    await Promise.allSettled(aborted);
    expect(queue.stats().decoded).toBe(0);
    await collectGarbage();
    expect(seen.map((image) => image.deref())).toEqual(Array(6).fill(undefined));
    lanes[0]!.finish();
    expect(numbersOf(await batch)).toEqual([1, 2, 3, 4]);
  });

  it('lets go of what an aborted call was given while another runs', async () => {
    const { lanes, queue } = queueOf(1);
    const running = queue.submit([source(1)], plan);
    await settle();
    const stop = new AbortController();
    const given = [2, 3, 4, 5, 6].map((number) => {
      const picture = source(number);
      queue.submit([picture], plan, stop.signal).catch(() => {});
      return new WeakRef(picture);
    });
    await settle();
    stop.abort('enough');
    await settle();
    await collectGarbage();
    expect(given.map((picture) => picture.deref())).toEqual(Array(5).fill(undefined));
    lanes[0]!.finish();
    await running;
  });

  it('settles every call, whatever happens to pictures, lanes and callers, and whenever it does', async () => {
    const fate = fc.constantFrom('fine', 'fine', 'fine', 'undecodable', 'unpackable', 'unrunnable', 'aborted', 'fatal');
    const call = fc.record({
      size: fc.integer({ min: 1, max: 6 }),
      fate,
      decodeTurns: fc.integer({ min: 0, max: 4 }),
      abortTurns: fc.integer({ min: 0, max: 30 }),
      beginTurns: fc.integer({ min: 0, max: 10 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(call, { maxLength: 12 }),
        // When an idle or busy lane dies by itself, and which restarts fail.
        fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 3 }),
        fc.array(fc.boolean(), { maxLength: 4 }),
        fc.integer({ min: 0, max: 40 }),
        async (laneCount, calls, deaths, restarts, drainTurns) => {
          const fateOf = new Map<number, string>();
          const newLane = (): MortalLane => new MortalLane(fateOf);
          const unreliable = deaths.length > 0 || restarts.includes(false);
          const queue = new PictureQueue(
            Array.from({ length: laneCount }, newLane),
            async () => {
              await turn();
              if (restarts.shift() === false) throw new LaneDied('stillborn');
              return newLane();
            },
            Number.POSITIVE_INFINITY,
          );
          const killing = deaths.map(async (turns, index) => {
            await turnsOf(turns);
            queue.lanes[index % laneCount]!.die();
          });
          let number = 0;
          const outcomes = calls.map(async ({ size, fate, decodeTurns, abortTurns, beginTurns }) => {
            const numbers = Array.from({ length: size }, () => ++number);
            fateOf.set(numbers.at(-1)!, fate);
            const pictures = numbers.map((at) =>
              source(at, async () => {
                await turnsOf(decodeTurns);
                if (fateOf.get(at) === 'undecodable') throw new YoloError('ERR_YOLO_IMAGE_DECODE', 'broken');
                return pixels(at);
              }),
            );
            await turnsOf(beginTurns);
            const stop = new AbortController();
            if (fate === 'aborted') void turnsOf(abortTurns).then(() => stop.abort('stopped'));
            const outcome = await queue.submit(pictures, plan, stop.signal).then(numbersOf, (error: unknown) => error);
            if (Array.isArray(outcome)) {
              expect(['fine', 'aborted']).toContain(fate);
              expect(outcome).toEqual(numbers);
            } else if (outcome !== 'stopped') {
              const { code } = outcome as YoloError;
              const possible = [CODE_OF[fate] ?? 'ERR_YOLO_LANE_FAILED'];
              if (unreliable) possible.push('ERR_YOLO_LANE_FAILED');
              if (drainTurns <= beginTurns) possible.push('ERR_YOLO_CLOSED');
              if (fate === 'fine' && !unreliable && code !== 'ERR_YOLO_CLOSED') throw outcome;
              expect(possible).toContain(code);
            }
          });
          await turnsOf(drainTurns);
          // Resolves only when every lane is idle.
          const draining = queue.drain();
          await Promise.all([...outcomes, ...killing, draining]);
          await turnsOf(6);
          expect(queue.stats()).toMatchObject({ queued: 0, decoded: 0 });
          expect(queue.stats().decodedHighWater).toBeLessThanOrEqual(laneCount + 1);
        },
      ),
      { numRuns: 400 },
    );
  });
});
