import type { Candidates } from '../candidates.js';
import { eachBestClass } from './best-class.js';
import { expectation, levelStrides, levelStridesOf, pushDistances } from './distances.js';
import { NANODET } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { scoresContradiction, shapeMismatch, tableOf } from './outputs.js';
import type { Output } from './roles.js';
import { logitsContradiction } from './sigmoid.js';

//   two outputs for each stride, one row a cell (NanoDet)
//
//   classes [1, h * w, C]        distances [1, h * w, 4 * bins]
//
//   | .02 |   | .91 |            | left, bins 0..B-1 | top | right | bottom |     classes: 0..1
//                                                                                 distance = mean of the softmax of its bins, in strides,
//                                                                                 from the middle of the cell

export const nanodet: Head = { name: 'nanodet', read, contradiction, decode };

/** Bins that a distance may have. */
const LEAST_BINS = 4;
const MOST_BINS = 32;

function read(signature: ModelSignature): HeadReading[] {
  const { outputs, labels, inputWidth, inputHeight } = signature;
  if (outputs.length < 4 || outputs.length % 2 !== 0 || outputs.some(({ dims }) => dims.length !== 3)) return [];
  const counts = [...new Set(outputs.map(({ dims }) => dims[1]))].sort((a, b) => b - a);
  const strides = levelStrides(counts, inputWidth, inputHeight);
  const widths = [...new Set(outputs.map(({ dims }) => dims[2]))];
  if (strides === undefined || counts.length * 2 !== outputs.length || widths.length !== 2) return [];
  return [widths, [...widths].reverse()].flatMap(([classCount, distances]) => {
    const bins = distances / 4;
    if (!Number.isInteger(bins) || bins < LEAST_BINS || bins > MOST_BINS) return [];
    if (labels !== undefined && labels.length !== classCount) return [];
    const found = [classCount, distances].map((width) => counts.map((count) => outputOf(outputs, count, width)));
    const names = found.flat().flatMap((output) => output?.name ?? []);
    if (names.length !== outputs.length) return [];
    return [
      {
        layout: { head: 'nanodet', outputs: names, classCount, inputWidth, inputHeight },
        family: NANODET,
        evidence: [
          `${names.length} outputs are, for the cells of strides ${strides.join(', ')}, ${classCount} classes and 4 distances of ${bins} bins`,
        ],
      },
    ];
  });
}

function outputOf(outputs: readonly Output[], count: number, width: number): Output | undefined {
  return outputs.find(({ dims }) => dims[1] === count && dims[2] === width);
}

function contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const levels = Math.ceil(layout.outputs.length / 2);
  for (const [index, name] of layout.outputs.entries()) {
    const data = outputs.get(name)?.data ?? new Float32Array(0);
    const against = index < levels ? scoresContradiction(data, 0, data.length) : logitsContradiction(data, 'distances');
    if (against !== undefined) return `${name} has ${against}`;
  }
  return undefined;
}

function decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const { classCount } = layout;
  const levels = Math.ceil(layout.outputs.length / 2);
  const classes = Array.from({ length: levels }, (_, level) => tableOf(outputs, layout, level, classCount));
  const cells = classes.map(({ rows }) => rows);
  const strides = levelStridesOf(outputs, layout, cells);
  for (const [level, { data: scores, rows }] of classes.entries()) {
    const columns = outputs.get(layout.outputs[levels + level])?.dims.at(-1) ?? 0;
    const { data } = tableOf(outputs, layout, levels + level, columns, rows);
    if (columns % 4 !== 0) throw shapeMismatch(outputs, layout, 'rows of four distances', levels + level);
    const stride = strides[level];
    const bins = columns / 4;
    const side = (row: number, number: number) => expectation(data, row * columns + number * bins, 1, bins) * stride;
    const table = { data: scores, rows, classCount, first: 0, rowStep: classCount, classStep: 1 };
    eachBestClass(table, confidenceThreshold, into.multiLabel, (row, confidence, classId) => {
      const [left, top, right, bottom] = [side(row, 0), side(row, 1), side(row, 2), side(row, 3)];
      pushDistances(into, layout, stride, row, 0.5, left, top, right, bottom, confidence, classId);
    });
  }
}
