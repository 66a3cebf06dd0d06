import { createLetterbox, TensorPacker } from '../../dist/core/index.js';
import { interleave, judged } from './measure.mjs';

const SIDE = 640;
const FORMAT = {
  layout: 'nchw',
  type: 'float32',
  channelOrder: 'rgb',
  divisor: 255,
  letterbox: { placement: 'centre' },
};

/** From RGB pixels to a model's input, on one thread. */
export async function run() {
  const packer = new TensorPacker();
  const target = new Float32Array(3 * SIDE * SIDE);
  const packing = (image, format = FORMAT) => {
    const letterbox = createLetterbox(image.width, image.height, SIDE, SIDE, format.letterbox);
    return () => packer.pack(image, letterbox, format, target, 0);
  };
  const fullHd = noise(1920, 1080);
  const hd = noise(1280, 720);
  const small = noise(500, 333);
  const subjects = {
    sum: () => sumOf(fullHd.data),
    plain: () => plainBilinear(fullHd, target),
    fullHd: packing(fullHd),
    hd: packing(hd),
    small: packing(small),
  };
  const ms = interleave(subjects, { rounds: 100, warmup: 30 });
  const rows = [
    judged('1920×1080 RGB to 640×640 float32 NCHW', ms.fullHd, 'ms', 3.5),
    judged('the same against a plain bilinear loop in float64', ms.fullHd / ms.plain, '×', 1),
    judged('the same against adding up the bytes of the picture', ms.fullHd / ms.sum, '×'),
    judged('1280×720', ms.hd, 'ms'),
    judged('1280×720 against 1920×1080', ms.hd / ms.fullHd, '×', 1.8),
    judged('500×333, enlarged', ms.small, 'ms'),
    judged('plain bilinear loop in float64, 1920×1080', ms.plain, 'ms'),
    judged('adding up the bytes of 1920×1080', ms.sum, 'ms'),
  ];
  if (globalThis.gc)
    rows.push(judged('memory that a call leaves behind', growthPerCall(subjects.fullHd), 'bytes', 512));
  return { title: 'Letterbox, resampling and packing', rows };
}

/** Bytes of heap and array buffers; what is left of them by the timer and by the measurement itself is included. */
function growthPerCall(subject) {
  const calls = 200;
  globalThis.gc();
  const before = process.memoryUsage();
  for (let i = 0; i < calls; i++) subject();
  const after = process.memoryUsage();
  return Math.max(0, after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers) / calls;
}

function noise(width, height) {
  const data = new Uint8Array(3 * width * height);
  let state = 1;
  for (let i = 0; i < data.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    data[i] = state >>> 24;
  }
  return { data, width, height };
}

function sumOf(data) {
  let sum = 0;
  for (let i = 0; i < data.length; i++) sum = (sum + data[i]) | 0;
  return sum;
}

/** What one writes first: every value by itself, in real numbers, into the middle of the planes. */
function plainBilinear({ data, width, height }, target) {
  const gain = Math.min(SIDE / width, SIDE / height);
  const toWidth = Math.round(width * gain);
  const toHeight = Math.round(height * gain);
  const left = (SIDE - toWidth) >> 1;
  const top = (SIDE - toHeight) >> 1;
  target.fill(114 / 255);
  for (let y = 0; y < toHeight; y++) {
    const sy = Math.min(Math.max((y + 0.5) / gain - 0.5, 0), height - 1);
    const y0 = Math.floor(sy);
    const y1 = Math.min(y0 + 1, height - 1);
    const fy = sy - y0;
    for (let x = 0; x < toWidth; x++) {
      const sx = Math.min(Math.max((x + 0.5) / gain - 0.5, 0), width - 1);
      const x0 = Math.floor(sx);
      const x1 = Math.min(x0 + 1, width - 1);
      const fx = sx - x0;
      for (let channel = 0; channel < 3; channel++) {
        const upper = data[3 * (y0 * width + x0) + channel] * (1 - fx) + data[3 * (y0 * width + x1) + channel] * fx;
        const lower = data[3 * (y1 * width + x0) + channel] * (1 - fx) + data[3 * (y1 * width + x1) + channel] * fx;
        target[(channel * SIDE + top + y) * SIDE + left + x] = (upper * (1 - fy) + lower * fy) / 255;
      }
    }
  }
}
