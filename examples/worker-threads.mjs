// @ts-check
// Detectors in worker threads of one's own: worth it where a thread does more with its pictures than to detect, here to
// encode crops. (To detect alone, one detector with more `lanes` is simpler and as fast.)
//
//     node examples/worker-threads.mjs [--model yolov8n.onnx] a.jpg b.jpg c.jpg
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Detector } from 'migraphx-yolo';

const WORKERS = 2;

if (isMainThread) await main();
else await work();

async function main() {
  const { values, positionals: pictures } = parseArgs({
    options: { model: { type: 'string' } },
    allowPositionals: true,
  });
  if (pictures.length === 0) {
    console.error('Usage: node examples/worker-threads.mjs [--model yolov8n.onnx] pictures');
    process.exit(2);
  }
  // ONNX Runtime reads it when it is loaded, and a worker's own process.env does not reach native code.
  process.env.ORT_DISABLE_TELEMETRY = '1';

  // The first detector fetches the default model, so that the workers find it.
  if (values.model === undefined) await (await Detector.create({ allowDownload: true })).close();

  const workers = Array.from({ length: Math.min(WORKERS, pictures.length) }, (_, first) => {
    const share = pictures.filter((_, index) => index % WORKERS === first);
    const worker = new Worker(new URL(import.meta.url), { workerData: { model: values.model, pictures: share } });
    worker.on('message', ({ picture, labels, bytes }) => {
      console.log(`thread ${worker.threadId}: ${picture}: ${labels.join(', ')} (crops of ${bytes} bytes)`);
    });
    return worker;
  });
  // once() rejects where a worker fails with an error.
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
}

async function work() {
  const { model, pictures } = workerData;
  const detector = await Detector.create({ model, threads: 1 });
  try {
    for (const picture of pictures) {
      const detections = await detector.detect(picture);
      let bytes = 0;
      for (let index = 0; index < detections.length; index++) bytes += (await detections.crop(index)).length;
      // Classes do not travel between threads: plain data does.
      parentPort?.postMessage({ picture, labels: Array.from(detections, ({ label }) => label), bytes });
    }
  } finally {
    // Before the thread ends: only it can wait for its own lanes.
    await detector.close();
  }
}
