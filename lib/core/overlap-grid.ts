import { boxArea, boxIou } from './iou.js';

/** How many boxes of a class a cell would hold if they lay evenly. */
const BOXES_PER_CELL = 4;
const MAX_SIDE = 64;
/** Centres looked at to find where most boxes lie. */
const SAMPLES = 256;
/** Below this, float32 areas and quotients are too coarse to reason about: nothing is ruled out by size or distance. */
const COARSE = 1e-30;

/**
 * The boxes that suppression has kept, found again by class and place.
 *
 * A kept box is listed in the one cell where its centre lies. For an IoU above t, one side of a box must be longer than
 * t times the other's and the centres be nearer than (a + b) / 2 * (1 - t) / (1 + t) on each axis, a and b being the
 * sides on that axis: a candidate looks into the cells within that reach only. The outer cells extend to infinity, so
 * that place and size of the grid decide how fast it is, never what is found.
 */
export class OverlapGrid {
  readonly #xyxy: Float32Array;
  readonly #iouThreshold: number;
  /** t, or a little less, so that no rounding can carry an IoU over the threshold that is ruled out. */
  readonly #leastRatio: number;
  /** Of each box the number of its class among those present. */
  readonly #group: Int32Array;
  /** Cells along an axis, and place of the first cell in `last`, by group: a group of more boxes has more cells. */
  readonly #sides: number[] = [];
  readonly #starts: number[] = [];
  readonly #columns: Axis;
  readonly #rows: Axis;
  readonly #area: Float32Array;
  /** The box listed last in each cell, [side, side] for each group, -1 for none. */
  readonly #last: Int32Array;
  /** The box listed before box i in its cell, -1 for none. */
  readonly #before: Int32Array;
  #widest = 0;
  #tallest = 0;

  /**
   * @param xyxy [n, 4]
   * @param indices the boxes that will be added
   * @param classId [n], undefined for one class
   */
  constructor(xyxy: Float32Array, indices: Uint32Array, classId: Int32Array | undefined, iouThreshold: number) {
    const count = xyxy.length >> 2;
    this.#xyxy = xyxy;
    this.#iouThreshold = iouThreshold;
    this.#leastRatio = iouThreshold < COARSE ? 0 : iouThreshold * (1 - 1e-5);
    this.#area = new Float32Array(count);
    this.#before = new Int32Array(count);
    this.#group = new Int32Array(count);
    const sizes = classId === undefined ? [indices.length] : groupByClass(classId, indices, this.#group);
    let cells = 0;
    for (const size of sizes) {
      const side = Math.min(MAX_SIDE, Math.ceil(Math.sqrt(size / BOXES_PER_CELL)));
      this.#sides.push(side);
      this.#starts.push(cells);
      cells += side * side;
    }
    this.#last = new Int32Array(cells).fill(-1);
    const gridded = cells > sizes.length;
    this.#columns = gridded ? axisOf(xyxy, indices, 0) : UNBOUNDED;
    this.#rows = gridded ? axisOf(xyxy, indices, 1) : UNBOUNDED;
  }

  /** Adds box `i` and returns true, unless its IoU with a box of its class added before is greater than the threshold. */
  add(i: number): boolean {
    const xyxy = this.#xyxy;
    const area = boxArea(xyxy, i);
    const x1 = xyxy[4 * i];
    const y1 = xyxy[4 * i + 1];
    const width = xyxy[4 * i + 2] - x1;
    const height = xyxy[4 * i + 3] - y1;
    // Its IoU with any box is 0 or NaN.
    if (!(area > 0 && area < Infinity)) return true;

    const leastRatio = this.#leastRatio;
    const group = this.#group[i];
    const side = this.#sides[group];
    const base = this.#starts[group];
    const columns = this.#columns;
    const rows = this.#rows;
    const x = x1 + width / 2;
    const y = y1 + height / 2;
    const reachX = area < COARSE ? Number.MAX_VALUE : reach(width, this.#widest, leastRatio);
    const reachY = area < COARSE ? Number.MAX_VALUE : reach(height, this.#tallest, leastRatio);
    const left = cellOf(columns, x - reachX, side);
    const right = cellOf(columns, x + reachX, side);
    const bottom = cellOf(rows, y + reachY, side);
    for (let row = cellOf(rows, y - reachY, side); row <= bottom; row++) {
      for (let cell = base + row * side + left; cell <= base + row * side + right; cell++) {
        for (let other = this.#last[cell]; other >= 0; other = this.#before[other]) {
          const otherArea = this.#area[other];
          if (otherArea < leastRatio * area || area < leastRatio * otherArea) continue;
          if (boxIou(xyxy, i, xyxy, other) > this.#iouThreshold) return false;
        }
      }
    }

    const cell = base + cellOf(rows, y, side) * side + cellOf(columns, x, side);
    this.#area[i] = area;
    this.#before[i] = this.#last[cell];
    this.#last[cell] = i;
    this.#widest = Math.max(this.#widest, width);
    this.#tallest = Math.max(this.#tallest, height);
    return true;
  }
}

/** Farthest distance of centres along an axis from a side's to that of any kept box, and a little more. */
function reach(side: number, greatestKept: number, leastRatio: number): number {
  const other = Math.min(side / leastRatio, greatestKept);
  return (((side + other) / 2) * (1 - leastRatio) * 1.0001) / (1 + leastRatio);
}

/** Numbers the classes as they come, and returns how many boxes each has. */
function groupByClass(classId: Int32Array, indices: Uint32Array, group: Int32Array): number[] {
  const numbers = new Map<number, number>();
  const sizes: number[] = [];
  for (let k = 0; k < indices.length; k++) {
    const i = indices[k];
    let number = numbers.get(classId[i]);
    if (number === undefined) {
      number = sizes.length;
      numbers.set(classId[i], number);
      sizes.push(0);
    }
    group[i] = number;
    sizes[number]++;
  }
  return sizes;
}

interface Axis {
  readonly start: number;
  /** 1 / length; 0 puts everything into one cell. */
  readonly perLength: number;
}

const UNBOUNDED: Axis = { start: 0, perLength: 0 };

/** Spans the centres but for the outer tenth at either end, so that a few boxes far away do not widen the cells. */
function axisOf(xyxy: Float32Array, indices: Uint32Array, from: 0 | 1): Axis {
  const step = Math.ceil(indices.length / SAMPLES);
  const centres = new Float64Array(Math.ceil(indices.length / step));
  for (let k = 0; k < centres.length; k++) {
    const at = 4 * indices[k * step] + from;
    centres[k] = (xyxy[at] + xyxy[at + 2]) / 2;
  }
  centres.sort();
  const tenth = Math.floor(centres.length / 10);
  const start = centres[tenth];
  const length = centres[centres.length - 1 - tenth] - start;
  return length > 0 && length < Infinity ? { start, perLength: 1 / length } : UNBOUNDED;
}

/** Never falls as `position` grows. */
function cellOf(axis: Axis, position: number, side: number): number {
  return Math.min(side - 1, Math.max(0, Math.floor((position - axis.start) * axis.perLength * side)));
}
