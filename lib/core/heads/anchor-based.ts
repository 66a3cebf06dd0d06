import type { Candidates } from '../candidates.js';
import { cellsAcross, stridesFor } from './cells.js';
import { ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import {
  decodeObjectnessRows,
  FIRST_CLASS,
  objectnessContradiction,
  objectnessRows,
  sizesContradiction,
} from './objectness-rows.js';

//   output [1, N, 5 + classes], one row for each of three anchors of each cell of all strides
//
//              cx   cy   w    h   objectness  class 0  ...  class C-1      cx, cy, w, h: input pixels
//   row 0    | .. | .. | .. | .. |    .90    |   .95   |   |   .01    |    the others: 0..1
//     :                                                                    confidence = objectness * class
//   row N-1  | .. | .. | .. | .. |    .00    |   .20   |   |   .10    |
//
//   Some files have, beside it, what it was made from, which is not needed: a map [1, 3, h, w, 5 + classes] for each stride.

const ANCHORS_PER_CELL = 3;

export const anchorBased: Head = { name: 'anchor-based', read, contradiction, decode };

function read({ outputs, labels, inputWidth, inputHeight }: ModelSignature): HeadReading[] {
  const flat = outputs.filter((output) => output.dims.length === 3);
  if (flat.length !== 1) return [];
  const [{ name, dims }] = flat;
  const [, rows, columns] = dims;
  const strides = stridesFor(rows, inputWidth, inputHeight, ANCHORS_PER_CELL);
  const classCount = columns - FIRST_CLASS;
  if (strides === undefined || classCount < 1 || (labels !== undefined && labels.length !== classCount)) return [];
  const raw = outputs.filter((output) => output.name !== name);
  const isRaw = (map: { dims: readonly number[] }): boolean =>
    strides.some((stride) => {
      const expected = [
        1,
        ANCHORS_PER_CELL,
        cellsAcross(inputHeight, stride),
        cellsAcross(inputWidth, stride),
        columns,
      ];
      return map.dims.length === expected.length && expected.every((size, axis) => map.dims[axis] === size);
    });
  if (!raw.every(isRaw)) return [];
  const evidence = [
    `[${dims.join(', ')}] is three anchors in the cells of strides ${strides.join(', ')} by box, objectness and ${classCount} classes`,
  ];
  if (raw.length > 0) evidence.push(`${raw.map((map) => map.name).join(', ')} are the maps that it was made from`);
  return [
    {
      layout: { head: 'anchor-based', outputs: [name], classCount, inputWidth, inputHeight },
      family: ULTRALYTICS,
      evidence,
    },
  ];
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = objectnessRows(outputs, layout);
  return objectnessContradiction(matrix) ?? sizesContradiction(matrix);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  decodeObjectnessRows(outputs, layout, ANCHORS_PER_CELL, confidenceThreshold, into);
}
