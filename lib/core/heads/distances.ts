import type { Candidates } from '../candidates.js';
import { pushXyxy } from './boxes.js';
import type { HeadLayout, HeadOutputs } from './head.js';
import { shapeMismatch } from './outputs.js';

/** The strides, finest first, of maps with so many cells; undefined where one is no map of the input. */
export function levelStrides(cells: readonly number[], inputWidth: number, inputHeight: number): number[] | undefined {
  const strides = cells.map((count) =>
    [4, 8, 16, 32, 64, 128].find(
      (stride) => Math.ceil(inputWidth / stride) * Math.ceil(inputHeight / stride) === count,
    ),
  );
  const known = strides.flatMap((stride) => stride ?? []);
  return known.length === cells.length ? known : undefined;
}

/**
 * The same for outputs of a run, whose class outputs come first in the layout.
 * @throws ERR_YOLO_SHAPE_MISMATCH when the cells are not those of the layout's input.
 */
export function levelStridesOf(outputs: HeadOutputs, layout: HeadLayout, cells: readonly number[]): number[] {
  const strides = levelStrides(cells, layout.inputWidth, layout.inputHeight);
  if (strides === undefined)
    throw shapeMismatch(outputs, layout, `${layout.classCount} classes for each cell of the input`);
  return strides;
}

/** The mean of 0, 1, 2 … weighted by the softmax of `bins` values, `step` apart: how these heads write a distance. */
export function expectation(data: Float32Array, start: number, step: number, bins: number): number {
  let greatest = -Infinity;
  for (let bin = 0, at = start; bin < bins; bin++, at += step) greatest = Math.max(greatest, data[at]);
  let sum = 0;
  let weighted = 0;
  for (let bin = 0, at = start; bin < bins; bin++, at += step) {
    const weight = Math.exp(data[at] - greatest);
    sum += weight;
    weighted += weight * bin;
  }
  return weighted / sum;
}

/** Appends the box of a cell, given by the distances of its sides from the cell's point, in pixels. */
export function pushDistances(
  into: Candidates,
  { inputWidth }: HeadLayout,
  stride: number,
  cell: number,
  /** Where in the cell its point lies: 0 at the corner, 0.5 in the middle. */
  offset: number,
  left: number,
  top: number,
  right: number,
  bottom: number,
  confidence: number,
  classId: number,
): void {
  const across = Math.ceil(inputWidth / stride);
  const x = ((cell % across) + offset) * stride;
  const y = (Math.floor(cell / across) + offset) * stride;
  pushXyxy(into, x - left, y - top, x + right, y + bottom, confidence, classId);
}
