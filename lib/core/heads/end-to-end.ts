import type { Candidates } from '../candidates.js';
import { extraSize } from '../extra.js';
import { areFinite, pushRotated, pushXyxyAt } from './boxes.js';
import { classCountOf, classIdContradiction, classIdOf } from './class-ids.js';
import { ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, type Matrix, matrixOf } from './outputs.js';
import { type Task, taskReading } from './tasks.js';

//   output [1, K, 6 + extra], K rows at most, best first, already suppressed
//
//            x1   y1   x2   y2  score  class  extra     x, y: input pixels
//   row 0  | .. | .. | .. | .. |  .93 |   0 |   ..  |   score: 0..1, falling
//   row 1  | .. | .. | .. | .. |  .88 |  16 |   ..  |   class: a whole number
//     :
//   row K-1|  0 |  0 |  0 |  0 |   0  |   0 |    0  |   padding
//
//   segment: coefficients of the masks in a second output [1, M, h, w]
//   pose: x, y (input pixels) and visibility (0..1) of each keypoint
//   obb: cx, cy, w, h in place of the corners, before the box is turned by the angle in radians behind the class

export const endToEnd = endToEndOf('detect', 'end-to-end');
export const endToEndSegment = endToEndOf('segment', 'end-to-end-segment');
export const endToEndPose = endToEndOf('pose', 'end-to-end-pose');
export const endToEndObb = endToEndOf('obb', 'end-to-end-obb');

const SCORE = 4;
const CLASS = 5;
const EXTRA = 6;

function endToEndOf(task: Task, name: string): Head {
  return { name, read: (signature) => read(signature, task, name), contradiction, decode };
}

function read(signature: ModelSignature, task: Task, head: string): HeadReading[] {
  const found = taskReading(signature, task);
  if (found === undefined || found.main.dims[2] !== EXTRA + found.extraColumns) return [];
  const { main, others, extra, words } = found;
  const { labels, inputWidth, inputHeight } = signature;
  const { classCount, assumed } = classCountOf(labels);
  const box = task === 'obb' ? 'centre, size' : 'x1, y1, x2, y2';
  return [
    {
      layout: { head, outputs: [main.name, ...others], classCount, inputWidth, inputHeight, extra },
      family: { ...ULTRALYTICS, iouThreshold: null },
      evidence: [`[${main.dims.join(', ')}] is rows of ${box}, score, class${words}`],
      assumed,
    },
  ];
}

function rowsOf(outputs: HeadOutputs, layout: HeadLayout): Matrix {
  const { extra } = layout;
  const extraColumns = extra === undefined ? 0 : extra.kind === 'rotated' ? 1 : extraSize(extra);
  return matrixOf(outputs, layout, { columns: EXTRA + extraColumns });
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const { data, rows, columns } = rowsOf(outputs, layout);
  let greatest = 0;
  for (let row = 0, at = 0; row < rows; row++, at += columns) {
    const [x1, y1, x2, y2, score, classId] = data.subarray(at, at + EXTRA);
    if (!(score <= 1)) return `row ${row} has a score of ${score}, above 1`;
    // Rows that only fill the table up may hold -1.
    if (score < 0 && score !== -1) return `row ${row} has a score of ${score}, below 0`;
    if (row > 0 && score > data[at - columns + SCORE])
      return `scores do not fall from row ${row - 1} to row ${row}: not sorted, so not suppressed either`;
    if (!(score > 0)) continue;
    const noClass = classIdContradiction(classId, row);
    if (noClass !== undefined) return noClass;
    if (layout.extra?.kind === 'rotated') {
      if (!(x2 >= 0 && y2 >= 0)) return `row ${row} has the sizes ${x2} and ${y2}, below 0`;
    } else if (!(x1 <= x2 && y1 <= y2))
      return `row ${row} has the corners (${x1}, ${y1}) and (${x2}, ${y2}), the second before the first`;
    greatest = Math.max(greatest, x2, y2);
  }
  return fractionsContradiction(greatest);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data, columns } = rowsOf(outputs, layout);
  const { extra } = layout;
  const size = columns - EXTRA;
  for (let at = 0; at < data.length; at += columns) {
    const confidence = data[at + SCORE];
    if (!(confidence > confidenceThreshold)) continue;
    const classId = classIdOf(data[at + CLASS], layout);
    if (extra?.kind === 'rotated')
      pushRotated(into, data[at], data[at + 1], data[at + 2], data[at + 3], data[at + EXTRA], confidence, classId);
    else if (areFinite(data, at + EXTRA, 1, size) && pushXyxyAt(into, data, at, confidence, classId) && size > 0)
      into.setExtra(data, at + EXTRA, 1, size);
  }
}
