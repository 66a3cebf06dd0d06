import type { Candidates } from '../candidates.js';
import { pushCxcywh } from './boxes.js';
import { ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, matrixOf, scoresContradiction, stridesOf } from './outputs.js';
import { readCells } from './read-cells.js';

//   output [1, 4 + classes, N], one column for each of N cells of all strides, no objectness
//
//               cell 0  cell 1  ...  cell N-1
//   cx        |   ..  |   ..  |    |   ..   |     input pixels
//   cy        |   ..  |   ..  |    |   ..   |
//   w         |   ..  |   ..  |    |   ..   |
//   h         |   ..  |   ..  |    |   ..   |
//   class 0   |  .02  |  .00  |    |  .91   |     0..1
//     :
//   class C-1 |  .00  |  .01  |    |  .03   |

export const anchorFree: Head = { name: 'anchor-free', read, contradiction, decode };

function read(signature: ModelSignature): HeadReading[] {
  return readCells(signature, {
    head: 'anchor-free',
    family: ULTRALYTICS,
    anchorsPerCell: 1,
    anchorAxis: 2,
    firstClass: 4,
  });
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const { data, columns: cells } = matrixOf(outputs, layout, { rows: 4 + layout.classCount });
  let greatest = 0;
  for (let at = 2 * cells; at < 4 * cells; at++) {
    if (data[at] < 0) return `a box has the size ${data[at]}, below 0`;
    greatest = Math.max(greatest, data[at]);
  }
  return scoresContradiction(data, 4 * cells, data.length) ?? fractionsContradiction(greatest);
}

// Best score and class of every cell. Kept between calls, which never overlap, so that a picture allocates nothing.
let bestScore = new Float32Array(0);
let bestClass = new Int32Array(0);

const THRESHOLD = new Float32Array(1);
const THRESHOLD_WORD = new Int32Array(THRESHOLD.buffer);

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { data, columns: cells } = matrixOf(outputs, layout, { rows: 4 + layout.classCount });
  stridesOf(outputs, layout, cells, 1);
  if (bestScore.length < cells) {
    bestScore = new Float32Array(cells);
    bestClass = new Int32Array(cells);
  }
  const score = bestScore.fill(0, 0, cells);
  // Floats that are not negative rank as the integers of their bits, and comparing those spares a conversion for each score,
  // almost none of which counts.
  const words = new Int32Array(data.buffer, data.byteOffset, data.length);
  THRESHOLD[0] = confidenceThreshold;
  const threshold = THRESHOLD_WORD[0];
  for (let at = nextAbove(words, 4 * cells, threshold); at < words.length; at = nextAbove(words, at + 1, threshold)) {
    const cell = at % cells;
    // Class by class, as the scores lie in memory: of equal ones the first stays. NaN is greater than nothing.
    if (!(data[at] > score[cell])) continue;
    const classId = Math.floor(at / cells) - 4;
    if (into.multiLabel) {
      const w = data[2 * cells + cell];
      const h = data[3 * cells + cell];
      pushCxcywh(into, data[cell], data[cells + cell], w, h, data[at], classId);
    } else {
      score[cell] = data[at];
      bestClass[cell] = classId;
    }
  }
  for (let cell = 0; cell < cells; cell++) {
    if (score[cell] === 0) continue;
    const w = data[2 * cells + cell];
    const h = data[3 * cells + cell];
    pushCxcywh(into, data[cell], data[cells + cell], w, h, score[cell], bestClass[cell]);
  }
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
