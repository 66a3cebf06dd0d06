// @ts-check
// Detects objects in every picture of a folder, as one line of JSON a picture; a picture that cannot be read does not
// stop the others:
//
//     node examples/detect-folder.mjs [--model yolov8n.onnx] photos/ > boxes.jsonl
import { readdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Detector, YoloError } from 'migraphx-yolo';

const { values, positionals } = parseArgs({ options: { model: { type: 'string' } }, allowPositionals: true });
const [folder] = positionals;
if (folder === undefined) {
  console.error('Usage: node examples/detect-folder.mjs [--model yolov8n.onnx] folder');
  process.exit(2);
}

const files = (await readdir(folder, { recursive: true }))
  .filter((name) => /\.(jpe?g|png|webp|avif|tiff?|gif)$/i.test(name))
  .sort();

// Many pictures: a lane for each processor does more in a second than one lane with all of them.
const lanes = Math.min(availableParallelism(), 8);
const detector = await Detector.create({ model: values.model, allowDownload: true, lanes, threads: 1 });
let failed = 0;
try {
  // All at once: what waits is a path only, however many there are.
  const calls = files.map((file) => detector.detect(join(folder, file)).catch((error) => error));
  for (const [index, call] of calls.entries()) {
    const result = await call;
    if (!(result instanceof Error)) {
      console.log(JSON.stringify({ file: files[index], ...result.toJSON() }));
    } else if (YoloError.is(result, 'ERR_YOLO_IMAGE_DECODE')) {
      failed++;
      console.error(result.message);
    } else {
      throw result;
    }
  }
  console.error(`${files.length - failed} of ${files.length} pictures`);
} finally {
  await detector.close();
}
process.exitCode = failed === 0 ? 0 : 1;
