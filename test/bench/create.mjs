// What a program waits for from its start to its first boxes, against one that does the same with onnxruntime-node and sharp by
// themselves. Each in a process of its own, in turn.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { absent, sharedFile } from './inputs.mjs';
import { judged, median } from './measure.mjs';

const TITLE = 'From import to the first boxes of a photo, yolov8n at 640 × 640';
const ROUNDS = 11;

const root = fileURLToPath(new URL('../..', import.meta.url));

const OURS = `
  const start = performance.now();
  const { Detector } = await import('./dist/index.js');
  const detector = await Detector.create({ model: process.argv[1] });
  const { length } = await detector.detect(process.argv[2]);
  console.log(performance.now() - start, length);
  process.exit();`;

const BARE = `
  const start = performance.now();
  const { default: ort } = await import('onnxruntime-node');
  const { default: sharp } = await import('sharp');
  const session = await ort.InferenceSession.create(process.argv[1], { intraOpNumThreads: Number(process.argv[3]), logSeverityLevel: 3 });
  const pixels = await sharp(process.argv[2])
    .resize(640, 640, { fit: 'contain', background: '#727272' })
    .removeAlpha()
    .raw()
    .toBuffer();
  const input = new Float32Array(3 * 640 * 640);
  for (let i = 0; i < 640 * 640; i++)
    for (let channel = 0; channel < 3; channel++) input[channel * 640 * 640 + i] = pixels[3 * i + channel] / 255;
  const { output0 } = await session.run({ images: new ort.Tensor('float32', input, [1, 3, 640, 640]) });
  let length = 0;
  for (let at = 4 * 8400; at < output0.data.length; at++) if (output0.data[at] > 0.25) length++;
  console.log(performance.now() - start, length);
  process.exit();`;

export function run() {
  const model = sharedFile('models/yolov8n_640_float.onnx');
  const photo = sharedFile('photos/classic/ultralytics_bus.jpg');
  if (model === undefined || photo === undefined) return { title: TITLE, rows: [absent] };
  const ours = [];
  const bare = [];
  for (let round = -1; round < ROUNDS; round++) {
    const times = [
      milliseconds(OURS, [model, photo]),
      milliseconds(BARE, [model, photo, String(availableParallelism())]),
    ];
    // The first round brings the files into memory.
    if (round < 0) continue;
    ours.push(times[0]);
    bare.push(times[1]);
  }
  return {
    title: TITLE,
    rows: [
      judged('import, create() and detect()', median(ours), 'ms'),
      judged('onnxruntime-node and sharp by themselves, in turn with it', median(bare), 'ms'),
      judged('import, create() and detect() against them', median(ours) / median(bare), '×', 1.6),
    ],
  };
}

function milliseconds(code, args) {
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code, ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  const [time, boxes] = child.stdout.trim().split(' ').map(Number);
  if (child.status !== 0 || !(boxes > 0)) throw new Error(`A program to be timed failed: ${child.stderr}`);
  return time;
}
