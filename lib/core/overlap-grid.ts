import { boxArea } from './iou.js';

/** Boxes a cell would hold of one class if they lay evenly. */
const BOXES_PER_CELL = 8;
const MAX_SIDE = 48;

/**
 * The boxes that suppression has kept, found again by place and class.
 *
 * A kept box is listed in every cell that it touches. A candidate looks into the cells of its middle part only: to
 * exceed the threshold t, the overlap must be longer than t times the candidate's own side, and a stretch of that
 * length cannot avoid the middle [t, 1 - t] of the side (from t = 1/2 on: its centre). Cells grow with the coordinate,
 * and the outer ones reach to infinity, so nothing is missed wherever the boxes lie: the grid's place and size only
 * decide how fast it is.
 */
export class OverlapGrid {
  readonly #xyxy: Float32Array;
  readonly #classId: Int32Array | undefined;
  readonly #iouThreshold: number;
  /** Share of a side at which the middle part begins; short of t by more than rounding can amount to. */
  readonly #inset: number;
  readonly #slots = new Map<number, number>();
  readonly #side: number;
  #left = Infinity;
  #top = Infinity;
  #cellsPerPixelX: number;
  #cellsPerPixelY: number;
  /** Newest entry of each cell of each class, -1 for none. */
  readonly #newest: Int32Array;
  #entries = 0;
  #entryBox: Int32Array;
  /** The entry before it in the same cell, -1 for none. */
  #entryBefore: Int32Array;

  /**
   * @param xyxy [n, 4]
   * @param indices the boxes that will be added
   */
  constructor(xyxy: Float32Array, indices: Uint32Array, classId: Int32Array | undefined, iouThreshold: number) {
    this.#xyxy = xyxy;
    this.#classId = classId;
    this.#iouThreshold = iouThreshold;
    this.#inset = Math.min(iouThreshold, 0.5) * 0.999;
    let right = -Infinity;
    let bottom = -Infinity;
    for (let k = 0; k < indices.length; k++) {
      const at = 4 * indices[k];
      if (!canOverlap(xyxy, indices[k])) continue;
      this.#left = Math.min(this.#left, xyxy[at]);
      this.#top = Math.min(this.#top, xyxy[at + 1]);
      right = Math.max(right, xyxy[at + 2]);
      bottom = Math.max(bottom, xyxy[at + 3]);
    }
    if (classId !== undefined) {
      for (let k = 0; k < indices.length; k++) {
        const id = classId[indices[k]];
        if (!this.#slots.has(id)) this.#slots.set(id, this.#slots.size);
      }
    }
    const classes = Math.max(1, this.#slots.size);
    this.#side = Math.min(MAX_SIDE, Math.ceil(Math.sqrt(indices.length / classes / BOXES_PER_CELL)));
    this.#cellsPerPixelX = this.#side / (right - this.#left);
    this.#cellsPerPixelY = this.#side / (bottom - this.#top);
    this.#newest = new Int32Array(classes * this.#side * this.#side).fill(-1);
    this.#entryBox = new Int32Array(2 * indices.length);
    this.#entryBefore = new Int32Array(2 * indices.length);
  }

  /** Adds box `i` and returns true, unless its IoU with a box of its class added before is greater than the threshold. */
  add(i: number): boolean {
    const xyxy = this.#xyxy;
    if (!canOverlap(xyxy, i)) return true;
    const at = 4 * i;
    const x1 = xyxy[at];
    const y1 = xyxy[at + 1];
    const x2 = xyxy[at + 2];
    const y2 = xyxy[at + 3];
    const area = boxArea(xyxy, i);
    const insetX = this.#inset * (x2 - x1);
    const insetY = this.#inset * (y2 - y1);
    const side = this.#side;
    const base = this.#classId === undefined ? 0 : this.#slots.get(this.#classId[i])! * side * side;
    const { fround } = Math;

    let toX = this.#column(x2 - insetX);
    let toY = this.#row(y2 - insetY);
    for (let cy = this.#row(y1 + insetY); cy <= toY; cy++) {
      for (let cx = this.#column(x1 + insetX); cx <= toX; cx++) {
        for (let entry = this.#newest[base + cy * side + cx]; entry >= 0; entry = this.#entryBefore[entry]) {
          const other = 4 * this.#entryBox[entry];
          const width = fround(Math.min(x2, xyxy[other + 2]) - Math.max(x1, xyxy[other]));
          if (width <= 0) continue;
          const height = fround(Math.min(y2, xyxy[other + 3]) - Math.max(y1, xyxy[other + 1]));
          if (height <= 0) continue;
          const intersection = fround(width * height);
          const union = fround(fround(boxArea(xyxy, other / 4) + area) - intersection);
          if (fround(intersection / union) > this.#iouThreshold) return false;
        }
      }
    }

    toX = this.#column(x2);
    toY = this.#row(y2);
    for (let cy = this.#row(y1); cy <= toY; cy++) {
      for (let cx = this.#column(x1); cx <= toX; cx++) this.#list(base + cy * side + cx, i);
    }
    return true;
  }

  #list(cell: number, i: number): void {
    if (this.#entries === this.#entryBox.length) {
      this.#entryBox = grown(this.#entryBox);
      this.#entryBefore = grown(this.#entryBefore);
    }
    this.#entryBox[this.#entries] = i;
    this.#entryBefore[this.#entries] = this.#newest[cell];
    this.#newest[cell] = this.#entries++;
  }

  #column(x: number): number {
    return Math.min(this.#side - 1, Math.max(0, Math.floor((x - this.#left) * this.#cellsPerPixelX)));
  }

  #row(y: number): number {
    return Math.min(this.#side - 1, Math.max(0, Math.floor((y - this.#top) * this.#cellsPerPixelY)));
  }
}

/** Whether the IoU of a box with any other can be greater than 0: both sides and the area are, and finite. */
function canOverlap(xyxy: Float32Array, i: number): boolean {
  const area = boxArea(xyxy, i);
  return area > 0 && area < Infinity && xyxy[4 * i + 2] > xyxy[4 * i];
}

function grown(array: Int32Array): Int32Array {
  const twice = new Int32Array(2 * array.length);
  twice.set(array);
  return twice;
}
