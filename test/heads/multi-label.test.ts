import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLetterbox } from '../../lib/core/letterbox.js';
import { nms } from '../../lib/core/nms.js';
import { postprocess, type Suppression } from '../../lib/core/postprocess.js';
import { CELLS, layoutOf, outputOf, transposed } from './synthetic.js';

const CLASSES = 3;
const f32 = Math.fround;
const unscaled = createLetterbox(32, 32, 32, 32);

interface Head {
  name: string;
  anchors: number;
  firstClass: 4 | 5;
  isTransposed?: boolean;
}
const heads: Head[] = [
  { name: 'anchor-free', anchors: 1, firstClass: 4, isTransposed: true },
  { name: 'anchor-free-rows', anchors: 1, firstClass: 4 },
  { name: 'anchor-based', anchors: 3, firstClass: 5 },
];

type Found = [x1: number, y1: number, x2: number, y2: number, confidence: number, classId: number];

function quickly(rows: number[][], { name, isTransposed }: Head, suppression: Suppression): Found[] {
  const columns = rows[0].length;
  const dims = isTransposed ? [columns, rows.length] : [rows.length, columns];
  const data = isTransposed ? transposed(rows.flat(), rows.length, columns) : rows.flat();
  const { xyxy, confidence, classId } = postprocess(
    outputOf(dims, data),
    layoutOf(name, CLASSES),
    suppression,
    unscaled,
  );
  return Array.from(classId, (id, i) => [...xyxy.subarray(4 * i, 4 * i + 4), confidence[i], id] as Found);
}

/** The obvious way: a candidate for every class of every row, suppressed by group, then cut to the limits. */
function slowly(rows: number[][], { firstClass }: Head, suppression: Suppression): Found[] {
  const { confidenceThreshold, iouThreshold, classAgnostic, maxDetections, maxPerClass = Infinity } = suppression;
  const thresholdOf = (id: number) => f32(suppression.classThresholds?.get(id) ?? confidenceThreshold);
  const candidates = rows.flatMap((row): Found[] => {
    const [cx, cy, w, h] = row;
    const scores = row.slice(firstClass).map((score) => (firstClass === 5 ? f32(row[4] * score) : score));
    return scores
      .map((score, id): Found => [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2, score, id])
      .filter(([, , , , score]) => suppression.multiLabel || score === Math.max(...scores))
      .filter(([, , , , score, id]) => score > thresholdOf(id));
  });
  const classes = Array.from({ length: CLASSES }, (_, id) => candidates.filter((found) => found[5] === id));
  const survivors = (classAgnostic ? [candidates] : classes).flatMap((group) => {
    const xyxy = Float32Array.from(group.flatMap((found) => found.slice(0, 4)));
    const scores = Float32Array.from(group, (found) => found[4]);
    return Array.from(nms(xyxy, scores, { iouThreshold: iouThreshold ?? 1 }), (i) => group[i]);
  });
  survivors.sort((a, b) => b[4] - a[4]);
  return survivors
    .filter((found, i) => survivors.slice(0, i).filter((better) => better[5] === found[5]).length < maxPerClass)
    .slice(0, maxDetections);
}

/** Boxes inside the picture, many of them the same; no two scores are equal, so that the order is known. */
const rowsOf = ({ anchors, firstClass }: Head) => {
  const count = anchors * CELLS;
  const boxes = fc.array(fc.constantFrom([10, 10, 8, 8], [11, 10, 8, 8], [20, 20, 12, 12], [22, 22, 4, 4]), {
    minLength: count,
    maxLength: count,
  });
  const scores = fc.uniqueArray(fc.integer({ min: 1, max: 4095 }), {
    minLength: count * CLASSES,
    maxLength: count * CLASSES,
  });
  return fc
    .tuple(boxes, scores)
    .map(([places, values]) =>
      places.map((box, i) => [
        ...box,
        ...(firstClass === 5 ? [0.5] : []),
        ...values.slice(i * CLASSES, (i + 1) * CLASSES).map((value) => value / 4096),
      ]),
    );
};
const suppressions = fc.record({
  confidenceThreshold: fc.constantFrom(0.01, 0.25, 0.5),
  classThresholds: fc.constantFrom(
    undefined,
    new Map([[1, 0.1]]),
    new Map([
      [0, 0.8],
      [2, 0],
    ]),
  ),
  iouThreshold: fc.constantFrom(0.3, 0.7),
  classAgnostic: fc.boolean(),
  maxDetections: fc.constantFrom(1, 5, 300),
  maxPerClass: fc.constantFrom(1, 2, Infinity),
  multiLabel: fc.boolean(),
});

describe('one detection for each class', () => {
  it.each(heads)('is what the obvious way finds, with thresholds of classes too: $name', (head) => {
    fc.assert(
      fc.property(rowsOf(head), suppressions, (rows, suppression) => {
        expect(quickly(rows, head, suppression)).toEqual(slowly(rows, head, suppression));
      }),
      { numRuns: 60 },
    );
  });

  it.each(heads)('is kept for equal scores, and only the best again when it is switched off: $name', (head) => {
    const nothing = Array.from({ length: head.anchors * CELLS - 1 }, () => Array(head.firstClass + CLASSES).fill(0));
    const rows = [[10, 10, 8, 8, ...(head.firstClass === 5 ? [1] : []), 0.5, 0.75, 0.75], ...nothing];
    const suppression = { confidenceThreshold: 0.25, iouThreshold: 0.7, classAgnostic: false, maxDetections: 300 };
    const classes = (more: Partial<Suppression>) =>
      quickly(rows, head, { ...suppression, ...more }).map((found) => found[5]);
    expect(classes({ multiLabel: true })).toEqual([1, 2, 0]);
    expect(classes({ multiLabel: true, classAgnostic: true })).toEqual([1]);
    expect(classes({ multiLabel: true, maxDetections: 2 })).toEqual([1, 2]);
    expect(classes({ multiLabel: true, confidenceThreshold: 0.5 })).toEqual([1, 2]);
    expect(classes({})).toEqual([1]);
  });
});
