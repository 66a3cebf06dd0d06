import type { Candidates } from '../candidates.js';
import { extraSize } from '../extra.js';
import { areFinite, pushCxcywh, pushRotated } from './boxes.js';
import { ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, type Matrix, matrixOf, scoresContradiction, stridesOf } from './outputs.js';
import { readCells } from './read-cells.js';
import { type Task, taskReading } from './tasks.js';

//   output [1, 4 + classes + extra, N], one column for each of N cells of all strides, no objectness
//
//               cell 0  cell 1  ...  cell N-1
//   cx        |   ..  |   ..  |    |   ..   |     input pixels
//   cy        |   ..  |   ..  |    |   ..   |
//   w         |   ..  |   ..  |    |   ..   |
//   h         |   ..  |   ..  |    |   ..   |
//   class 0   |  .02  |  .00  |    |  .91   |     0..1
//     :
//   class C-1 |  .00  |  .01  |    |  .03   |
//   extra     |   ..  |   ..  |    |   ..   |     segment: coefficients of the masks in a second output [1, M, h, w]
//     :                                            pose: x, y (input pixels) and visibility (0..1) of each keypoint
//                                                  obb: the angle in radians, of a box given by cx, cy, w, h before it is turned

export const anchorFree = anchorFreeOf('detect', 'anchor-free');
export const anchorFreeSegment = anchorFreeOf('segment', 'anchor-free-segment');
export const anchorFreePose = anchorFreeOf('pose', 'anchor-free-pose');
export const anchorFreeObb = anchorFreeOf('obb', 'anchor-free-obb');

const FIRST_CLASS = 4;

function anchorFreeOf(task: Task, name: string): Head {
  return { name, read: (signature) => read(signature, task, name), contradiction, decode };
}

function read(signature: ModelSignature, task: Task, head: string): HeadReading[] {
  const found = taskReading(signature, task);
  if (found === undefined) return [];
  const readings = readCells(
    { ...signature, outputs: [found.main] },
    {
      head,
      family: ULTRALYTICS,
      anchorsPerCell: 1,
      anchorAxis: 2,
      firstClass: FIRST_CLASS,
      extraColumns: found.extraColumns,
      extraWords: found.words,
    },
  );
  return readings.map((reading) => ({
    ...reading,
    layout: { ...reading.layout, outputs: [found.main.name, ...found.others], extra: found.extra },
  }));
}

function cellsOf(outputs: HeadOutputs, layout: HeadLayout): Matrix & { firstExtra: number } {
  const firstExtra = FIRST_CLASS + layout.classCount;
  const rows = firstExtra + extraColumns(layout);
  return { ...matrixOf(outputs, layout, { rows }), firstExtra };
}

function extraColumns({ extra }: HeadLayout): number {
  if (extra === undefined) return 0;
  return extra.kind === 'rotated' ? 1 : extraSize(extra);
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const { data, columns: cells, firstExtra } = cellsOf(outputs, layout);
  let greatest = 0;
  for (let at = 2 * cells; at < 4 * cells; at++) {
    if (data[at] < 0) return `a box has the size ${data[at]}, below 0`;
    greatest = Math.max(greatest, data[at]);
  }
  return (
    scoresContradiction(data, FIRST_CLASS * cells, firstExtra * cells) ??
    fractionsContradiction(greatest) ??
    extraContradiction(data.subarray(firstExtra * cells), layout)
  );
}

/** Keypoints and angles that could be scores as well are taken for scores. */
function extraContradiction(extra: Float32Array, { extra: layout }: HeadLayout): string | undefined {
  const isWithin = (least: number, most: number) => extra.every((value) => value >= least && value <= most);
  if (layout?.kind === 'keypoints' && isWithin(-Infinity, 2))
    return 'no keypoint lies beyond 2: none of them is a place in pixels';
  if (layout?.kind === 'rotated' && isWithin(0, 1)) return 'all angles lie from 0 to 1, as scores do';
  return undefined;
}

