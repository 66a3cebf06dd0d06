import type { Candidates } from '../candidates.js';

/**
 * Appends a box given by centre and size, as corners rounded to float32.
 * A box with a coordinate that is not finite is no detection and is left out.
 */
export function pushCxcywh(
  into: Candidates,
  cx: number,
  cy: number,
  width: number,
  height: number,
  confidence: number,
  classId: number,
): void {
  pushXyxy(into, cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2, confidence, classId);
}

/** Appends a box given by its corners; one with a coordinate that is not finite is left out. */
export function pushXyxy(
  into: Candidates,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  confidence: number,
  classId: number,
): void {
  // A difference of finite numbers is 0 when multiplied by 0; NaN and infinities make it NaN.
  if ((x1 + y1 + x2 + y2) * 0 === 0) into.push(x1, y1, x2, y2, confidence, classId);
}
