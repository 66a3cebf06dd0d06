import type { Candidates } from '../candidates.js';
import { pushXyxyAt } from './boxes.js';
import { classCountOf, classIdContradiction, classIdOf } from './class-ids.js';
import { RTMDET, ULTRALYTICS, YOLO_NAS, YOLOX } from './families.js';
import type { Family, Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, type Matrix, tableOf } from './outputs.js';
import { assignRoles, boxRows, isColumn, isWhole, type Output } from './roles.js';

//   nms-counted: four outputs of a graph that suppresses by itself, K rows of which the first `count` are boxes
//
//   count [1, 1]      boxes [1, K, 4]           scores [1, K]     classes [1, K]
//
//   | 2 |             x1   y1   x2   y2         | .93 |           |  0 |            x, y: input pixels
//                   | .. | .. | .. | .. |       | .88 |           | 16 |            score: 0..1
//                   | .. | .. | .. | .. |       |  :  |           |  : |            class: a whole number
//                   |  0 |  0 |  0 |  0 |       |  0  |           |  0 | or -1
//
//   nms-dets-labels: dets [1, K, 5] of x1, y1, x2, y2, score, and labels [1, K] (MMDetection)

export const nmsCounted: Head = {
  name: 'nms-counted',
  read: readCounted,
  contradiction: (outputs, layout) => contradictionOf(countedTable(outputs, layout)),
  decode: (outputs, layout, confidenceThreshold, into) =>
    decodeTable(countedTable(outputs, layout), layout, confidenceThreshold, into),
};

export const nmsDetsLabels: Head = {
  name: 'nms-dets-labels',
  read: readDetsLabels,
  contradiction: (outputs, layout) => contradictionOf(detsTable(outputs, layout)),
  decode: (outputs, layout, confidenceThreshold, into) =>
    decodeTable(detsTable(outputs, layout), layout, confidenceThreshold, into),
};

/** Boxes, scores and classes, wherever they lie. */
interface Table {
  readonly rows: number;
  readonly boxes: Matrix;
  /** Score of row r: at `firstScore + r * scores.columns`. */
  readonly scores: Matrix;
  readonly firstScore: number;
  readonly classes: Float32Array;
}

const SUPPRESSED: readonly Family[] = [ULTRALYTICS, YOLOX, YOLO_NAS, RTMDET].map((family) => ({
  ...family,
  iouThreshold: null,
}));
const [SUPPRESSED_ULTRALYTICS, SUPPRESSED_YOLOX, , SUPPRESSED_RTMDET] = SUPPRESSED;

function readCounted({ outputs, labels, inputWidth, inputHeight }: ModelSignature): HeadReading[] {
  const rows = outputs.map(boxRows).find((count) => count !== undefined);
  if (rows === undefined) return [];
  const found = assignRoles(outputs, [
    { fits: (output) => isWhole(output) && isOne(output), name: /num/i },
    { fits: (output) => boxRows(output) === rows, name: /box/i },
    { fits: (output) => !isWhole(output) && isColumn(output, rows), name: /score|conf/i },
    { fits: (output) => isColumn(output, rows), name: /class|label/i },
  ]);
  if (found === undefined) return [];
  const { classCount, assumed } = classCountOf(labels);
  const names = found.map(({ name }) => name);
  return [
    {
      layout: { head: 'nms-counted', outputs: names, classCount, inputWidth, inputHeight },
      family: SUPPRESSED_ULTRALYTICS,
      otherFamilies: SUPPRESSED.slice(1),
      evidence: [
        `${names.join(', ')} are count, boxes, scores and classes of at most ${rows} rows, suppressed in the graph`,
      ],
      assumed,
    },
  ];
}

function isOne({ dims }: Output): boolean {
  return dims.length > 0 && dims.length <= 2 && dims.every((dim) => dim === 1);
}

function countedTable(outputs: HeadOutputs, layout: HeadLayout): Table {
  const count = tableOf(outputs, layout, 0, 1, 1).data[0];
  const boxes = tableOf(outputs, layout, 1, 4);
  const scores = tableOf(outputs, layout, 2, 1, boxes.rows);
  const classes = tableOf(outputs, layout, 3, 1, boxes.rows).data;
  return { rows: Math.min(count, boxes.rows), boxes, scores, firstScore: 0, classes };
}

function readDetsLabels({ outputs, labels, inputWidth, inputHeight }: ModelSignature): HeadReading[] {
  const found = assignRoles(outputs, [
    { fits: ({ dims }) => dims.length === 3 && dims[2] === 5 },
    { fits: (output) => isWhole(output) && output.dims.length === 2 },
  ]);
  if (found === undefined || found[0].dims[1] !== found[1].dims[1]) return [];
  const { classCount, assumed } = classCountOf(labels);
  const names = found.map(({ name }) => name);
  return [
    {
      layout: { head: 'nms-dets-labels', outputs: names, classCount, inputWidth, inputHeight },
      family: SUPPRESSED_RTMDET,
      otherFamilies: [SUPPRESSED_YOLOX, SUPPRESSED_ULTRALYTICS],
      evidence: [`${names.join(', ')} are rows of x1, y1, x2, y2, score and their classes, suppressed in the graph`],
      assumed,
    },
  ];
}

function detsTable(outputs: HeadOutputs, layout: HeadLayout): Table {
  const dets = tableOf(outputs, layout, 0, 5);
  const classes = tableOf(outputs, layout, 1, 1, dets.rows).data;
  return { rows: dets.rows, boxes: dets, scores: dets, firstScore: 4, classes };
}

function contradictionOf({ rows, boxes, scores, firstScore, classes }: Table): string | undefined {
  if (!(Number.isInteger(rows) && rows >= 0)) return `the count is ${rows}`;
  let greatest = 0;
  for (let row = 0; row < rows; row++) {
    const score = scores.data[row * scores.columns + firstScore];
    if (!(score >= 0 && score <= 1)) return `row ${row} has a score of ${score}, outside 0..1`;
    // Rows that only fill the table up.
    if (score === 0) continue;
    const noClass = classIdContradiction(classes[row], row);
    if (noClass !== undefined) return noClass;
    const [x1, y1, x2, y2] = boxes.data.subarray(row * boxes.columns);
    if (!(x1 <= x2 && y1 <= y2))
      return `row ${row} has the corners (${x1}, ${y1}) and (${x2}, ${y2}), the second before the first`;
    greatest = Math.max(greatest, x2, y2);
  }
  return fractionsContradiction(greatest);
}

function decodeTable(
  { rows, boxes, scores, firstScore, classes }: Table,
  layout: HeadLayout,
  confidenceThreshold: number,
  into: Candidates,
): void {
  const { data, columns } = boxes;
  for (let row = 0, at = 0; row < rows; row++, at += columns) {
    const confidence = scores.data[row * scores.columns + firstScore];
    if (!(confidence > confidenceThreshold)) continue;
    pushXyxyAt(into, data, at, confidence, classIdOf(classes[row], layout));
  }
}
