// stream() against transformers.js, on the same DETR-like ONNX file, photos and version of ONNX Runtime. The numbers of boxes
// differ a little, as the two resample pictures by different rules.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Detector } from '../../dist/index.js';
import { absent, sharedFile, sharedPhotos } from './inputs.mjs';
import { judged, judgedFrom } from './measure.mjs';

const PACKAGE = '@huggingface/transformers@4.3.1';
const TITLE = `stream() against transformers.js (${PACKAGE.split('@').at(-1)}), DEIMv2 atto at 320 × 320, all processors`;
const PHOTOS = 400;
/** They take turns, so that a busy machine slows them alike. */
const TURNS = 8;
const CONFIDENCE = 0.4;
const SIDE = 320;

export async function run() {
  const model = sharedFile('models/deimv2_atto_320_raw_logits.onnx');
  const photos = sharedPhotos();
  if (model === undefined || photos.length === 0) return { title: TITLE, rows: [absent] };
  const folder = join(tmpdir(), 'yolo-bench-transformers');
  try {
    install(folder);
  } catch (error) {
    return {
      title: TITLE,
      rows: [{ name: 'skipped', value: `${PACKAGE} cannot be installed: ${error.message.split('\n', 1)[0]}` }],
    };
  }
  const processors = availableParallelism();
  const subjects = {
    'transformers.js': await transformersJs(folder, model),
    [`stream(), ${processors} × 1 (lanes × threads)`]: await ours(model, processors, 1),
    [`stream(), 1 × ${processors} (lanes × threads)`]: await ours(model, 1, processors),
  };
  const totals = Object.entries(subjects).map(([name, subject]) => ({ name, subject, ms: 0, boxes: 0 }));
  for (let turn = -1; turn < TURNS; turn++) {
    const size = PHOTOS / TURNS;
    const paths = Array.from({ length: size }, (_, i) => photos[((turn + 1) * size + i) % photos.length]);
    for (const total of totals) {
      const began = performance.now();
      const boxes = await total.subject.count(paths);
      // The first turn warms up.
      if (turn < 0) continue;
      total.ms += performance.now() - began;
      total.boxes += boxes;
    }
  }
  for (const { subject } of totals) await subject.close();
  const rows = totals.map(({ name, ms, boxes }) =>
    judged(`${name}: ${boxes} boxes above ${CONFIDENCE}`, (1000 * PHOTOS) / ms, 'pictures/s'),
  );
  const [theirs, best] = totals;
  return { title: TITLE, rows: [...rows, judgedFrom('the second against the first', theirs.ms / best.ms, '×', 1.7)] };
}

/** It is no dependency of this project, and half a gigabyte: kept in the temporary folder from one time to the next. */
function install(folder) {
  if (existsSync(join(folder, 'node_modules/@huggingface/transformers/package.json'))) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent', PACKAGE], {
    cwd: folder,
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 300_000,
  });
}

/** What its pipeline for object detection does, by its own parts, as the file names its tensors otherwise. */
async function transformersJs(folder, model) {
  const models = join(folder, 'models');
  mkdirSync(join(models, 'deimv2/onnx'), { recursive: true });
  const link = join(models, 'deimv2/onnx/model.onnx');
  if (!existsSync(link)) symlinkSync(model, link);
  writeFileSync(join(models, 'deimv2/config.json'), JSON.stringify({ model_type: 'd_fine' }));
  writeFileSync(
    join(models, 'deimv2/preprocessor_config.json'),
    JSON.stringify({
      image_processor_type: 'RTDetrImageProcessor',
      do_resize: true,
      size: { width: SIDE, height: SIDE },
      resample: 2,
      do_rescale: true,
      rescale_factor: 1 / 255,
      do_normalize: false,
      do_pad: false,
    }),
  );
  const entry = createRequire(join(folder, 'package.json')).resolve('@huggingface/transformers');
  const { AutoModelForObjectDetection, AutoProcessor, env, RawImage } = await import(pathToFileURL(entry).href);
  env.allowRemoteModels = false;
  env.localModelPath = models;
  const detr = await AutoModelForObjectDetection.from_pretrained('deimv2', { dtype: 'fp32', device: 'cpu' });
  const processor = await AutoProcessor.from_pretrained('deimv2');
  return {
    async count(paths) {
      let count = 0;
      for (const path of paths) {
        const image = await RawImage.read(path);
        const { pixel_values: images } = await processor(image);
        const { pred_logits: logits, pred_boxes } = await detr.forward({ images });
        // The last argument: a sigmoid for each class, which this model was trained for.
        const [{ boxes }] = processor.image_processor.post_process_object_detection(
          { logits, pred_boxes },
          CONFIDENCE,
          [[image.height, image.width]],
          true,
        );
        count += boxes.length;
      }
      return count;
    },
    close: () => detr.dispose(),
  };
}

async function ours(model, lanes, threads) {
  const detector = await Detector.create({ model, lanes, threads, confidenceThreshold: CONFIDENCE });
  return {
    async count(paths) {
      let count = 0;
      for await (const { detections } of detector.stream(paths)) count += detections.length;
      return count;
    },
    close: () => detector.close(),
  };
}
