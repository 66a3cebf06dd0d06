import type { Candidates } from '../candidates.js';
import { ROTATED_SIZE } from '../extra.js';

/**
 * Appends a box given by centre and size, as corners rounded to float32.
 * A box with a coordinate that is not finite is no detection and is left out: false then.
 */
export function pushCxcywh(
  into: Candidates,
  cx: number,
  cy: number,
  width: number,
  height: number,
  confidence: number,
  classId: number,
): boolean {
  return pushXyxy(into, cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2, confidence, classId);
}

/** Appends a box given by its corners; one with a coordinate that is not finite is left out: false then. */
export function pushXyxy(
  into: Candidates,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  confidence: number,
  classId: number,
): boolean {
  // A difference of finite numbers is 0 when multiplied by 0; NaN and infinities make it NaN.
  const areNumbers = (x1 + y1 + x2 + y2) * 0 === 0;
  if (areNumbers) into.push(x1, y1, x2, y2, confidence, classId);
  return areNumbers;
}

/** Appends the box whose centre and size are at `at`; false where it is left out. */
export function pushCxcywhAt(
  into: Candidates,
  boxes: Float32Array,
  at: number,
  confidence: number,
  classId: number,
): boolean {
  return pushCxcywh(into, boxes[at], boxes[at + 1], boxes[at + 2], boxes[at + 3], confidence, classId);
}

/** Appends the box whose corners are at `at`; false where it is left out. */
export function pushXyxyAt(
  into: Candidates,
  boxes: Float32Array,
  at: number,
  confidence: number,
  classId: number,
): boolean {
  return pushXyxy(into, boxes[at], boxes[at + 1], boxes[at + 2], boxes[at + 3], confidence, classId);
}

/** Appends the box whose centre and size are at `at`, as fractions of the input. */
export function pushFractions(
  into: Candidates,
  boxes: Float32Array,
  at: number,
  inputWidth: number,
  inputHeight: number,
  confidence: number,
  classId: number,
): void {
  const width = boxes[at + 2] * inputWidth;
  const height = boxes[at + 3] * inputHeight;
  pushCxcywh(into, boxes[at] * inputWidth, boxes[at + 1] * inputHeight, width, height, confidence, classId);
}

/** Whether values beside a box are numbers; a box with others is left out, as one with such a coordinate is. */
export function areFinite(data: Float32Array, start: number, step: number, size: number): boolean {
  for (let i = 0, at = start; i < size; i++, at += step) if (!Number.isFinite(data[at])) return false;
  return true;
}

const ROTATED = new Float32Array(ROTATED_SIZE);

/** Appends the upright bounds of a rotated box, and the rotated box itself as its extra values. */
export function pushRotated(
  into: Candidates,
  cx: number,
  cy: number,
  width: number,
  height: number,
  angle: number,
  confidence: number,
  classId: number,
): void {
  const cos = Math.abs(Math.cos(angle));
  const sin = Math.abs(Math.sin(angle));
  const across = width * cos + height * sin;
  const down = width * sin + height * cos;
  if (!pushCxcywh(into, cx, cy, across, down, confidence, classId)) return;
  ROTATED[0] = cx;
  ROTATED[1] = cy;
  ROTATED[2] = width;
  ROTATED[3] = height;
  ROTATED[4] = angle;
  into.setExtra(ROTATED, 0, 1, ROTATED_SIZE);
}
