import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nms } from '../../dist/core/index.js';
import { interleave, judged } from './measure.mjs';

const shared = process.env.YOLO_SHARED_DIR ?? fileURLToPath(new URL('../../../shared', import.meta.url));

/** Suppression on one thread. */
export async function run() {
  const many = boxesOf(10_000, 80);
  const one = boxesOf(10_000, 1);
  const thousand = boxesOf(1000, 1);
  const fifty = boxesOf(50, 1);
  const agnostic = (set, iouThreshold) => () => nms(set.xyxy, set.confidence, { iouThreshold });
  const ms = interleave(
    {
      classes45: () => nms(many.xyxy, many.confidence, { iouThreshold: 0.45, classId: many.classId }),
      classes70: () => nms(many.xyxy, many.confidence, { iouThreshold: 0.7, classId: many.classId }),
      one45: agnostic(one, 0.45),
      one70: agnostic(one, 0.7),
      thousand: agnostic(thousand, 0.7),
      fifty: agnostic(fifty, 0.7),
    },
    { rounds: 60, warmup: 20 },
  );
  const against = interleave(
    { brute: () => bruteForce(one.xyxy, one.confidence, 0.7), one70: agnostic(one, 0.7) },
    { rounds: 9, warmup: 2 },
  );
  return {
    title: `Suppression (${many.origin} boxes around 833 places)`,
    rows: [
      judged('10,000 boxes, 80 classes, IoU 0.45', ms.classes45, 'ms', 8),
      judged('10,000 boxes, 80 classes, IoU 0.7', ms.classes70, 'ms', 8),
      judged('10,000 boxes, class-agnostic, IoU 0.45', ms.one45, 'ms'),
      judged('10,000 boxes, class-agnostic, IoU 0.7', ms.one70, 'ms', 60),
      judged('the same against comparing with every kept box', against.one70 / against.brute, '×', 0.2),
      judged('comparing with every kept box', against.brute, 'ms'),
      judged('1,000 boxes, class-agnostic, IoU 0.7', ms.thousand, 'ms'),
      judged('50 boxes, class-agnostic, IoU 0.7', ms.fifty, 'ms'),
    ],
  };
}

/** The golden set of that size, or one made by the same recipe where the shared data is absent. */
function boxesOf(count, classes) {
  const file = `${shared}/golden/nms`;
  if (!existsSync(`${file}.json`)) return clusters(count, classes);
  const set = JSON.parse(readFileSync(`${file}.json`, 'utf8')).sets.find(
    ({ name }) => name === `clustered_${count}_${classes}`,
  );
  const bytes = new Uint8Array(readFileSync(`${file}.bin`)).buffer;
  return {
    origin: 'golden',
    xyxy: new Float32Array(bytes, set.boxes.offset, 4 * count),
    confidence: new Float32Array(bytes, set.scores.offset, count),
    classId: new Int32Array(bytes, set.classIds.offset, count),
  };
}

function clusters(count, classes) {
  let state = 42;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
  const size = () => 640 * 0.02 * 20 ** random();
  const places = Array.from({ length: Math.ceil(count / 12) }, () => [640 * random(), 640 * random(), size(), size()]);
  const set = {
    origin: 'made',
    xyxy: new Float32Array(4 * count),
    confidence: new Float32Array(count),
    classId: new Int32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const [x, y, width, height] = places[Math.floor(random() * places.length)];
    const cx = x + 0.15 * normal() * width;
    const cy = y + 0.15 * normal() * height;
    const w = width * Math.exp(0.15 * normal());
    const h = height * Math.exp(0.15 * normal());
    set.xyxy.set([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], 4 * i);
    set.confidence[i] = random();
    set.classId[i] = Math.floor(random() * classes);
  }
  return set;
}

/** The textbook loop on flat arrays, with the areas computed beforehand. */
function bruteForce(xyxy, confidence, iouThreshold) {
  const { fround } = Math;
  const order = Array.from(confidence.keys()).sort((i, j) => confidence[j] - confidence[i] || i - j);
  const area = confidence.map((_, i) => (xyxy[4 * i + 2] - xyxy[4 * i]) * (xyxy[4 * i + 3] - xyxy[4 * i + 1]));
  const kept = new Int32Array(order.length);
  let count = 0;
  next: for (const i of order) {
    for (let k = 0; k < count; k++) {
      const j = kept[k];
      const width = Math.min(xyxy[4 * i + 2], xyxy[4 * j + 2]) - Math.max(xyxy[4 * i], xyxy[4 * j]);
      if (width <= 0) continue;
      const height = Math.min(xyxy[4 * i + 3], xyxy[4 * j + 3]) - Math.max(xyxy[4 * i + 1], xyxy[4 * j + 1]);
      if (height <= 0) continue;
      const intersection = fround(width * height);
      if (fround(intersection / fround(fround(area[i] + area[j]) - intersection)) > iouThreshold) continue next;
    }
    kept[count++] = i;
  }
  return kept.slice(0, count);
}
