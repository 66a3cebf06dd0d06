import type { Candidates } from '../candidates.js';
import { eachBestClass, type ScoreTable } from './best-class.js';
import { expectation, levelStrides, levelStridesOf, pushDistances } from './distances.js';
import { RTMDET, ULTRALYTICS } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { scoresContradiction, shapeMismatch } from './outputs.js';
import type { Output } from './roles.js';
import { logitBelow, logitsContradiction, sigmoid } from './sigmoid.js';

//   two maps for each stride: classes [1, C, h, w] and the distances of a box's four sides
//
//   distance-bins: distances [1, 4 * bins, h, w], the mean of the softmax of each side's bins, in strides, from the middle of the
//   cell; classes from 0 to 1; perhaps a third map [1, 1, h, w], the sum of the classes (YOLOv8 for RKNN)
//
//   rtmdet: distances [1, 4, h, w] in pixels, from the upper left corner of the cell; classes before the sigmoid
//
//   Either way sides are in the order left, top, right, bottom.

export const distanceBins: Head = {
  name: 'distance-bins',
  read: readBins,
  contradiction: binsContradiction,
  decode: decodeBins,
};

export const rtmdet: Head = {
  name: 'rtmdet',
  read: readRtmdet,
  contradiction: rtmdetContradiction,
  decode: decodeRtmdet,
};

/** As every exporter for RKNN writes it. */
const BINS = 16;

/** Outputs by level, finest first. Undefined where they are no maps, or the levels are not alike. */
function levelsOf({
  outputs,
  inputWidth,
  inputHeight,
}: ModelSignature): { maps: Output[][]; strides: number[] } | undefined {
  if (outputs.some(({ dims }) => dims.length !== 4)) return undefined;
  const cellsOf = ({ dims }: Output) => dims[2] * dims[3];
  const counts = [...new Set(outputs.map(cellsOf))].sort((a, b) => b - a);
  const strides = levelStrides(counts, inputWidth, inputHeight);
  if (strides === undefined || counts.length < 2) return undefined;
  return { maps: counts.map((count) => outputs.filter((output) => cellsOf(output) === count)), strides };
}

/** Of each level the classes and the distances, a map of one channel being left out; undefined where there are other maps. */
function pairsOf(
  maps: readonly Output[][],
  distanceChannels: number,
): [classes: Output, distances: Output][] | undefined {
  const pairs = maps.map((level): [Output, Output] | undefined => {
    const [distances, ...more] = level.filter(({ dims }) => dims[1] === distanceChannels);
    const others = level.filter((output) => output !== distances);
    const wide = others.length === 1 ? others : others.filter(({ dims }) => dims[1] !== 1);
    // Of one class the sum is the class itself.
    const [classes, ...rest] = wide.length > 0 ? wide : others.slice(0, 1);
    const isPair = classes !== undefined && distances !== undefined && level.length <= 3;
    return isPair && more.length === 0 && rest.length === 0 ? [classes, distances] : undefined;
  });
  const known = pairs.flatMap((pair) => (pair === undefined ? [] : [pair]));
  const isAlike = known.every(([classes]) => classes.dims[1] === known[0][0].dims[1]);
  return known.length === maps.length && isAlike ? known : undefined;
}

function readMaps(signature: ModelSignature, head: string, distanceChannels: number): HeadReading[] {
  const levels = levelsOf(signature);
  const pairs = levels && pairsOf(levels.maps, distanceChannels);
  if (levels === undefined || pairs === undefined) return [];
  const { labels, inputWidth, inputHeight } = signature;
  const classCount = pairs[0][0].dims[1];
  if (labels !== undefined && labels.length !== classCount) return [];
  const outputs = [...pairs.map(([classes]) => classes.name), ...pairs.map(([, distances]) => distances.name)];
  const seen = `maps of strides ${levels.strides.join(', ')}: ${classCount} classes, and ${distanceChannels} channels of distances`;
  return [
    {
      layout: { head, outputs, classCount, inputWidth, inputHeight },
      family: ULTRALYTICS,
      evidence: [seen],
    },
  ];
}

