import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { YoloError } from '../../lib/errors.js';
import { type OnStreamError, type StreamItem, stream } from '../../lib/stream.js';

type Item = StreamItem<number, string, OnStreamError>;

const MODES: readonly OnStreamError[] = ['throw', 'yield'];
const undecodable = (picture: number) => new YoloError('ERR_YOLO_IMAGE_DECODE', `picture ${picture} is damaged`);

/** Waits as many turns of the event loop; of none not even a microtask more than its own. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

/** A source of the numbers from 0, and a detect() for them, that watch how they are used. */
class Rig {
  pulled = 0;
  /** Items that came out of the stream. */
  given = 0;
  running = 0;
  mostRunning = 0;
  mostAhead = 0;
  hasEnded = false;
  returned = 0;
  finished: number[] = [];
  cancelled: number[] = [];
  #isPulling = false;

  constructor(
    readonly length: number,
    readonly options: {
      /** Turns that a picture takes to come, and to be looked at. */
      pullTurns?: (index: number) => number;
      detectTurns?: (index: number) => number;
      /** Pictures that fail; and the pull that throws in place of a picture. */
      failing?: readonly number[];
      sourceFailsAt?: number;
      /** The pull that never ends. */
      stallsAt?: number;
      returnFails?: Error;
    } = {},
  ) {}

  get source(): AsyncIterable<number> {
    const { pullTurns = () => 0, sourceFailsAt, stallsAt, returnFails } = this.options;
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          expect(this.#isPulling, 'one pull at a time').toBe(false);
          const index = this.pulled++;
          // By the end of the turn an item that is on its way to its reader has come there.
          setImmediate(() => {
            this.mostAhead = Math.max(this.mostAhead, Math.min(this.pulled, this.length) - this.given);
          });
          this.#isPulling = true;
          await turns(pullTurns(index));
          if (index === stallsAt) await new Promise(() => {});
          this.#isPulling = false;
          if (index === sourceFailsAt) throw new Error('the source broke');
          this.hasEnded = index >= this.length;
          return index < this.length ? { done: false, value: index } : { done: true, value: undefined };
        },
        return: async () => {
          this.returned++;
          if (returnFails !== undefined) throw returnFails;
          return { done: true, value: undefined };
        },
      }),
    };
  }

  /** A source is closed once, unless it has ended by itself. */
  get isClosed(): boolean {
    return this.returned === 1 || (this.returned === 0 && this.hasEnded);
  }

  readonly detect = async (picture: number, index: number, signal: AbortSignal): Promise<string> => {
    expect(index).toBe(picture);
    expect(signal.aborted).toBe(false);
    this.running++;
    this.mostRunning = Math.max(this.mostRunning, this.running);
    try {
      await turns(this.options.detectTurns?.(index) ?? 1);
      if (signal.aborted) {
        this.cancelled.push(index);
        throw signal.reason;
      }
      if (this.options.failing?.includes(index)) throw undecodable(picture);
      this.finished.push(index);
      return `boxes of ${picture}`;
    } finally {
      this.running--;
    }
  };

  stream<OnError extends OnStreamError>(inFlight: number, onError: OnError, signal?: AbortSignal) {
    return stream(this.source, this.detect, { inFlight, onError, signal });
  }

  /** Takes items until the stream ends, or until `take` says that it is enough. */
  async take(items: AsyncIterable<Item>, isEnough: (item: Item) => boolean | Promise<boolean> = () => false) {
    const taken: Item[] = [];
    try {
      for await (const item of items) {
        this.given++;
        taken.push(item);
        if (await isEnough(item)) break;
      }
    } catch (error) {
      return { taken, error };
    }
    return { taken };
  }
}

const result = (index: number): Item => ({ source: index, index, detections: `boxes of ${index}` });
const results = (count: number): Item[] => Array.from({ length: count }, (_, index) => result(index));

