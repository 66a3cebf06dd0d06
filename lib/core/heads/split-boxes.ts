import type { Candidates } from '../candidates.js';
import { eachBestClass, type ScoreTable } from './best-class.js';
import { pushXyxy } from './boxes.js';
import { boxValues } from './corners.js';
import { PADDLE, PADDLE_NORMALISED, ULTRALYTICS, YOLO_NAS, YOLOV4, YOLOX } from './families.js';
import type { Family, Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, type Matrix, scoresContradiction, tableOf } from './outputs.js';
import { boxRows } from './roles.js';

//   boxes [1, N, 4] or [1, N, 1, 4]      scores [1, N, C] or [1, C, N]      before suppression
//
//            x1   y1   x2   y2                      class 0  ...  class C-1
//   row 0  | .. | .. | .. | .. |           row 0  |   .02   |   |   .91   |       scores: 0..1, objectness included
//     :
//
//   split-boxes: corners in input pixels      split-boxes-fractions: corners from 0 to 1

export const splitBoxes = splitBoxesOf('split-boxes', false);
export const splitBoxesFractions = splitBoxesOf('split-boxes-fractions', true);

function splitBoxesOf(name: string, isFractions: boolean): Head {
  return {
    name,
    read: (signature) => read(signature, name, isFractions),
    contradiction: (outputs, layout) => contradiction(outputs, layout, isFractions),
    decode: (outputs, layout, confidenceThreshold, into) =>
      decode(outputs, layout, isFractions, confidenceThreshold, into),
  };
}

function read(signature: ModelSignature, head: string, isFractions: boolean): HeadReading[] {
  const { inputs, outputs, labels, inputWidth, inputHeight } = signature;
  if (outputs.length !== 2) return [];
  return [outputs, [...outputs].reverse()].flatMap(([boxes, scores]): HeadReading[] => {
    const rows = boxRows(boxes);
    if (rows === undefined || scores.dims.length !== 3) return [];
    const [, first, second] = scores.dims;
    const classCount = first === rows ? second : second === rows ? first : 0;
    if (classCount < 1 || (labels !== undefined && labels.length !== classCount)) return [];
    return [
      {
        layout: { head, outputs: [boxes.name, scores.name], classCount, inputWidth, inputHeight },
        ...familiesOf(inputs, isFractions),
        evidence: [`${boxes.name} and ${scores.name} are ${rows} boxes and their scores for ${classCount} classes`],
      },
    ];
  });
}

function familiesOf(
  inputs: ModelSignature['inputs'],
  isFractions: boolean,
): Pick<HeadReading, 'family' | 'otherFamilies'> {
  if (isFractions) return { family: YOLOV4 };
  const isPaddle = inputs.some(({ name }) => name === 'scale_factor');
  const families: [Family, ...Family[]] = isPaddle
    ? [PADDLE, PADDLE_NORMALISED]
    : [YOLO_NAS, YOLOX, { ...ULTRALYTICS, placement: 'stretch', name: 'Ultralytics, stretched' }];
  return { family: families[0], otherFamilies: families.slice(1) };
}

function tables(outputs: HeadOutputs, layout: HeadLayout): { boxes: Matrix; scores: ScoreTable } {
  const boxes = tableOf(outputs, layout, 0, 4);
  const { rows } = boxes;
  const { classCount } = layout;
  const isByRow = outputs.get(layout.outputs[1])?.dims.at(-1) === classCount;
  const { data } = isByRow
    ? tableOf(outputs, layout, 1, classCount, rows)
    : tableOf(outputs, layout, 1, rows, classCount);
  const steps = isByRow ? { rowStep: classCount, classStep: 1 } : { rowStep: 1, classStep: rows };
  return { boxes, scores: { data, rows, classCount, first: 0, ...steps } };
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout, isFractions: boolean): string | undefined {
  const { boxes, scores } = tables(outputs, layout);
  const outside = scoresContradiction(scores.data, 0, scores.data.length);
  if (outside !== undefined) return `${layout.outputs[1]} has ${outside}`;
  const { ordered, greatest } = boxValues(boxes);
  if (ordered < boxes.rows) return `${boxes.rows - ordered} boxes have their second corner before the first`;
  if (isFractions) return greatest > 2 ? `boxes reach ${greatest}: pixels, not fractions of the input` : undefined;
  return fractionsContradiction(greatest);
}

function decode(
  outputs: HeadOutputs,
  layout: HeadLayout,
  isFractions: boolean,
  confidenceThreshold: number,
  into: Candidates,
): void {
  const { boxes, scores } = tables(outputs, layout);
  const { data } = boxes;
  const scaleX = isFractions ? layout.inputWidth : 1;
  const scaleY = isFractions ? layout.inputHeight : 1;
  eachBestClass(scores, confidenceThreshold, into.multiLabel, (row, confidence, classId) => {
    const at = 4 * row;
    const [x1, y1] = [data[at] * scaleX, data[at + 1] * scaleY];
    pushXyxy(into, x1, y1, data[at + 2] * scaleX, data[at + 3] * scaleY, confidence, classId);
  });
}
