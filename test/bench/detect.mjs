// What detect() costs beside the model and the decoder, and pictures a second by lanes and threads.
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Detector } from '../../dist/index.js';
import { absent, fullHdJpeg, sharedFile } from './inputs.mjs';
import { judged, median } from './measure.mjs';

const CALLS = 100;
const BATCH = 32;

export async function run() {
  const title = 'detect() of a 1080p JPEG with yolov8n 640';
  const model = sharedFile('models/yolov8n_640_float.onnx');
  if (model === undefined) return { title, rows: [absent] };
  const jpeg = await fullHdJpeg();
  return {
    title,
    rows: [...(await oneByOne(model, jpeg)), ...(await manyAtOnce(model, jpeg)), ...(await inOneBatch(jpeg))],
  };
}

/** Latency, and bare runs of the model in a worker in turn with it. */
async function oneByOne(model, jpeg) {
  const detector = await Detector.create({ model });
  const bare = await BareWorker.start(model);
  const timings = [];
  const bareRuns = [];
  for (let i = -10; i < CALLS; i++) {
    const { timings: one } = await detector.detect(jpeg);
    const bareMs = await bare.run();
    if (i < 0) continue;
    timings.push(one);
    bareRuns.push(bareMs);
  }
  await Promise.all([detector.close(), bare.close()]);
  const of = (pick) => median(timings.map(pick));
  const total = of(({ totalMs }) => totalMs);
  const bareMs = median(bareRuns);
  return [
    judged('from the call to the boxes', total, 'ms'),
    judged(
      'of which the model',
      of(({ inferenceMs }) => inferenceMs),
      'ms',
    ),
    judged(
      'of which reading the JPEG',
      of(({ decodeMs }) => decodeMs),
      'ms',
    ),
    judged(
      'of which letterbox',
      of(({ letterboxMs }) => letterboxMs),
      'ms',
    ),
    judged(
      'of which decoding the outputs and NMS',
      of(({ postprocessMs }) => postprocessMs),
      'ms',
    ),
    judged(
      'all but the model and the JPEG',
      of((one) => one.totalMs - one.inferenceMs - one.decodeMs),
      'ms',
      5,
    ),
    judged('the model alone in a worker, in turn with it', bareMs, 'ms'),
    judged('from the call to the boxes, in runs of the model alone', total / bareMs, '×'),
  ];
}

async function manyAtOnce(model, jpeg) {
  const rows = [];
  for (const [lanes, threads] of [
    [1, 1],
    [1, 2],
    [2, 1],
  ]) {
    const detector = await Detector.create({ model, lanes, threads });
    await Promise.all(Array.from({ length: 10 }, () => detector.detect(jpeg)));
    const alone = [];
    for (let i = 0; i < 30; i++) alone.push((await detector.detect(jpeg)).timings.totalMs);
    const start = performance.now();
    await Promise.all(Array.from({ length: CALLS }, () => detector.detect(jpeg)));
    const seconds = (performance.now() - start) / 1000;
    await detector.close();
    rows.push(judged(`one call at a time, ${lanes} × ${threads} (lanes × threads)`, median(alone), 'ms'));
    rows.push(judged(`${CALLS} calls at once, ${lanes} × ${threads} (lanes × threads)`, CALLS / seconds, 'pictures/s'));
  }
  return rows;
}

/** detectBatch(), also with all its pictures in one run of the model, against as many calls, in turn. */
async function inOneBatch(jpeg) {
  const model = sharedFile('models/yolov8n_dynamic_float.onnx');
  if (model === undefined) return [absent];
  const detector = await Detector.create({ model });
  const atOnce = await Detector.create({ model, maxBatch: BATCH });
  const pictures = Array.from({ length: BATCH }, () => jpeg);
  const timed = async (work) => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };
  const subjects = [
    () => Promise.all(pictures.map((picture) => detector.detect(picture))),
    () => detector.detectBatch(pictures),
    () => atOnce.detectBatch(pictures),
  ];
  const times = subjects.map(() => []);
  for (let round = -1; round < 6; round++) {
    // Each is the first of a round as often as the others: a processor that warms up or is shared favours none.
    for (let turn = 0; turn < subjects.length; turn++) {
      const which = (turn + round + 1) % subjects.length;
      const took = await timed(subjects[which]);
      if (round >= 0) times[which].push(took);
    }
  }
  const [calls, batch, oneRun] = times.map(median);
  await Promise.all([detector.close(), atOnce.close()]);
  return [
    judged(`${BATCH} calls at once, open batch`, calls, 'ms'),
    judged(`detectBatch() of ${BATCH}, in times of the calls`, batch / calls, '×', 1.1),
    judged(`the same with maxBatch: ${BATCH}, in times of the calls`, oneRun / calls, '×'),
  ];
}

/** onnxruntime-node by itself, as fast as it is: a worker, its input prepared, nothing but run(). */
class BareWorker {
  static async start(model) {
    const code = `
      const { parentPort, workerData } = require('node:worker_threads');
      const { InferenceSession, Tensor } = require(workerData.onnxruntime);
      InferenceSession.create(workerData.model, { intraOpNumThreads: workerData.threads, logSeverityLevel: 3 }).then((session) => {
        const images = new Tensor('float32', new Float32Array(3 * 640 * 640).fill(0.5), [1, 3, 640, 640]);
        parentPort.on('message', async () => {
          const start = performance.now();
          await session.run({ images });
          parentPort.postMessage(performance.now() - start);
        });
        parentPort.postMessage(0);
      });`;
    const onnxruntime = createRequire(import.meta.url).resolve('onnxruntime-node');
    const threads = Math.min(8, availableParallelism());
    const bare = new BareWorker();
    bare.worker = new Worker(code, { eval: true, execArgv: [], workerData: { onnxruntime, model, threads } });
    await bare.next();
    return bare;
  }

  next() {
    return new Promise((resolve) => {
      this.worker.once('message', resolve);
    });
  }

  run() {
    const result = this.next();
    this.worker.postMessage('run');
    return result;
  }

  close() {
    return this.worker.terminate();
  }
}