describe('a stream', () => {
  it('gives a result for each picture in the order of the source, and asks for no more than inFlight ahead', async () => {
    const few = fc.integer({ min: 0, max: 3 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 15 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(few, { minLength: 1 }),
        fc.array(few, { minLength: 1 }),
        fc.array(few, { minLength: 1 }),
        async (length, inFlight, pull, detect, consume) => {
          const rig = new Rig(length, {
            pullTurns: (index) => pull[index % pull.length]!,
            detectTurns: (index) => detect[index % detect.length]!,
          });
          const { taken, error } = await rig.take(rig.stream(inFlight, 'throw'), async ({ index }) => {
            await turns(consume[index % consume.length]!);
            return false;
          });
          expect(error).toBeUndefined();
          expect(taken).toEqual(results(length));
          await turns(2);
          expect(rig.mostAhead).toBeLessThanOrEqual(inFlight);
          expect(rig.mostRunning).toBeLessThanOrEqual(inFlight);
          expect(rig).toMatchObject({ pulled: length + 1, running: 0, returned: 0 });
        },
      ),
    );
  });

  it('has inFlight pictures under way, also while its reader is busy', async () => {
    const rig = new Rig(20, { detectTurns: () => 5 });
    const items = rig.stream(4, 'throw');
    await items.next();
    rig.given++;
    expect(rig.mostRunning).toBe(4);
    await turns(20);
    // Nobody asked for more, and yet the next four are done; no more were begun.
    expect(rig.finished).toEqual([0, 1, 2, 3, 4]);
    expect(rig.pulled).toBe(5);
    await items.return();
  });

  it('takes an array, a generator and what any iterator of either kind gives', async () => {
    const detect = async (picture: number) => String(picture);
    const all = async (source: Iterable<number> | AsyncIterable<number>) => {
      const items: string[] = [];
      for await (const { detections } of stream(source, detect, { inFlight: 3, onError: 'throw' }))
        items.push(detections);
      return items;
    };
    expect(await all([1, 2, 3, 4])).toEqual(['1', '2', '3', '4']);
    expect(await all(new Set([1, 2]))).toEqual(['1', '2']);
    expect(await all([])).toEqual([]);
    expect(
      await all(
        (function* () {
          yield 7;
          yield 8;
        })(),
      ),
    ).toEqual(['7', '8']);
  });

  it('asks for nothing before it is asked itself', async () => {
    const rig = new Rig(3);
    const items = rig.stream(2, 'throw');
    await turns(2);
    expect(rig.pulled).toBe(0);
    await items.return();
    expect(rig.pulled).toBe(0);
  });

  it('gives what is found at once, although the next picture has not come', async () => {
    const rig = new Rig(10, { stallsAt: 2 });
    const items = rig.stream(5, 'throw');
    expect((await items.next()).value).toEqual(result(0));
    expect((await items.next()).value).toEqual(result(1));
    await items.return();
    expect(rig.returned).toBe(1);
  });

  it('keeps the order of calls of next() that do not wait for each other', async () => {
    const rig = new Rig(3, { detectTurns: (index) => 5 - index });
    const items = rig.stream(2, 'throw');
    const given = await Promise.all([items.next(), items.next(), items.next(), items.next()]);
    expect(given.map(({ value }) => value)).toEqual([...results(3), undefined]);
  });

  it('warns of nothing with many pictures under way', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    const source = Array.from({ length: 300 }, (_, index) => index);
    const detect = (_: number, index: number, signal: AbortSignal) =>
      new Promise<number>((resolve, reject) => {
        signal.addEventListener('abort', reject);
        setTimeout(resolve, 5, index);
      });
    const { signal } = new AbortController();
    let count = 0;
    for await (const _ of stream(source, detect, { inFlight: 100, onError: 'throw', signal })) count++;
    await turns(2);
    process.off('warning', onWarning);
    expect(count).toBe(300);
    expect(warnings).toEqual([]);
  });
});

