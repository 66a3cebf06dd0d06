import type { Candidates } from '../candidates.js';
import { COCO_CATEGORY_IDS } from '../coco-categories.js';
import { pushFractions } from './boxes.js';
import { centreFractionsContradiction } from './corners.js';
import { DETR, RT_DETR } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { type Matrix, tableOf } from './outputs.js';
import { boxRows } from './roles.js';
import { logitBelow, logitsContradiction, sigmoid } from './sigmoid.js';

//   logits [1, K, columns]              boxes [1, K, 4]             one row a query
//
//            column 0  ...                       cx   cy   w    h
//   row 0  |  -3.1   |   |  2.4  |      row 0  | .. | .. | .. | .. |     cx, cy, w, h: 0..1, fractions of the input
//
//   detr-logits: each class by its sigmoid; of all pairs of query and class the K best count
//   detr-softmax: the best class by the softmax of all columns, the last of which says that there is nothing
//
//   A column is a class; 91 (92 with nothing) are COCO's category ids, 0 to 90 with gaps.

export const detrLogits: Head = {
  name: 'detr-logits',
  read: (signature) => read(signature, 'detr-logits', 0),
  contradiction: sigmoidContradiction,
  decode: decodeSigmoid,
};

export const detrSoftmax: Head = {
  name: 'detr-softmax',
  read: (signature) => read(signature, 'detr-softmax', 1),
  contradiction: softmaxContradiction,
  decode: decodeSoftmax,
};

/** Columns by COCO category id. */
const CATEGORY_COLUMNS = 91;

function read(signature: ModelSignature, head: string, nothingColumns: 0 | 1): HeadReading[] {
  const { outputs, labels, inputWidth, inputHeight } = signature;
  if (outputs.length !== 2) return [];
  return [outputs, [...outputs].reverse()].flatMap(([logits, boxes]): HeadReading[] => {
    const rows = boxRows(boxes);
    if (rows === undefined || logits.dims.length !== 3 || logits.dims[1] !== rows) return [];
    const columns = logits.dims[2] - nothingColumns;
    const isByCategory =
      columns === CATEGORY_COLUMNS && (labels?.length ?? COCO_CATEGORY_IDS.length) === COCO_CATEGORY_IDS.length;
    const classCount = isByCategory ? COCO_CATEGORY_IDS.length : columns;
    if (classCount < 1 || (labels !== undefined && labels.length !== classCount)) return [];
    const [family, other] = isByCategory ? [DETR, RT_DETR] : [RT_DETR, DETR];
    return [
      {
        layout: { head, outputs: [logits.name, boxes.name], classCount, inputWidth, inputHeight },
        family,
        otherFamilies: [other],
        evidence: [
          `${logits.name} and ${boxes.name} are ${rows} queries by ${columns} ${isByCategory ? 'COCO category ids' : 'classes'}` +
            `${nothingColumns === 1 ? ' and nothing' : ''}, and their centres and sizes (0..1)`,
        ],
      },
    ];
  });
}

function tables(outputs: HeadOutputs, layout: HeadLayout): { logits: Matrix; boxes: Matrix } {
  const boxes = tableOf(outputs, layout, 1, 4);
  const columns = (outputs.get(layout.outputs[0])?.data.length ?? 0) / boxes.rows;
  return { boxes, logits: tableOf(outputs, layout, 0, columns, boxes.rows) };
}

/** The class of each column, -1 for none. */
function classesOf(columns: number, { classCount }: HeadLayout): Int32Array {
  const isByCategory = classCount === COCO_CATEGORY_IDS.length && columns >= CATEGORY_COLUMNS;
  return Int32Array.from({ length: columns }, (_, column) =>
    isByCategory ? COCO_CATEGORY_IDS.indexOf(column) : column < classCount ? column : -1,
  );
}

/** Rows whose last column is greater than every other, and than `least`. */
function lastIsGreatest({ data, rows, columns }: Matrix, least = -Infinity): number {
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const last = (row + 1) * columns - 1;
    let isGreatest = data[last] > least;
    for (let at = row * columns; at < last; at++) if (data[at] >= data[last]) isGreatest = false;
    if (isGreatest) count++;
  }
  return count;
}

function sigmoidContradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const { logits, boxes } = tables(outputs, layout);
  // A class that is seen often can be the last one: below 0 it is not found, as nothing would be in most rows.
  const count = lastIsGreatest(logits, 0);
  if (logits.columns > 1 && count * 2 > logits.rows)
    return `the last column is the greatest in ${count} of ${logits.rows} rows, as one for nothing is`;
  return logitsContradiction(logits.data, 'its values') ?? centreFractionsContradiction(boxes);
}

function softmaxContradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const { logits, boxes } = tables(outputs, layout);
  const count = lastIsGreatest(logits);
  if (count * 2 <= logits.rows)
    return `the last column is the greatest in ${count} of ${logits.rows} rows only, so it does not stand for nothing`;
  return logitsContradiction(logits.data, 'its values') ?? centreFractionsContradiction(boxes);
}

function decodeSigmoid(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { logits, boxes } = tables(outputs, layout);
  const { data, rows, columns } = logits;
  const { inputWidth, inputHeight } = layout;
  const classes = classesOf(columns, layout);
  const least = logitBelow(confidenceThreshold);
  for (let at = 0; at < rows * columns; at++) {
    if (!(data[at] > least)) continue;
    const confidence = sigmoid(data[at]);
    const classId = classes[at % columns];
    if (classId < 0 || !(confidence > confidenceThreshold)) continue;
    pushFractions(into, boxes.data, 4 * Math.floor(at / columns), inputWidth, inputHeight, confidence, classId);
  }
  keepBest(into, rows);
}

/** Of more than `most` candidates the most confident ones; of equal ones the first. */
function keepBest(candidates: Candidates, most: number): void {
  const { length } = candidates;
  if (length <= most) return;
  const sorted = candidates.confidence.slice(0, length).sort();
  const least = sorted[length - most];
  let equal = most - sorted.reduce((count, confidence) => count + Number(confidence > least), 0);
  candidates.keep((_, confidence) => confidence > least || (confidence === least && equal-- > 0));
}

function decodeSoftmax(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { logits, boxes } = tables(outputs, layout);
  const { data, rows, columns } = logits;
  const { inputWidth, inputHeight } = layout;
  const classes = classesOf(columns, layout);
  // The last column is that of nothing.
  classes[columns - 1] = -1;
  for (let row = 0; row < rows; row++) {
    const scores = data.subarray(row * columns, (row + 1) * columns);
    const greatest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    const sum = scores.reduce((total, logit) => total + Math.exp(logit - greatest), 0);
    let best = -1;
    for (let column = 0; column < columns; column++) {
      if (classes[column] < 0) continue;
      const confidence = Math.fround(Math.exp(scores[column] - greatest) / sum);
      if (!(confidence > confidenceThreshold)) continue;
      if (into.multiLabel)
        pushFractions(into, boxes.data, 4 * row, inputWidth, inputHeight, confidence, classes[column]);
      else if (best < 0 || scores[column] > scores[best]) best = column;
    }
    if (best < 0) continue;
    const confidence = Math.fround(Math.exp(scores[best] - greatest) / sum);
    pushFractions(into, boxes.data, 4 * row, inputWidth, inputHeight, confidence, classes[best]);
  }
}
