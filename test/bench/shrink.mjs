// What shrinkOnLoad saves of reading JPEGs, in turn with reading them whole.
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { Detector } from '../../dist/index.js';
import { absent, sharedFile } from './inputs.mjs';
import { judged, median } from './measure.mjs';

const ROUNDS = 41;
const photo = resolve(fileURLToPath(import.meta.url), '../../../assets/aeroplane.jpg');

export async function run() {
  const title = 'Reading a JPEG for yolov8n 640, whole and with shrinkOnLoad';
  const model = sharedFile('models/yolov8n_640_float.onnx');
  if (model === undefined) return { title, rows: [absent] };
  const detectors = [await Detector.create({ model }), await Detector.create({ model, shrinkOnLoad: true })];
  const rows = [];
  for (const [width, height] of [
    [1920, 1080],
    [4000, 3000],
    [6000, 4000],
  ]) {
    const jpeg = await sharp(photo).resize(width, height).jpeg({ quality: 90 }).toBuffer();
    const [whole, shrunk] = await readMs(detectors, jpeg);
    rows.push(judged(`${width}×${height}, whole`, whole, 'ms'));
    rows.push(judged(`${width}×${height}, with shrinkOnLoad`, shrunk, 'ms'));
  }
  for (const detector of detectors) await detector.close();
  return { title, rows };
}

/** Median of decoding and letterbox, which shrinkOnLoad shortens both. */
async function readMs(detectors, jpeg) {
  const times = detectors.map(() => []);
  for (let round = -3; round < ROUNDS; round++) {
    for (const [index, detector] of detectors.entries()) {
      const { decodeMs, letterboxMs } = (await detector.detect(jpeg)).timings;
      if (round >= 0) times[index].push(decodeMs + letterboxMs);
    }
  }
  return times.map(median);
}