describe.each([1, 2, 3, 5, 20])('with %i in flight, at every picture,', (inFlight) => {
  const LENGTH = 8;
  const positions = Array.from({ length: LENGTH }, (_, index) => index);
  /** Later pictures are sooner done, and others later, whatever the position. */
  const detectTurns = (index: number) => (index * 5) % 4;

  it('a break cancels what is under way and closes the source', async () => {
    for (const last of positions) {
      for (const mode of MODES) {
        const rig = new Rig(LENGTH, { detectTurns });
        const { taken, error } = await rig.take(rig.stream(inFlight, mode), ({ index }) => index === last);
        expect(error).toBeUndefined();
        expect(taken).toEqual(results(last + 1));
        expect(rig.running).toBe(0);
        expect(rig.isClosed).toBe(true);
        const { pulled } = rig;
        await turns(10);
        expect(rig.pulled).toBe(pulled);
      }
    }
  });

  it('a picture that fails ends the stream after the results before it', async () => {
    for (const bad of positions) {
      const rig = new Rig(LENGTH, { detectTurns, failing: [bad] });
      const { taken, error } = await rig.take(rig.stream(inFlight, 'throw'));
      expect(taken).toEqual(results(bad));
      expect(error).toEqual(undecodable(bad));
      expect(rig.running).toBe(0);
      expect(rig.isClosed).toBe(true);
    }
  });

  it('a picture that fails comes out in its place where errors are yielded', async () => {
    for (const bad of positions) {
      const rig = new Rig(LENGTH, { detectTurns, failing: [bad, LENGTH - 1] });
      const { taken, error } = await rig.take(rig.stream(inFlight, 'yield'));
      expect(error).toBeUndefined();
      const expected = positions.map((index) =>
        index === bad || index === LENGTH - 1 ? { source: index, index, error: undecodable(index) } : result(index),
      );
      expect(taken).toEqual(expected);
      expect(rig).toMatchObject({ running: 0, returned: 0 });
    }
  });

  it('a source that throws ends the stream with its error after the results before it', async () => {
    for (const sourceFailsAt of [...positions, LENGTH]) {
      for (const mode of MODES) {
        const rig = new Rig(LENGTH, { detectTurns, sourceFailsAt });
        const { taken, error } = await rig.take(rig.stream(inFlight, mode));
        expect(taken).toEqual(results(sourceFailsAt));
        expect(error).toEqual(new Error('the source broke'));
        // An iterator that threw has ended.
        expect(rig).toMatchObject({ running: 0, returned: 0, pulled: sourceFailsAt + 1 });
      }
    }
  });

  it('an abort ends the stream with its reason', async () => {
    for (const last of positions) {
      for (const mode of MODES) {
        const abort = new AbortController();
        const reason = new YoloError('ERR_YOLO_IMAGE_DECODE', 'a reason that looks like a failed picture');
        const rig = new Rig(LENGTH, { detectTurns, failing: [last + 1] });
        const { taken, error } = await rig.take(rig.stream(inFlight, mode, abort.signal), ({ index }) => {
          if (index === last) abort.abort(reason);
          return false;
        });
        expect(error).toBe(reason);
        expect(taken).toEqual(results(last + 1));
        expect(rig.running).toBe(0);
        expect(rig.isClosed).toBe(true);
      }
    }
  });

  it('an abort while the next item is awaited ends the stream with its reason', async () => {
    for (const position of positions) {
      const abort = new AbortController();
      const rig = new Rig(LENGTH, { detectTurns: (index) => (index === position ? 50 : 1) });
      const ended = rig.take(rig.stream(inFlight, 'yield', abort.signal));
      while (rig.given < position || !rig.running) await turn();
      abort.abort(new Error('enough'));
      const { taken, error } = await ended;
      expect(error).toEqual(new Error('enough'));
      expect(taken).toEqual(results(position));
      expect(rig.running).toBe(0);
      expect(rig.cancelled).toContain(position);
      expect(rig.isClosed).toBe(true);
    }
  });
});

