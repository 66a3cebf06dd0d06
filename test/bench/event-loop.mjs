import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as after } from 'node:timers/promises';
import { Detector } from '../../dist/index.js';
import { absent, sharedFile } from './inputs.mjs';
import { judged, median } from './measure.mjs';

const TITLE = 'How late timers of the program are during 200 calls of detect(), yolov8n at 640 × 640';
const CALLS = 200;
/** A full garbage collection that meets a busy scheduler is rare and long: medians of some rounds, and the worst beside them. */
const ROUNDS = 3;
/** The monitor's own timer, which is no delay, is taken off. */
const INTERVAL_MS = 1;

/** @returns {Promise<{ title: string, rows: object[] }>} */
export async function run() {
  const model = sharedFile('models/yolov8n_640_float.onnx');
  const photo = sharedFile('photos/classic/ultralytics_bus.jpg');
  if (model === undefined || photo === undefined) return { title: TITLE, rows: [absent] };
  const detector = await Detector.create({ model, device: 'cpu' });
  const calls = async (count) => {
    for (let i = 0; i < count; i++) await detector.detect(photo);
  };
  await calls(20);
  const idle = await delays(() => after(5000));
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await delays(() => calls(CALLS)));
  await detector.close();
  return {
    title: TITLE,
    rows: [
      judged('99.5th percentile', median(rounds.map(({ percentile }) => percentile)), 'ms', 10),
      judged('the latest', median(rounds.map(({ most }) => most)), 'ms', 15),
      judged('the latest of all rounds', Math.max(...rounds.map(({ most }) => most)), 'ms'),
      judged('99.5th percentile of five idle seconds', idle.percentile, 'ms'),
      judged('the latest of five idle seconds', idle.most, 'ms'),
      judged('a call', median(rounds.map(({ elapsed }) => elapsed)) / CALLS, 'ms'),
    ],
  };
}

async function delays(work) {
  const monitor = monitorEventLoopDelay({ resolution: INTERVAL_MS });
  monitor.enable();
  const began = performance.now();
  await work();
  const elapsed = performance.now() - began;
  monitor.disable();
  const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - INTERVAL_MS);
  return { elapsed, percentile: late(monitor.percentile(99.5)), most: late(monitor.max) };
}