// Best score and class of every cell. Kept between calls, which never overlap, so that a picture allocates nothing.
let bestScore = new Float32Array(0);
let bestClass = new Int32Array(0);

const THRESHOLD = new Float32Array(1);
const THRESHOLD_WORD = new Int32Array(THRESHOLD.buffer);

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data, columns: cells, firstExtra } = cellsOf(outputs, layout);
  stridesOf(outputs, layout, cells, 1);
  if (into.multiLabel) {
    decodeEveryClass(data, cells, layout, confidenceThreshold, into);
    return;
  }
  if (bestScore.length < cells) {
    bestScore = new Float32Array(cells);
    bestClass = new Int32Array(cells);
  }
  const score = bestScore.fill(0, 0, cells);
  // Floats that are not negative rank as the integers of their bits, and comparing those spares a conversion for each score,
  // almost none of which counts.
  const words = new Int32Array(data.buffer, data.byteOffset, firstExtra * cells);
  THRESHOLD[0] = confidenceThreshold;
  const threshold = THRESHOLD_WORD[0];
  const start = FIRST_CLASS * cells;
  for (let at = nextAbove(words, start, threshold); at < words.length; at = nextAbove(words, at + 1, threshold)) {
    const cell = at % cells;
    // Class by class, as the scores lie in memory: of equal ones the first stays. NaN is greater than nothing.
    if (!(data[at] > score[cell])) continue;
    score[cell] = data[at];
    bestClass[cell] = Math.floor(at / cells) - FIRST_CLASS;
  }
  for (let cell = 0; cell < cells; cell++) {
    if (score[cell] !== 0) pushCell(into, data, cells, cell, score[cell], bestClass[cell], layout);
  }
}

/** Cell by cell, so that boxes of equal scores come in the same order as from other layouts. */
function decodeEveryClass(
  data: Float32Array,
  cells: number,
  layout: HeadLayout,
  confidenceThreshold: number,
  into: Candidates,
): void {
  for (let cell = 0; cell < cells; cell++) {
    for (let classId = 0; classId < layout.classCount; classId++) {
      const confidence = data[(FIRST_CLASS + classId) * cells + cell];
      if (confidence > confidenceThreshold) pushCell(into, data, cells, cell, confidence, classId, layout);
    }
  }
}

function pushCell(
  into: Candidates,
  data: Float32Array,
  cells: number,
  cell: number,
  confidence: number,
  classId: number,
  { classCount, extra }: HeadLayout,
): void {
  const x = data[cell];
  const y = data[cells + cell];
  const w = data[2 * cells + cell];
  const h = data[3 * cells + cell];
  const firstExtra = (FIRST_CLASS + classCount) * cells + cell;
  if (extra?.kind === 'rotated') {
    pushRotated(into, x, y, w, h, data[firstExtra], confidence, classId);
    return;
  }
  const size = extra === undefined ? 0 : extraSize(extra);
  if (!areFinite(data, firstExtra, cells, size)) return;
  if (pushCxcywh(into, x, y, w, h, confidence, classId) && size > 0) into.setExtra(data, firstExtra, cells, size);
}

/**
 * The next position from `start` whose word is greater than `threshold`, which is not negative.
 * In a loop of its own, four at a time, 0.5 ms for [84, 8400] instead of 1.3.
 */
function nextAbove(words: Int32Array, start: number, threshold: number): number {
  let at = start;
  // A difference below 0 leaves its sign bit in all four together. A word far below 0 does so too: it only ends this loop early.
  for (; at + 3 < words.length; at += 4) {
    const signs =
      (threshold - words[at]) | (threshold - words[at + 1]) | (threshold - words[at + 2]) | (threshold - words[at + 3]);
    if (signs < 0) break;
  }
  while (at < words.length && words[at] <= threshold) at++;
  return at;
}
