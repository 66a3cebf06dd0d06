// What stream() costs beside the model: photos from disk through one lane of one thread, against bare runs of the model.
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { Detector } from '../../dist/index.js';
import { absent, sharedFile, sharedPhotos } from './inputs.mjs';
import { judged, judgedFrom } from './measure.mjs';

const TITLE = 'stream() of 200 photos, yolov8n at 640 × 640, one lane of one thread';
const PHOTOS = 200;
/** The two take turns, so that a busy machine slows them alike. */
const TURNS = 8;

export async function run() {
  const model = sharedFile('models/yolov8n_640_float.onnx');
  const photos = sharedPhotos();
  if (model === undefined || photos.length === 0) return { title: TITLE, rows: [absent] };
  const detector = await Detector.create({ model, lanes: 1, threads: 1 });
  const bare = await BareModel.start(model);
  const size = PHOTOS / TURNS;
  let [streamMs, bareMs, modelMs] = [0, 0, 0];
  for (let turn = -1; turn < TURNS; turn++) {
    const paths = Array.from({ length: size }, (_, i) => photos[((turn + 1) * size + i) % photos.length]);
    const began = performance.now();
    let inModel = 0;
    for await (const { detections } of detector.stream(paths)) inModel += detections.timings.inferenceMs;
    const elapsed = performance.now() - began;
    const bareElapsed = await bare.run(size);
    // The first turn warms up.
    if (turn < 0) continue;
    streamMs += elapsed;
    modelMs += inModel;
    bareMs += bareElapsed;
  }
  await Promise.all([detector.close(), bare.close()]);
  return {
    title: TITLE,
    rows: [
      judged('stream()', (1000 * PHOTOS) / streamMs, 'pictures/s'),
      judged('runs of the model alone in a worker, in turn with it', (1000 * PHOTOS) / bareMs, 'pictures/s'),
      judgedFrom('stream() against the model alone', bareMs / streamMs, '×', 0.85),
      judged('time of a picture in stream()', streamMs / PHOTOS, 'ms'),
      judged('of which the model', modelMs / PHOTOS, 'ms'),
    ],
  };
}

/** onnxruntime-node by itself in a worker, its input prepared: nothing but run(), one after the other. */
class BareModel {
  static async start(model) {
    const code = `
      const { parentPort, workerData } = require('node:worker_threads');
      const { InferenceSession, Tensor } = require(workerData.onnxruntime);
      InferenceSession.create(workerData.model, { intraOpNumThreads: 1, logSeverityLevel: 3 }).then((session) => {
        const images = new Tensor('float32', new Float32Array(3 * 640 * 640).fill(0.5), [1, 3, 640, 640]);
        parentPort.on('message', async (count) => {
          const start = performance.now();
          for (let i = 0; i < count; i++) await session.run({ images });
          parentPort.postMessage(performance.now() - start);
        });
        parentPort.postMessage(0);
      });`;
    const onnxruntime = createRequire(import.meta.url).resolve('onnxruntime-node');
    const bare = new BareModel();
    bare.worker = new Worker(code, { eval: true, execArgv: [], workerData: { onnxruntime, model } });
    await bare.next();
    return bare;
  }

  next() {
    return new Promise((resolve) => {
      this.worker.once('message', resolve);
    });
  }

  /** Milliseconds of as many runs. */
  run(count) {
    const result = this.next();
    this.worker.postMessage(count);
    return result;
  }

  close() {
    return this.worker.terminate();
  }
}
