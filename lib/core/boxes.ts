import { YoloError } from '../errors.js';
import { requireArray } from './checks.js';

// Boxes are [n, 4], one after the other:
//
//   xyxy    x1 y1 x2 y2   left, top, right, bottom
//   xywh    x  y  w  h    left, top, width, height
//   cxcywh  cx cy w  h    centre, width, height
//
// Other arrays than of floats are ERR_YOLO_INVALID_ARGUMENT, those of another length ERR_YOLO_SHAPE_MISMATCH.

type Boxes = Float32Array | Float64Array;

const TYPES = ['Float32Array', 'Float64Array'];

/** Corners to top-left corner and size. All of `boxes` [n, 4]; `into` may be `boxes` itself and defaults to a new array. Returns `into`. */
export function xyxyToXywh<T extends Boxes>(boxes: T, into: T = copyOf(boxes)): T {
  requireBoxes(boxes, into);
  for (let i = 0; i < boxes.length; i += 4) {
    const x1 = boxes[i];
    const y1 = boxes[i + 1];
    write(into, i, x1, y1, boxes[i + 2] - x1, boxes[i + 3] - y1);
  }
  return into;
}

/** Corners to centre and size. All of `boxes` [n, 4]; `into` may be `boxes` itself and defaults to a new array. Returns `into`. */
export function xyxyToCxcywh<T extends Boxes>(boxes: T, into: T = copyOf(boxes)): T {
  requireBoxes(boxes, into);
  for (let i = 0; i < boxes.length; i += 4) {
    const x1 = boxes[i];
    const y1 = boxes[i + 1];
    const x2 = boxes[i + 2];
    const y2 = boxes[i + 3];
    write(into, i, (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1);
  }
  return into;
}

/** Top-left corner and size to corners. All of `boxes` [n, 4]; `into` may be `boxes` itself and defaults to a new array. Returns `into`. */
export function xywhToXyxy<T extends Boxes>(boxes: T, into: T = copyOf(boxes)): T {
  requireBoxes(boxes, into);
  for (let i = 0; i < boxes.length; i += 4) {
    const x = boxes[i];
    const y = boxes[i + 1];
    write(into, i, x, y, x + boxes[i + 2], y + boxes[i + 3]);
  }
  return into;
}

/** Top-left corner and size to centre and size. All of `boxes` [n, 4]; `into` may be `boxes` itself and defaults to a new array. Returns `into`. */
export function xywhToCxcywh<T extends Boxes>(boxes: T, into: T = copyOf(boxes)): T {
  requireBoxes(boxes, into);
  for (let i = 0; i < boxes.length; i += 4) {
    const width = boxes[i + 2];
    const height = boxes[i + 3];
    write(into, i, boxes[i] + width / 2, boxes[i + 1] + height / 2, width, height);
  }
  return into;
}

/** Centre and size to corners. All of `boxes` [n, 4]; `into` may be `boxes` itself and defaults to a new array. Returns `into`. */
export function cxcywhToXyxy<T extends Boxes>(boxes: T, into: T = copyOf(boxes)): T {
  requireBoxes(boxes, into);
  for (let i = 0; i < boxes.length; i += 4) {
    const cx = boxes[i];
    const cy = boxes[i + 1];
    const halfWidth = boxes[i + 2] / 2;
    const halfHeight = boxes[i + 3] / 2;
    write(into, i, cx - halfWidth, cy - halfHeight, cx + halfWidth, cy + halfHeight);
  }
  return into;
}

/** Centre and size to top-left corner and size. All of `boxes` [n, 4]; `into` may be `boxes` itself and defaults to a new array. Returns `into`. */
export function cxcywhToXywh<T extends Boxes>(boxes: T, into: T = copyOf(boxes)): T {
  requireBoxes(boxes, into);
  for (let i = 0; i < boxes.length; i += 4) {
    const width = boxes[i + 2];
    const height = boxes[i + 3];
    write(into, i, boxes[i] - width / 2, boxes[i + 1] - height / 2, width, height);
  }
  return into;
}

function copyOf<T extends Boxes>(boxes: T): T {
  requireArray('boxes', boxes, TYPES, 0);
  return boxes.slice() as T;
}

function requireBoxes(boxes: Boxes, into: Boxes): void {
  requireArray('boxes', boxes, TYPES, 0);
  requireArray('into', into, TYPES, boxes.length);
  if (boxes.length % 4 === 0) return;
  const message = `Expected boxes to hold 4 values each but it holds ${boxes.length}`;
  throw new YoloError('ERR_YOLO_SHAPE_MISMATCH', message, { phase: 'validate' });
}

function write(into: Boxes, i: number, a: number, b: number, c: number, d: number): void {
  into[i] = a;
  into[i + 1] = b;
  into[i + 2] = c;
  into[i + 3] = d;
}