describe('the end of a stream', () => {
  it('does not wait for a source that has stalled', async () => {
    for (const mode of MODES) {
      const broken = new Rig(10, { stallsAt: 3 });
      await broken.take(broken.stream(5, mode), ({ index }) => index === 1);
      expect(broken).toMatchObject({ returned: 1, running: 0 });

      const abort = new AbortController();
      const aborted = new Rig(10, { stallsAt: 3 });
      const { taken, error } = await aborted.take(aborted.stream(5, mode, abort.signal), ({ index }) => {
        if (index === 2) setTimeout(() => abort.abort('enough'));
        return false;
      });
      expect(taken).toEqual(results(3));
      expect(error).toBe('enough');
      expect(aborted).toMatchObject({ returned: 1, running: 0 });
    }
  });

  it('waits for what the source does when it is closed', async () => {
    let isClosed = false;
    const source = async function* () {
      try {
        for (let i = 0; ; i++) yield i;
      } finally {
        await turns(5);
        isClosed = true;
      }
    };
    for await (const _ of stream(source(), async (i) => i, { inFlight: 1, onError: 'throw' })) {
      await turns(2);
      break;
    }
    expect(isClosed).toBe(true);
  });

  it('by an abort cancels and closes at once, not when the reader comes back', async () => {
    const abort = new AbortController();
    const rig = new Rig(10, { detectTurns: (index) => index * 3 });
    const items = rig.stream(4, 'throw', abort.signal);
    await items.next();
    await turn();
    abort.abort(new Error('enough'));
    await turns(20);
    expect(rig).toMatchObject({ returned: 1, running: 0, finished: [0] });
    await expect(items.next()).rejects.toThrow('enough');
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  it('is there before it begins where the signal was aborted already, and the source is closed untouched', async () => {
    const rig = new Rig(3);
    const { taken, error } = await rig.take(rig.stream(2, 'yield', AbortSignal.abort('never')));
    expect([taken, error]).toEqual([[], 'never']);
    expect(rig).toMatchObject({ pulled: 0, returned: 1 });
  });

  it('leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    const rig = new Rig(3);
    const items = rig.stream(2, 'throw', signal);
    await items.next();
    expect(listeners).toBe(1);
    await items.return();
    expect(listeners).toBe(0);
  });

  it('by a break comes with what the source throws when it is closed; another error is not hidden by it', async () => {
    const returnFails = new Error('cannot close');
    const broken = new Rig(10, { returnFails });
    const { error } = await broken.take(broken.stream(1, 'throw'), async () => {
      await turns(3);
      return true;
    });
    expect(error).toBe(returnFails);

    const failed = new Rig(10, { returnFails, failing: [1] });
    expect((await failed.take(failed.stream(2, 'throw'))).error).toEqual(undecodable(1));
    const aborted = new Rig(10, { returnFails });
    expect((await aborted.take(aborted.stream(2, 'throw', AbortSignal.abort('enough')))).error).toBe('enough');
  });

  it('comes where errors are yielded by what no further picture can make better', async () => {
    for (const fatal of [new YoloError('ERR_YOLO_CLOSED', 'closed'), new TypeError('a fault')]) {
      const rig = new Rig(10);
      const detect: Rig['detect'] = (picture, index, signal) => {
        if (picture === 3) throw fatal;
        return rig.detect(picture, index, signal);
      };
      const { taken, error } = await rig.take(stream(rig.source, detect, { inFlight: 3, onError: 'yield' }));
      expect(error).toBe(fatal);
      expect(taken).toEqual(results(3));
      expect(rig).toMatchObject({ running: 0, returned: 1 });
    }
  });

  it('comes with the error of an iterator that throws without a promise, or gives no iterator result', async () => {
    const detect = async (picture: number) => picture;
    const sources = {
      broken: () => {
        throw new Error('broken');
      },
      "reading 'done'": () => undefined,
    };
    for (const [message, next] of Object.entries(sources)) {
      const source = { [Symbol.iterator]: () => ({ next }) } as unknown as Iterable<number>;
      const items = stream(source, detect, { inFlight: 3, onError: 'yield' });
      await expect(items.next()).rejects.toThrow(message);
    }
  });

  it('is near once a picture failed: nothing more is asked of the source', async () => {
    const rig = new Rig(100, { failing: [1], detectTurns: (index) => (index === 0 ? 20 : 1), pullTurns: () => 1 });
    const { taken, error } = await rig.take(rig.stream(50, 'throw'));
    expect(taken).toEqual(results(1));
    expect(error).toEqual(undecodable(1));
    expect(rig.pulled).toBeLessThan(10);
  });
});