function readBins(signature: ModelSignature): HeadReading[] {
  return readMaps(signature, 'distance-bins', 4 * BINS);
}

function readRtmdet(signature: ModelSignature): HeadReading[] {
  return readMaps(signature, 'rtmdet', 4).map((reading) => ({
    ...reading,
    family: RTMDET,
    needsProof:
      "its maps do not say where in a cell boxes are measured from: set `head` to 'rtmdet' if it is an RTMDet",
  }));
}

/** One map of a run, its cells in one line. */
function mapOf(
  outputs: HeadOutputs,
  layout: HeadLayout,
  index: number,
  channels: number,
): { data: Float32Array; cells: number } {
  const output = outputs.get(layout.outputs[index]);
  const cells = (output?.data.length ?? 0) / channels;
  if (output?.dims[0] !== channels || !Number.isInteger(cells))
    throw shapeMismatch(outputs, layout, `[${channels}, h, w]`, index);
  return { data: output.data, cells };
}

/** A level of a run: scores [C, cells] and distances [channels, cells]. */
interface MapLevel {
  readonly scores: ScoreTable;
  readonly distances: Float32Array;
  readonly cells: number;
  readonly stride: number;
}

function levelsOfRun(outputs: HeadOutputs, layout: HeadLayout, distanceChannels: number): MapLevel[] {
  const { classCount } = layout;
  const levels = Math.ceil(layout.outputs.length / 2);
  const classes = Array.from({ length: levels }, (_, level) => mapOf(outputs, layout, level, classCount));
  const strides = levelStridesOf(
    outputs,
    layout,
    classes.map(({ cells }) => cells),
  );
  return classes.map(({ data, cells }, level) => {
    const distances = mapOf(outputs, layout, levels + level, distanceChannels);
    if (distances.cells !== cells)
      throw shapeMismatch(outputs, layout, `[${distanceChannels}, h, w] of ${cells} cells`, levels + level);
    const scores = { data, rows: cells, classCount, first: 0, rowStep: 1, classStep: cells };
    return { scores, distances: distances.data, cells, stride: strides[level] };
  });
}

function binsContradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const levels = Math.ceil(layout.outputs.length / 2);
  for (let level = 0; level < levels; level++) {
    const { data } = mapOf(outputs, layout, level, layout.classCount);
    const outside = scoresContradiction(data, 0, data.length);
    if (outside !== undefined) return `${layout.outputs[level]} has ${outside}`;
  }
  return undefined;
}

function decodeBins(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  for (const { scores, distances, cells, stride } of levelsOfRun(outputs, layout, 4 * BINS)) {
    eachBestClass(scores, confidenceThreshold, into.multiLabel, (cell, confidence, classId) => {
      const side = (number: number) => expectation(distances, number * BINS * cells + cell, cells, BINS) * stride;
      pushDistances(into, layout, stride, cell, 0.5, side(0), side(1), side(2), side(3), confidence, classId);
    });
  }
}

function rtmdetContradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined {
  const levels = Math.ceil(layout.outputs.length / 2);
  for (let level = 0; level < levels; level++) {
    const against = logitsContradiction(mapOf(outputs, layout, level, layout.classCount).data, 'classes');
    if (against !== undefined) return against;
    const distances = mapOf(outputs, layout, levels + level, 4).data;
    if (distances.some((value) => value < 0)) return `${layout.outputs[levels + level]} has distances below 0`;
  }
  return undefined;
}

function decodeRtmdet(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void {
  const least = logitBelow(confidenceThreshold);
  for (const { scores, distances, cells, stride } of levelsOfRun(outputs, layout, 4)) {
    eachBestClass(scores, least, into.multiLabel, (cell, logit, classId) => {
      const confidence = sigmoid(logit);
      if (!(confidence > confidenceThreshold)) return;
      const [left, top] = [distances[cell], distances[cells + cell]];
      const [right, bottom] = [distances[2 * cells + cell], distances[3 * cells + cell]];
      pushDistances(into, layout, stride, cell, 0, left, top, right, bottom, confidence, classId);
    });
  }
}
