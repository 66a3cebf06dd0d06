import type { Candidates } from '../candidates.js';
import { YOLOV6 } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import {
  decodeObjectnessRows,
  FIRST_CLASS,
  OBJECTNESS,
  objectnessRows,
  sizesContradiction,
} from './objectness-rows.js';
import { scoresContradiction } from './outputs.js';
import { readCells } from './read-cells.js';

//   output [1, N, 5 + classes]: the columns of anchor-based for one row a cell, with an objectness that is always 1
//
//              cx   cy   w    h   objectness  class 0  ...  class C-1      cx, cy, w, h: input pixels
//   row 0    | .. | .. | .. | .. |     1     |   .02   |   |   .91    |    classes: 0..1

export const yolov6: Head = { name: 'yolov6', read, contradiction, decode };

function read(signature: ModelSignature): HeadReading[] {
  return readCells(signature, {
    head: 'yolov6',
    family: YOLOV6,
    anchorsPerCell: 1,
    anchorAxis: 1,
    firstClass: FIRST_CLASS,
  });
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = objectnessRows(outputs, layout);
  const { data, rows, columns } = matrix;
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    if (data[at + OBJECTNESS] !== 1)
      return `row ${row} has an objectness of ${data[at + OBJECTNESS]}, which should always be 1`;
    const outside = scoresContradiction(data, at + FIRST_CLASS, at + columns);
    if (outside !== undefined) return `row ${row} has ${outside}`;
  }
  return sizesContradiction(matrix);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  decodeObjectnessRows(outputs, layout, 1, confidenceThreshold, into);
}
