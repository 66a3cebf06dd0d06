import type { Candidates } from '../candidates.js';
import { ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import {
  decodeObjectnessRows,
  FIRST_CLASS,
  objectnessContradiction,
  objectnessRows,
  sizesContradiction,
} from './objectness-rows.js';
import { readCells } from './read-cells.js';

//   output [1, N, 5 + classes], one row for each of three anchors of each cell of all strides
//
//              cx   cy   w    h   objectness  class 0  ...  class C-1      cx, cy, w, h: input pixels
//   row 0    | .. | .. | .. | .. |    .90    |   .95   |   |   .01    |    the others: 0..1
//     :                                                                    confidence = objectness * class
//   row N-1  | .. | .. | .. | .. |    .00    |   .20   |   |   .10    |
//
//   Some files have, beside it, what it was made from, which is not needed: a map [1, 3, h, w, 5 + classes] for each stride.

export const anchorBased: Head = { name: 'anchor-based', read, contradiction, decode };

function read(signature: ModelSignature): HeadReading[] {
  const maps = signature.outputs.filter(({ dims }) => dims.length === 5);
  const outputs = signature.outputs.filter((output) => !maps.includes(output));
  const readings = readCells(
    { ...signature, outputs },
    { head: 'anchor-based', family: ULTRALYTICS, anchorsPerCell: 3, anchorAxis: 1, firstClass: FIRST_CLASS },
  );
  if (maps.length === 0 || readings.length === 0) return readings;
  const [, rows, columns] = outputs[0].dims;
  const mapRows = maps.map(({ dims: [, anchors, height, width, values] }) =>
    values === columns ? anchors * height * width : 0,
  );
  if (mapRows.reduce((sum, count) => sum + count, 0) !== rows) return [];
  const evidence = `${maps.map(({ name }) => name).join(', ')} are the maps that it was made from`;
  return readings.map((reading) => ({ ...reading, evidence: [...reading.evidence, evidence] }));
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = objectnessRows(outputs, layout);
  return objectnessContradiction(matrix) ?? sizesContradiction(matrix);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  decodeObjectnessRows(outputs, layout, 3, confidenceThreshold, into);
}
