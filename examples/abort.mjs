// @ts-check
// Cancels calls, by a time limit and by hand; the detector stays usable:
//
//     node examples/abort.mjs [--model yolov8n.onnx] street.jpg
import { parseArgs } from 'node:util';
import { Detector } from 'migraphx-yolo';

const { values, positionals } = parseArgs({ options: { model: { type: 'string' } }, allowPositionals: true });
const [picture] = positionals;
if (picture === undefined) {
  console.error('Usage: node examples/abort.mjs [--model yolov8n.onnx] picture');
  process.exit(2);
}

const detector = await Detector.create({ model: values.model, allowDownload: true });
try {
  // A time limit: the call rejects with the signal's reason, a DOMException named TimeoutError.
  try {
    await detector.detect(picture, { signal: AbortSignal.timeout(0) });
  } catch (error) {
    console.log(`time limit: ${error instanceof Error ? error.name : error}`);
  }

  // By hand: one signal for many calls. Those that wait are dropped at once; a run that has begun is finished unheard.
  const controller = new AbortController();
  const { signal } = controller;
  const reason = new Error('one is enough');
  const calls = Array.from({ length: 20 }, () => detector.detect(picture, { signal }));
  calls[0].then(
    () => controller.abort(reason),
    () => {},
  );
  const outcomes = await Promise.allSettled(calls);
  const done = outcomes.filter(({ status }) => status === 'fulfilled').length;
  const cancelled = outcomes.filter((one) => one.status === 'rejected' && one.reason === reason).length;
  console.log(`by hand: ${done} done, ${cancelled} cancelled`);

  const detections = await detector.detect(picture);
  console.log(`afterwards: ${detections.length} objects`);
} finally {
  await detector.close();
}
