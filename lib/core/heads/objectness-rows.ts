import type { Candidates } from '../candidates.js';
import { pushCxcywhAt } from './boxes.js';
import type { HeadLayout, HeadOutputs } from './head.js';
import { fractionsContradiction, type Matrix, matrixOf, scoresContradiction, stridesOf } from './outputs.js';

/** Columns before the classes: box and objectness. */
export const OBJECTNESS = 4;
export const FIRST_CLASS = 5;

/** The layout's rows of box, objectness and classes. */
export function objectnessRows(outputs: HeadOutputs, layout: HeadLayout): Matrix {
  return matrixOf(outputs, layout, { columns: FIRST_CLASS + layout.classCount });
}

/**
 * Calls `found` for each row whose best objectness * class, rounded to float32, is greater than `confidenceThreshold`.
 * The first of equal classes counts. With `multiLabel` it is called for every class that is greater.
 */
export function eachConfidentRow(
  { data, rows, columns }: Matrix,
  confidenceThreshold: number,
  multiLabel: boolean,
  found: (row: number, confidence: number, classId: number) => void,
): void {
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    const objectness = data[at + OBJECTNESS];
    // No class score is greater than 1, so most rows end here.
    if (!(objectness > confidenceThreshold)) continue;
    let best = confidenceThreshold;
    let classId = -1;
    for (let column = FIRST_CLASS; column < columns; column++) {
      const confidence = Math.fround(objectness * data[at + column]);
      if (!(confidence > best)) continue;
      if (multiLabel) {
        found(row, confidence, column - FIRST_CLASS);
      } else {
        best = confidence;
        classId = column - FIRST_CLASS;
      }
    }
    if (classId >= 0) found(row, best, classId);
  }
}

/** Appends the boxes of rows that need no decoding: centre and size in input pixels. */
export function decodeObjectnessRows(
  outputs: HeadOutputs,
  layout: HeadLayout,
  anchorsPerCell: number,
  confidenceThreshold: number,
  into: Candidates,
): void {
  const matrix = objectnessRows(outputs, layout);
  stridesOf(outputs, layout, matrix.rows, anchorsPerCell);
  const { data, columns } = matrix;
  eachConfidentRow(matrix, confidenceThreshold, into.multiLabel, (row, confidence, classId) => {
    const at = row * columns;
    pushCxcywhAt(into, data, at, confidence, classId);
  });
}

/** What speaks against objectness and classes in these columns. */
export function objectnessContradiction({ data, rows, columns }: Matrix): string | undefined {
  let least = 1;
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    least = Math.min(least, data[at + OBJECTNESS]);
    const outside = scoresContradiction(data, at + OBJECTNESS, at + columns);
    if (outside !== undefined) return `row ${row} has ${outside}`;
  }
  return least === 1 ? 'objectness is 1 in every row, so it is none' : undefined;
}

/** What speaks against columns 2 and 3 being widths and heights in pixels. */
export function sizesContradiction({ data, rows, columns }: Matrix): string | undefined {
  let greatest = 0;
  for (let row = 0; row < rows; row++) {
    for (let at = row * columns + 2; at < row * columns + 4; at++) {
      if (data[at] < 0) return `row ${row} has a size of ${data[at]}, below 0`;
      greatest = Math.max(greatest, data[at]);
    }
  }
  return fractionsContradiction(greatest);
}
