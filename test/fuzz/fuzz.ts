import fc from 'fast-check';
import { expect } from 'vitest';
import { YoloError } from '../../lib/errors.js';

/** `npm run fuzz` sets it; without, a few seconds' worth of the same inputs. */
const isFull = process.env.FUZZ === 'full';
/** Equal seeds give equal inputs. fast-check prints it, and the path to the smallest input, where one fails. */
const seed = Number(process.env.FUZZ_SEED ?? 20261206);

/** The longest that one input may take: far above what any does, far below what a user would call a hang. */
const MOST_MS = 10_000;
/** The most that the process may grow in all: far above what garbage collection leaves lying about. */
const MOST_GROWTH_BYTES = 1024 * 2 ** 20;

/** Time for the full count on a slow machine. */
export const FUZZ_TIMEOUT_MS = 600_000;

/**
 * Runs a property on `full` inputs, or on every 50th of that number, at least 20.
 * Each has to end in bounded time, and all together in bounded memory.
 */
export async function fuzz<T>(full: number, input: fc.Arbitrary<T>, attempt: (input: T) => unknown): Promise<void> {
  const before = process.memoryUsage.rss();
  await fc.assert(
    fc.asyncProperty(input, async (one) => {
      const began = performance.now();
      await attempt(one);
      expect(performance.now() - began).toBeLessThan(MOST_MS);
    }),
    { seed, numRuns: isFull ? full : Math.max(20, Math.ceil(full / 50)) },
  );
  expect(process.memoryUsage.rss() - before).toBeLessThan(MOST_GROWTH_BYTES);
}

/** The result, or undefined where a YoloError was thrown. Anything else that is thrown goes on. */
export async function resultOrYoloError<R>(attempt: () => R | Promise<R>): Promise<R | undefined> {
  try {
    return await attempt();
  } catch (error) {
    if (!YoloError.is(error)) throw error;
    // A fault of the library, by its own words.
    if (error.code === 'ERR_YOLO_INTERNAL') throw error;
    expect(error.message).not.toMatch(/\[object Object\]|^undefined|\n {4}at /);
    return undefined;
  }
}

type Edit =
  | { readonly kind: 'set' | 'insert'; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'flip'; readonly at: number; readonly bit: number }
  | { readonly kind: 'cut' | 'repeat' | 'end'; readonly at: number; readonly length: number };

// Where lengths and sizes are read, these are what readers trip over.
const awkwardBytes = fc.constantFrom<number[]>(
  ...[[0], [0xff], [0x7f], [0x80], [0, 0], [0xff, 0xff], [0x7f, 0xff], [0xff, 0x7f]],
  ...[
    [0, 0, 0, 0],
    [0xff, 0xff, 0xff, 0xff],
    [0x7f, 0xff, 0xff, 0xff],
    [0xff, 0xff, 0xff, 0x7f],
  ],
  Array<number>(9).fill(0xff),
  [...Array<number>(9).fill(0xff), 1],
);
const place = fc.nat(0xffffffff);
const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ kind: fc.constant('flip' as const), at: place, bit: fc.nat(7) }),
  fc.record({
    kind: fc.constantFrom('set' as const, 'insert' as const),
    at: place,
    bytes: fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 8 }),
      awkwardBytes.map((bytes) => Uint8Array.from(bytes)),
    ),
  }),
  fc.record({
    kind: fc.constantFrom('cut' as const, 'repeat' as const, 'end' as const),
    at: place,
    length: fc.integer({ min: 1, max: 64 }),
  }),
);

/** One of the files with a few places of it changed, filled, cut out, repeated, or its end gone. */
export function mutated<K extends string>(files: Readonly<Record<K, Uint8Array>>): fc.Arbitrary<MutatedFile<K>> {
  return fc
    .record({
      kind: fc.constantFrom(...(Object.keys(files) as K[])),
      edits: fc.array(edit, { minLength: 1, maxLength: 6 }),
    })
    .map(({ kind, edits }) => ({ kind, bytes: edits.reduce(applied, new Uint8Array(files[kind])) }));
}

export interface MutatedFile<K extends string = string> {
  readonly kind: K;
  readonly bytes: Uint8Array;
}

function applied(bytes: Uint8Array, one: Edit): Uint8Array {
  const at = bytes.length === 0 ? 0 : one.at % bytes.length;
  switch (one.kind) {
    case 'flip': {
      const out = bytes.slice();
      out[at] = out[at]! ^ (1 << one.bit);
      return out;
    }
    case 'set': {
      const out = bytes.slice();
      out.set(one.bytes.subarray(0, bytes.length - at), at);
      return out;
    }
    case 'insert':
      return joined(bytes.subarray(0, at), one.bytes, bytes.subarray(at));
    case 'repeat':
      return joined(bytes.subarray(0, at + one.length), bytes.subarray(at));
    case 'cut':
      return joined(bytes.subarray(0, at), bytes.subarray(at + one.length));
    case 'end':
      return bytes.slice(0, at);
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** What people and programs pass by mistake. No getters or proxies that throw: their errors are the caller's own. */
export const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[undefined, null, true, false, '', ' ', '0', 'person', 'cpu', '__proto__', 'constructor', 'a'.repeat(5000)],
    ...[0, -0, 1, -1, 0.5, 1.5, 255, 256, 2 ** 31, 2 ** 32, 2 ** 53, 1e308, 5e-324, NaN, Infinity, -Infinity, 1n],
    ...[
      Symbol('s'),
      () => 1,
      class {},
      /x/,
      new Date(NaN),
      new Error('e'),
      new Map(),
      new Set([1]),
      new URL('file:///x'),
    ],
    ...[[], [undefined], new Array(3), {}, Object.create(null), { length: 3 }, { toString: null }],
    ...[new Uint8Array(3), new Float32Array(8), new ArrayBuffer(4), new DataView(new ArrayBuffer(4))],
    ...[new SharedArrayBuffer(4), new Blob(['x']), Promise.resolve(1), AbortSignal.abort(), new WeakMap()],
  ),
  fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withTypedArray: true,
    withSparseArray: true,
    maxDepth: 2,
  }),
);

/** As `options()`, of a few of the keys, so that most are good altogether. */
export function fewOptions(
  good: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .subarray(Object.keys(good), { maxLength: 4 })
    .chain((keys) => options(Object.fromEntries(keys.map((key) => [key, good[key]!]))));
}

/** Objects whose keys have mostly a good value, now and then any other, and now and then are keys of nobody. */
export function options(good: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<Record<string, unknown>> {
  const known = fc.record(
    Object.fromEntries(
      Object.entries(good).map(([key, value]) => [
        key,
        fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: anyValue }),
      ]),
    ),
    { requiredKeys: [] },
  );
  const stray = fc.oneof(
    { weight: 15, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(fc.string({ maxLength: 20 }), anyValue, { maxKeys: 2 }) },
  );
  return fc.tuple(known, stray).map(([a, b]) => ({ ...a, ...b }));
}
