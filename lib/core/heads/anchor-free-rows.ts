import type { Candidates } from '../candidates.js';
import { eachBestClass } from './best-class.js';
import { pushCxcywhAt } from './boxes.js';
import { ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { sizesContradiction } from './objectness-rows.js';
import { type Matrix, matrixOf, scoresContradiction, stridesOf } from './outputs.js';
import { readCells } from './read-cells.js';

//   output [1, N, 4 + classes]: as anchor-free, rows and columns exchanged
//
//              cx   cy   w    h   class 0  ...  class C-1      cx, cy, w, h: input pixels
//   cell 0   | .. | .. | .. | .. |  .02   |   |   .00   |    classes: 0..1
//     :
//   cell N-1 | .. | .. | .. | .. |  .91   |   |   .03   |

const FIRST_CLASS = 4;

export const anchorFreeRows: Head = { name: 'anchor-free-rows', read, contradiction, decode };

function read(signature: ModelSignature): HeadReading[] {
  return readCells(signature, {
    head: 'anchor-free-rows',
    family: ULTRALYTICS,
    anchorsPerCell: 1,
    anchorAxis: 1,
    firstClass: FIRST_CLASS,
  });
}

function cellRows(outputs: HeadOutputs, layout: HeadLayout): Matrix {
  return matrixOf(outputs, layout, { columns: FIRST_CLASS + layout.classCount });
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = cellRows(outputs, layout);
  const { data, rows, columns } = matrix;
  let isFirstAlwaysOne = true;
  for (let row = 0; row < rows; row++) {
    const outside = scoresContradiction(data, row * columns + FIRST_CLASS, (row + 1) * columns);
    if (outside !== undefined) return `row ${row} has ${outside}`;
    isFirstAlwaysOne &&= data[row * columns + FIRST_CLASS] === 1;
  }
  // YOLOv6 writes an objectness that says nothing before its classes.
  return isFirstAlwaysOne ? 'class 0 has the score 1 in every row, so it is none' : sizesContradiction(matrix);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data, rows, columns } = cellRows(outputs, layout);
  stridesOf(outputs, layout, rows, 1);
  const scores = { data, rows, classCount: layout.classCount, first: FIRST_CLASS, rowStep: columns, classStep: 1 };
  eachBestClass(scores, confidenceThreshold, into.multiLabel, (row, confidence, classId) => {
    pushCxcywhAt(into, data, row * columns, confidence, classId);
  });
}
