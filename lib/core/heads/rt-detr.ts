import type { Candidates } from '../candidates.js';
import { eachBestClass } from './best-class.js';
import { pushFractions } from './boxes.js';
import { stridesFor } from './cells.js';
import { classCountOf, classIdContradiction, classIdOf } from './class-ids.js';
import { centreFractionsContradiction } from './corners.js';
import { RT_DETR } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { matrixOf, scoresContradiction } from './outputs.js';

//   rt-detr: output [1, K, 6], the shape of an end-to-end YOLO, best first
//
//            cx   cy   w    h   score  class          cx, cy, w, h: 0..1, fractions of the input
//   row 0  | .. | .. | .. | .. |  .93 |   0 |         score: 0..1
//     :                                               class: a whole number
//
//   rt-detr-rows: output [1, K, 4 + classes], unsorted
//
//            cx   cy   w    h   class 0  ...  class C-1      classes: 0..1
//   row 0  | .. | .. | .. | .. |  .02   |   |   .91   |

export const rtDetr: Head = { name: 'rt-detr', read, contradiction, decode };
export const rtDetrRows: Head = {
  name: 'rt-detr-rows',
  read: readRows,
  contradiction: rowsContradiction,
  decode: decodeRows,
};

const COLUMNS = 6;
const SCORE = 4;
const CLASS = 5;
const FIRST_CLASS = 4;

function read({ outputs, labels, inputWidth, inputHeight }: ModelSignature): HeadReading[] {
  const [output] = outputs;
  if (outputs.length !== 1 || output.dims.length !== 3 || output.dims[2] !== COLUMNS) return [];
  const { classCount, assumed } = classCountOf(labels);
  return [
    {
      layout: { head: 'rt-detr', outputs: [output.name], classCount, inputWidth, inputHeight },
      family: RT_DETR,
      evidence: [`[${output.dims.join(', ')}] is rows of centre and size (0..1), score, class`],
      assumed,
    },
  ];
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = matrixOf(outputs, layout, { columns: COLUMNS });
  const { data, rows } = matrix;
  for (let row = 0, at = 0; row < rows; row++, at += COLUMNS) {
    const score = data[at + SCORE];
    if (!(score >= 0 && score <= 1)) return `row ${row} has a score of ${score}, outside 0..1`;
    const noClass = classIdContradiction(data[at + CLASS], row);
    if (noClass !== undefined) return noClass;
  }
  return centreFractionsContradiction(matrix);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data } = matrixOf(outputs, layout, { columns: COLUMNS });
  const { inputWidth, inputHeight } = layout;
  for (let at = 0; at < data.length; at += COLUMNS) {
    const confidence = data[at + SCORE];
    if (!(confidence > confidenceThreshold)) continue;
    const classId = classIdOf(data[at + CLASS], layout);
    pushFractions(into, data, at, inputWidth, inputHeight, confidence, classId);
  }
}

function readRows({ outputs, labels, inputWidth, inputHeight }: ModelSignature): HeadReading[] {
  const [output] = outputs;
  if (outputs.length !== 1 || output.dims.length !== 3) return [];
  const [, rows, columns] = output.dims;
  const classCount = columns - FIRST_CLASS;
  if (classCount < 1 || (labels !== undefined && labels.length !== classCount)) return [];
  // Queries are a round number. Where rows or columns are cells this is another layout.
  const areCells = (count: number) =>
    [1, 3].some((anchors) => stridesFor(count, inputWidth, inputHeight, anchors) !== undefined);
  if (areCells(rows) || areCells(columns)) return [];
  return [
    {
      layout: { head: 'rt-detr-rows', outputs: [output.name], classCount, inputWidth, inputHeight },
      family: RT_DETR,
      evidence: [`[${output.dims.join(', ')}] is ${rows} queries by centre and size (0..1) and ${classCount} classes`],
    },
  ];
}

function rowsContradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = matrixOf(outputs, layout, { columns: FIRST_CLASS + layout.classCount });
  const { data, rows, columns } = matrix;
  for (let row = 0; row < rows; row++) {
    const outside = scoresContradiction(data, row * columns + FIRST_CLASS, (row + 1) * columns);
    if (outside !== undefined) return `row ${row} has ${outside}`;
  }
  return centreFractionsContradiction(matrix);
}

function decodeRows(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data, rows, columns } = matrixOf(outputs, layout, { columns: FIRST_CLASS + layout.classCount });
  const { inputWidth, inputHeight } = layout;
  const scores = { data, rows, classCount: layout.classCount, first: FIRST_CLASS, rowStep: columns, classStep: 1 };
  eachBestClass(scores, confidenceThreshold, into.multiLabel, (row, confidence, classId) => {
    pushFractions(into, data, row * columns, inputWidth, inputHeight, confidence, classId);
  });
}
