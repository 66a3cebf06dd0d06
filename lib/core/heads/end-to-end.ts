import { YoloError } from '../../errors.js';
import type { Candidates } from '../candidates.js';
import { pushXyxy } from './boxes.js';
import { ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, matrixOf } from './outputs.js';

//   output [1, K, 6], K rows at most, best first, already suppressed
//
//            x1   y1   x2   y2  score  class      x, y: input pixels
//   row 0  | .. | .. | .. | .. |  .93 |   0 |     score: 0..1, falling
//   row 1  | .. | .. | .. | .. |  .88 |  16 |     class: a whole number
//     :
//   row K-1|  0 |  0 |  0 |  0 |   0  |   0 |     padding

/** Without names the class count is not in the file: COCO's 80 until `labels` says otherwise. */
const ASSUMED_CLASS_COUNT = 80;

export const endToEnd: Head = { name: 'end-to-end', read, contradiction, decode };

function read({ outputs, labels, inputWidth, inputHeight }: ModelSignature): HeadReading[] {
  const [output] = outputs;
  if (outputs.length !== 1 || output.dims.length !== 3 || output.dims[2] !== 6) return [];
  const classCount = labels?.length ?? ASSUMED_CLASS_COUNT;
  return [
    {
      layout: { head: 'end-to-end', outputs: [output.name], classCount, inputWidth, inputHeight },
      family: { ...ULTRALYTICS, iouThreshold: null },
      evidence: [`[${output.dims.join(', ')}] is rows of x1, y1, x2, y2, score, class`],
      assumed:
        labels === undefined ? [`${ASSUMED_CLASS_COUNT} classes, as COCO has: the file does not say how many`] : [],
    },
  ];
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const { data, rows } = matrixOf(outputs, layout, { columns: 6 });
  let greatest = 0;
  for (let row = 0, at = 0; row < rows; row++, at += 6) {
    const [x1, y1, x2, y2, score, classId] = data.subarray(at, at + 6);
    if (!(score <= 1)) return `row ${row} has a score of ${score}, above 1`;
    if (row > 0 && score > data[at - 2])
      return `scores do not fall from row ${row - 1} to row ${row}: not sorted, so not suppressed either`;
    if (!(score > 0)) continue;
    if (!(classId >= 0) || !Number.isInteger(classId))
      return `row ${row} has the class ${classId}, which is no whole number from 0`;
    if (!(x1 <= x2 && y1 <= y2))
      return `row ${row} has the corners (${x1}, ${y1}) and (${x2}, ${y2}), the second before the first`;
    greatest = Math.max(greatest, x2, y2);
  }
  return fractionsContradiction(greatest);
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data } = matrixOf(outputs, layout, { columns: 6 });
  for (let at = 0; at < data.length; at += 6) {
    const confidence = data[at + 4];
    if (!(confidence > confidenceThreshold)) continue;
    const classId = Math.trunc(data[at + 5]);
    if (!(classId >= 0 && classId < layout.classCount)) throw classOutside(data[at + 5], layout);
    pushXyxy(into, data[at], data[at + 1], data[at + 2], data[at + 3], confidence, classId);
  }
}

function classOutside(value: number, layout: HeadLayout): YoloError {
  return new YoloError(
    'ERR_YOLO_SHAPE_MISMATCH',
    `Output ${JSON.stringify(layout.outputs[0])} has a detection of class ${value}, but the model is taken to have ${layout.classCount} classes. ` +
      'Give the names of all its classes with `labels`.',
    { phase: 'postprocess', detail: { output: layout.outputs[0], classId: value, classCount: layout.classCount } },
  );
}
