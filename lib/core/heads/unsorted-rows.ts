import type { Candidates } from '../candidates.js';
import { pushXyxyAt } from './boxes.js';
import { stridesFor } from './cells.js';
import { classCountOf, classIdContradiction, classIdOf } from './class-ids.js';
import { boxValues } from './corners.js';
import { ULTRALYTICS, YOLOX } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, matrixOf } from './outputs.js';

//   output [1, N, 6], the columns of end-to-end, but one row for each of N cells, unsorted, before suppression (DeepStream)
//
//              x1   y1   x2   y2  score  class      x, y: input pixels
//   row 0    | .. | .. | .. | .. |  .02 |   7 |     score: 0..1
//     :                                             class: a whole number
//   row N-1  | .. | .. | .. | .. |  .91 |   0 |

export const unsortedRows: Head = { name: 'unsorted-rows', read, contradiction, decode };

const COLUMNS = 6;
const SCORE = 4;
const CLASS = 5;

function read({ outputs, labels, inputWidth, inputHeight }: ModelSignature): HeadReading[] {
  const [output] = outputs;
  if (outputs.length !== 1 || output.dims.length !== 3 || output.dims[2] !== COLUMNS) return [];
  const rows = output.dims[1];
  const anchors = [1, 3].find((count) => stridesFor(rows, inputWidth, inputHeight, count) !== undefined);
  if (anchors === undefined) return [];
  const { classCount, assumed } = classCountOf(labels);
  return [
    {
      layout: { head: 'unsorted-rows', outputs: [output.name], classCount, inputWidth, inputHeight },
      family: ULTRALYTICS,
      otherFamilies: [YOLOX],
      evidence: [
        `[${output.dims.join(', ')}] is all cells, ${anchors} row${anchors === 1 ? '' : 's'} each, by x1, y1, x2, y2, score, class`,
      ],
      assumed,
    },
  ];
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const matrix = matrixOf(outputs, layout, { columns: COLUMNS });
  const { data, rows } = matrix;
  let isFalling = true;
  for (let row = 0, at = 0; row < rows; row++, at += COLUMNS) {
    const score = data[at + SCORE];
    if (!(score >= 0 && score <= 1)) return `row ${row} has a score of ${score}, outside 0..1`;
    const noClass = classIdContradiction(data[at + CLASS], row);
    if (noClass !== undefined) return noClass;
    if (row > 0 && score > data[at + SCORE - COLUMNS]) isFalling = false;
  }
  if (isFalling) return 'scores fall from row to row: sorted, so suppressed already';
  const { ordered, greatest } = boxValues(matrix);
  if (ordered < rows) return `${rows - ordered} rows have their second corner before the first`;
  return fractionsContradiction(greatest);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data } = matrixOf(outputs, layout, { columns: COLUMNS });
  for (let at = 0; at < data.length; at += COLUMNS) {
    const confidence = data[at + SCORE];
    if (!(confidence > confidenceThreshold)) continue;
    const classId = classIdOf(data[at + CLASS], layout);
    pushXyxyAt(into, data, at, confidence, classId);
  }
}
