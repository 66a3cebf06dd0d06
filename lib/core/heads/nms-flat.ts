import type { Candidates } from '../candidates.js';
import { pushXyxyAt } from './boxes.js';
import { classCountOf, classIdContradiction, classIdOf } from './class-ids.js';
import { PADDLE, PADDLE_NORMALISED, ULTRALYTICS, YOLO_NAS, YOLOX } from './families.js';
import type { Family, Head, HeadLayout, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, type Matrix, tableOf } from './outputs.js';
import { assignRoles, isWhole } from './roles.js';

//   one table for the boxes of all pictures, suppressed in the graph, as many rows as there are boxes
//
//   nms-flat [K, 7]               batch   x1   y1   x2   y2   class  score      (YOLOv7 --end2end)
//   nms-flat-score-class [K, 7]   batch   x1   y1   x2   y2   score  class      (YOLO-NAS)
//   nms-flat-box-last [K, 7]      batch  class score   x1   y1   x2   y2
//   paddle-rows [K, 6]                   class score   x1   y1   x2   y2        (PaddleDetection), and the count in a second output [1]
//
//   x, y: input pixels. score: 0..1. class: a whole number. batch: the number of the picture.

interface Columns {
  readonly batch?: number;
  readonly box: number;
  readonly classId: number;
  readonly score: number;
  readonly count: 6 | 7;
}

export const nmsFlat = flat('nms-flat', { batch: 0, box: 1, classId: 5, score: 6, count: 7 });
export const nmsFlatScoreClass = flat('nms-flat-score-class', { batch: 0, box: 1, score: 5, classId: 6, count: 7 });
export const nmsFlatBoxLast = flat('nms-flat-box-last', { batch: 0, classId: 1, score: 2, box: 3, count: 7 });
export const paddleRows = flat('paddle-rows', { classId: 0, score: 1, box: 2, count: 6 });

const suppressed = (family: Family): Family => ({ ...family, iouThreshold: null });

function flat(name: string, columns: Columns): Head {
  return {
    name,
    read: columns.count === 7 ? (signature) => readFlat(signature, name) : (signature) => readPaddle(signature, name),
    contradiction: (outputs, layout) => contradictionOf(tableOf(outputs, layout, 0, columns.count), columns),
    decode: (outputs, layout, confidenceThreshold, into) =>
      decodeTable(tableOf(outputs, layout, 0, columns.count), columns, layout, confidenceThreshold, into),
  };
}

function readFlat({ outputs, labels, inputWidth, inputHeight }: ModelSignature, head: string): HeadReading[] {
  const [output] = outputs;
  if (outputs.length !== 1 || output.dims.length !== 2 || output.dims[1] !== 7) return [];
  const { classCount, assumed } = classCountOf(labels);
  return [
    {
      layout: { head, outputs: [output.name], classCount, inputWidth, inputHeight, isFlat: true },
      family: suppressed(ULTRALYTICS),
      otherFamilies: [YOLOX, YOLO_NAS].map(suppressed),
      evidence: [`${output.name} [K, 7] is rows of all pictures, suppressed in the graph`],
      assumed,
    },
  ];
}

function readPaddle({ outputs, labels, inputWidth, inputHeight }: ModelSignature, head: string): HeadReading[] {
  const found = assignRoles(outputs, [
    { fits: ({ dims }) => dims.length === 2 && dims[1] === 6 },
    { fits: (output) => isWhole(output) && output.dims.every((dim) => dim === 1) },
  ]);
  if (found === undefined) return [];
  const { classCount, assumed } = classCountOf(labels);
  const names = found.map(({ name }) => name);
  return [
    {
      layout: { head, outputs: names, classCount, inputWidth, inputHeight, isFlat: true },
      family: suppressed(PADDLE),
      otherFamilies: [suppressed(PADDLE_NORMALISED)],
      evidence: [`${names[0]} [K, 6] is rows of class, score, x1, y1, x2, y2, and ${names[1]} their count`],
      assumed,
    },
  ];
}

function contradictionOf({ data, rows, columns }: Matrix, { batch, box, classId, score }: Columns): string | undefined {
  let greatest = 0;
  for (let row = 0, at = 0; row < rows; row++, at += columns) {
    if (batch !== undefined && data[at + batch] !== 0) return `row ${row} has the picture ${data[at + batch]} of one`;
    // PaddleDetection says with the class -1 that there is nothing.
    if (batch === undefined && data[at + classId] === -1) continue;
    const noClass = classIdContradiction(data[at + classId], row);
    if (noClass !== undefined) return noClass;
    if (!(data[at + score] >= 0 && data[at + score] <= 1))
      return `row ${row} has a score of ${data[at + score]}, outside 0..1`;
    const [x1, y1, x2, y2] = data.subarray(at + box, at + box + 4);
    if (!(x1 <= x2 && y1 <= y2))
      return `row ${row} has the corners (${x1}, ${y1}) and (${x2}, ${y2}), the second before the first`;
    greatest = Math.max(greatest, x2, y2);
  }
  return fractionsContradiction(greatest);
}

function decodeTable(
  { data, columns }: Matrix,
  { box, classId, score }: Columns,
  layout: HeadLayout,
  confidenceThreshold: number,
  into: Candidates,
): void {
  for (let at = 0; at < data.length; at += columns) {
    const confidence = data[at + score];
    if (!(confidence > confidenceThreshold) || data[at + classId] === -1) continue;
    pushXyxyAt(into, data, at + box, confidence, classIdOf(data[at + classId], layout));
  }
}
