import type { Candidates } from '../candidates.js';
import { pushCxcywh } from './boxes.js';
import { cellOf, type Strides } from './cells.js';
import { YOLOX } from './families.js';
import type { Head, HeadLayout, HeadOutputs } from './head.js';
import {
  decodeObjectnessRows,
  eachConfidentRow,
  FIRST_CLASS,
  objectnessContradiction,
  objectnessRows,
  sizesContradiction,
} from './objectness-rows.js';
import { type Matrix, stridesOf } from './outputs.js';
import { readCells } from './read-cells.js';

//   output [1, N, 5 + classes], one row for each cell of all strides, finest stride first, rows of cells first
//
//              x    y    w    h   objectness  class 0  ...  class C-1
//   row 0    | .. | .. | .. | .. |    .90    |   .95   |   |   .01    |    confidence = objectness * class
//     :
//   row N-1  | .. | .. | .. | .. |    .00    |   .20   |   |   .10    |
//
//   undecoded: cx = (x + column of the cell) * stride     w = exp(w) * stride
//              cy = (y + row of the cell) * stride        h = exp(h) * stride
//   decoded:   x, y, w, h are cx, cy, w, h in input pixels

/** As the authors' exporter writes it. */
export const yolox: Head = {
  name: 'yolox',
  read: reader('yolox'),
  contradiction: undecodedContradiction,
  decode: decodeUndecoded,
};

/** With the grid in the graph. */
export const yoloxDecoded: Head = {
  name: 'yolox-decoded',
  read: reader('yolox-decoded'),
  contradiction: decodedContradiction,
  decode: (outputs, layout, confidenceThreshold, into) =>
    decodeObjectnessRows(outputs, layout, 1, confidenceThreshold, into),
};

/** A network predicts a box near its own cell. Read the wrong way, most centres lie far from theirs. */
const NEAR_CELLS = 4;
const FAR_FRACTION = 0.25;

function reader(head: string): Head['read'] {
  return (signature) =>
    readCells(signature, { head, family: YOLOX, anchorsPerCell: 1, anchorAxis: 1, firstClass: FIRST_CLASS });
}

function undecodedContradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = objectnessRows(outputs, layout);
  return (
    objectnessContradiction(matrix) ??
    logarithmsContradiction(matrix) ??
    centresContradiction(matrix, stridesOf(outputs, layout, matrix.rows, 1), layout, (value) => value)
  );
}

/** Of all cells some see less than a stride; where none does, these are sizes as fractions of the input. */
function logarithmsContradiction({ data, rows, columns }: Matrix): string | undefined {
  for (let at = 0; at < rows * columns; at += columns) if (data[at + 2] < 0 || data[at + 3] < 0) return undefined;
  return 'no box is smaller than its cell, so sizes are no logarithms';
}

function decodedContradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = objectnessRows(outputs, layout);
  return (
    objectnessContradiction(matrix) ??
    sizesContradiction(matrix) ??
    centresContradiction(
      matrix,
      stridesOf(outputs, layout, matrix.rows, 1),
      layout,
      (value, index, stride) => value / stride - index,
    )
  );
}

function centresContradiction(
  { data, rows, columns }: Matrix,
  strides: Strides,
  { inputWidth, inputHeight }: HeadLayout,
  cellsFrom: (value: number, index: number, stride: number) => number,
): string | undefined {
  let far = 0;
  for (let row = 0; row < rows; row++) {
    const { column, line, stride } = cellOf(row, strides, inputWidth, inputHeight);
    const dx = cellsFrom(data[row * columns], column, stride);
    const dy = cellsFrom(data[row * columns + 1], line, stride);
    if (Math.abs(dx) > NEAR_CELLS || Math.abs(dy) > NEAR_CELLS) far++;
  }
  return far > FAR_FRACTION * rows
    ? `${far} of ${rows} boxes lie more than ${NEAR_CELLS} cells from their own`
    : undefined;
}

function decodeUndecoded(
  outputs: HeadOutputs,
  layout: HeadLayout,
  confidenceThreshold: number,
  into: Candidates,
): void {
  const matrix = objectnessRows(outputs, layout);
  const { data, columns } = matrix;
  const { inputWidth, inputHeight } = layout;
  const strides = stridesOf(outputs, layout, matrix.rows, 1);
  eachConfidentRow(matrix, confidenceThreshold, into.multiLabel, (row, confidence, classId) => {
    const { column, line, stride } = cellOf(row, strides, inputWidth, inputHeight);
    const at = row * columns;
    pushCxcywh(
      into,
      Math.fround((data[at] + column) * stride),
      Math.fround((data[at + 1] + line) * stride),
      Math.fround(Math.exp(data[at + 2])) * stride,
      Math.fround(Math.exp(data[at + 3])) * stride,
      confidence,
      classId,
    );
  });
}
