import type { Candidates } from '../candidates.js';
import { pushCxcywh } from './boxes.js';
import { ULTRALYTICS } from './families.js';
import type { Anchors, Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { shapeMismatch } from './outputs.js';
import type { Output } from './roles.js';
import { logitBelow, logitsContradiction, sigmoid } from './sigmoid.js';

//   one output for each stride, before the sigmoid; h x w cells, A anchors each (YOLOv5, YOLOv7 exported without their last layer)
//
//   anchor-maps            [1, A, h, w, 5 + classes]
//   anchor-maps-channels   [1, A * (5 + classes), h, w]
//
//   s = sigmoid of the values       cx = (2 * s0 - 0.5 + column of the cell) * stride     w = (2 * s2)^2 * width of the anchor
//                                   cy = (2 * s1 - 0.5 + row of the cell) * stride        h = (2 * s3)^2 * height of the anchor
//   confidence = s4 * class

/** Of the released weights, at strides 8, 16, 32, in pixels. */
export const ANCHOR_SETS: Readonly<Record<'yolov5' | 'yolov7', Anchors>> = {
  yolov5: [
    [10, 13, 16, 30, 33, 23],
    [30, 61, 62, 45, 59, 119],
    [116, 90, 156, 198, 373, 326],
  ],
  yolov7: [
    [12, 16, 19, 36, 40, 28],
    [36, 75, 76, 55, 72, 146],
    [142, 110, 192, 243, 459, 401],
  ],
};

export const anchorMaps: Head = anchorMapsOf('anchor-maps', 5);
export const anchorMapsChannels: Head = anchorMapsOf('anchor-maps-channels', 4);

const OBJECTNESS = 4;
const FIRST_CLASS = 5;
const USUAL_ANCHORS_PER_CELL = 3;
/** Few anchors see an object, whatever the picture. */
const MOST_OBJECTS = 0.25;
const NEEDS_ANCHORS =
  "the sizes of its anchors are not in the file: set `anchors` to 'yolov5' or 'yolov7' (of the released weights), or to the model's own";

function anchorMapsOf(name: string, rank: 4 | 5): Head {
  return {
    name,
    read: (signature) => read(signature, name, rank),
    contradiction: (outputs, layout) => contradiction(outputs, layout, rank),
    decode: (outputs, layout, confidenceThreshold, into) => decode(outputs, layout, rank, confidenceThreshold, into),
  };
}

function read(
  { outputs, labels, anchors, inputWidth, inputHeight }: ModelSignature,
  head: string,
  rank: 4 | 5,
): HeadReading[] {
  if (outputs.length < 2 || outputs.some(({ dims }) => dims.length !== rank)) return [];
  const finestFirst = [...outputs].sort((a, b) => cellsOf(b) - cellsOf(a));
  const perCell =
    rank === 5 ? outputs[0].dims[1] : anchors === undefined ? USUAL_ANCHORS_PER_CELL : anchors[0].length / 2;
  const values = finestFirst.map(({ dims }) => (rank === 5 ? dims[4] : dims[1] / perCell));
  const classCount = values[0] - FIRST_CLASS;
  const isOneKind =
    values.every((count) => count === values[0]) && finestFirst.every(({ dims }) => rank === 4 || dims[1] === perCell);
  const isHalved = finestFirst.every((output, level) => level === 0 || isHalf(finestFirst[level - 1], output));
  if (!isOneKind || !isHalved || !Number.isInteger(classCount) || classCount < 1) return [];
  if (labels !== undefined && labels.length !== classCount) return [];
  const strides = finestFirst.map(({ dims }) => inputHeight / sidesOf(dims)[0]);
  const areTheirs = anchors?.length === outputs.length && anchors.every((level) => level.length === 2 * perCell);
  return [
    {
      layout: { head, outputs: finestFirst.map(({ name }) => name), classCount, inputWidth, inputHeight, anchors },
      family: { ...ULTRALYTICS, iouThreshold: 0.45 },
      evidence: [
        `${finestFirst.map(({ name }) => name).join(', ')} are maps of strides ${strides.join(', ')}: ${perCell} anchors a cell by box, objectness, ${classCount} class${classCount === 1 ? '' : 'es'}`,
      ],
      needs:
        anchors === undefined
          ? NEEDS_ANCHORS
          : areTheirs
            ? undefined
            : `\`anchors\` should have ${outputs.length} levels of ${perCell} widths and heights`,
    },
  ];
}

function cellsOf({ dims }: Output): number {
  const [height, width] = sidesOf(dims);
  return height * width;
}

function sidesOf(dims: readonly number[]): readonly number[] {
  return dims.slice(2, 4);
}

function isHalf(finer: Output, coarser: Output): boolean {
  const fine = sidesOf(finer.dims);
  return sidesOf(coarser.dims).every((side, axis) => side === Math.ceil(fine[axis] / 2));
}

function contradiction(
  outputs: HeadOutputs,
  { outputs: names, classCount }: HeadLayout,
  rank: 4 | 5,
): string | undefined {
  const { data = new Float32Array(0), dims = [] } = outputs.get(names[0]) ?? {};
  const step = rank === 5 ? 1 : dims[1] * dims[2];
  let cells = 0;
  let objects = 0;
  for (let start = OBJECTNESS * step; start < data.length; start += (FIRST_CLASS + classCount) * step) {
    for (let at = start; at < start + step; at++, cells++) if (data[at] > 0) objects++;
  }
  // Maps of distances and classes can have as many channels.
  return objects > MOST_OBJECTS * cells
    ? `${objects} of ${cells} anchors of ${names[0]} see an object, so that is no objectness`
    : logitsContradiction(data, 'its values');
}

function decode(
  outputs: HeadOutputs,
  layout: HeadLayout,
  rank: 4 | 5,
  confidenceThreshold: number,
  into: Candidates,
): void {
  if (layout.anchors === undefined) throw shapeMismatch(outputs, layout, 'read with anchors, which the layout lacks');
  for (const [level, sizes] of layout.anchors.entries()) {
    decodeLevel(outputs, layout, level, sizes, rank, confidenceThreshold, into);
  }
}

function decodeLevel(
  outputs: HeadOutputs,
  layout: HeadLayout,
  level: number,
  sizes: readonly number[],
  rank: 4 | 5,
  confidenceThreshold: number,
  into: Candidates,
): void {
  const values = FIRST_CLASS + layout.classCount;
  const output = outputs.get(layout.outputs[level]);
  // Without the batch dimension.
  const [height, width] = output?.dims.slice(1, 3) ?? [];
  const cells = height * width;
  const anchorCount = sizes.length / 2;
  if (output === undefined || output.data.length !== anchorCount * cells * values)
    throw shapeMismatch(outputs, layout, `${anchorCount} anchors of ${values} values for each cell`, level);
  const { data } = output;
  // A network pads what is not a whole number of strides.
  const stride = 2 ** Math.round(Math.log2(layout.inputWidth / width));
  const step = rank === 5 ? 1 : cells;
  const least = logitBelow(confidenceThreshold);
  for (let anchor = 0; anchor < anchorCount; anchor++) {
    for (let cell = 0; cell < cells; cell++) {
      const at = rank === 5 ? (anchor * cells + cell) * values : anchor * values * cells + cell;
      // No class score is greater than 1, so most rows end here.
      if (!(data[at + OBJECTNESS * step] > least)) continue;
      const objectness = sigmoid(data[at + OBJECTNESS * step]);
      const push = (confidence: number, classId: number): void => {
        const cx = (2 * sigmoid(data[at]) - 0.5 + (cell % width)) * stride;
        const cy = (2 * sigmoid(data[at + step]) - 0.5 + Math.floor(cell / width)) * stride;
        const w = (2 * sigmoid(data[at + 2 * step])) ** 2 * sizes[2 * anchor];
        const h = (2 * sigmoid(data[at + 3 * step])) ** 2 * sizes[2 * anchor + 1];
        pushCxcywh(into, cx, cy, w, h, confidence, classId);
      };
      let best = least;
      let bestClass = -1;
      for (let classId = 0, from = at + FIRST_CLASS * step; classId < layout.classCount; classId++, from += step) {
        if (!(data[from] > best)) continue;
        if (into.multiLabel) {
          const confidence = Math.fround(objectness * sigmoid(data[from]));
          if (confidence > confidenceThreshold) push(confidence, classId);
        } else {
          best = data[from];
          bestClass = classId;
        }
      }
      if (bestClass < 0) continue;
      const confidence = Math.fround(objectness * sigmoid(best));
      if (confidence > confidenceThreshold) push(confidence, bestClass);
    }
  }
}
