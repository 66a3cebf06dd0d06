// The process that soak.test.ts watches: node --expose-gc soak.mjs <model> <photo> <calls> <cycles>
// Prints, for calls of one detector and for cycles of create() and close(), what the process holds after each twelfth of them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { Detector } from '../../dist/index.js';

const SAMPLES = 12;
/** At once, so that queue and lanes are busy. */
const AT_ONCE = 8;

const [model, photo, calls, cycles] = process.argv.slice(2);
const workerFile = new URL('collecting-worker.mjs', import.meta.url);
const options = { model, device: 'cpu', lanes: 2, threads: 1, confidenceThreshold: 0, workerFile };
const jpeg = readFileSync(photo);
const pixels = { data: new Uint8Array(96 * 64 * 3).fill(90), width: 96, height: 64, channels: 3 };

/** Every way to give a picture, and every tenth call one that fails or is given up. */
const deeds = [
  (detector) => detector.detect(photo),
  (detector) => detector.detect(jpeg),
  (detector) => detector.detect(pixels),
  (detector) => detector.detectBatch([pixels, jpeg]),
  (detector) => detector.detect(new Blob([jpeg]), { classes: ['first'] }),
  (detector) => detector.detect(pixels, { signal: new AbortController().signal }),
  (detector) => detector.detect({ ...pixels, data: new Uint8Array(96 * 64 * 4), channels: 4 }),
  (detector) => detector.detect(pixels, { classThresholds: { second: 0.5 } }),
  async (detector) => (await detector.detect(photo)).toJSON(),
];
const failures = [
  (detector) => detector.detect(jpeg.subarray(0, jpeg.length / 2)),
  (detector) => detector.detect(`${photo}.is-not-there`),
  (detector) => detector.detect(pixels, { confidenceThreshold: 2 }),
  (detector) => {
    const stop = new AbortController();
    const call = detector.detect(pixels, { signal: stop.signal });
    stop.abort();
    return call;
  },
];

let failed = 0;
async function call(detector, number) {
  if (number % 10 !== 9) return deeds[number % deeds.length](detector);
  const failure = failures[Math.floor(number / 10) % failures.length];
  await failure(detector).catch(() => failed++);
}

async function holdings() {
  // What is freed by one collection may be held by objects that only the next one frees.
  for (let round = 0; round < 3; round++) {
    globalThis.gc();
    await after(20);
  }
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
  const threads = existsSync('/proc/self/task') ? readdirSync('/proc/self/task').length : null;
  return { heapUsed, external, arrayBuffers, rss, threads, resources: process.getActiveResourcesInfo().sort() };
}

/** Runs `step(number)` so often after a twelfth of it that counts for nothing: caches fill and pools start. */
async function soak(count, atOnce, step) {
  const share = Math.ceil(count / SAMPLES);
  const samples = [];
  for (let sample = 0; sample <= SAMPLES; sample++) {
    let next = 0;
    const worker = async () => {
      while (next < share) await step(sample * share + next++);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    if (sample > 0) samples.push(await holdings());
  }
  return samples;
}

// Worker threads open them; they stay.
const streams = [process.stdout, process.stderr];
const before = await holdings();
const detector = await Detector.create(options);
const ofCalls = await soak(Number(calls), AT_ONCE, (number) => call(detector, number));
const stats = detector.stats();
await detector.close();
const ofCycles = await soak(Number(cycles), 1, async (number) => {
  const one = await Detector.create(options);
  await call(one, number);
  await one.close();
});
streams[0].write(JSON.stringify({ before, ofCalls, ofCycles, after: await holdings(), failed, stats }));
