import { YoloError } from '../errors.js';
import { show } from '../show.js';
import { requireArray, requireObject, requireWhole } from './checks.js';
import { OverlapGrid } from './overlap-grid.js';

/** Of the sort: four passes over the 32 bits of a key. */
const DIGIT_BITS = 8;
const DIGITS = 1 << DIGIT_BITS;

export interface NmsOptions {
  /** A box is suppressed when its IoU (float32) with a kept box is greater than this. 0..1. */
  readonly iouThreshold: number;
  /** [count]; boxes of different classes then leave each other alone. Defaults to one class for all. */
  readonly classId?: Int32Array;
  /** How many boxes the arrays hold; they may be longer. Defaults to `confidence.length`. */
  readonly count?: number;
  /** Stops when so many are kept. Defaults to no limit. */
  readonly maxDetections?: number;
}

/**
 * Greedy non-maximum suppression: the box of the highest confidence is kept, and those that overlap it too much are
 * not; then the next. Equal to torchvision's on every class by itself, for any coordinates: classes are told apart by
 * their number, never by moving boxes. There is no time limit.
 *
 * A box whose confidence is NaN is dropped. A box with a NaN coordinate, without area, or with an area beyond float32
 * has no IoU that exceeds a threshold: it is kept and suppresses nothing.
 * @param xyxy [count, 4] in any unit
 * @param confidence [count]
 * @returns indices of the kept boxes by falling confidence, equal ones by rising index
 * @throws YoloError ERR_YOLO_INVALID_ARGUMENT for a threshold, count or limit out of range, ERR_YOLO_SHAPE_MISMATCH for
 * an array that is too short
 */
export function nms(xyxy: Float32Array, confidence: Float32Array, options: NmsOptions): Uint32Array {
  requireObject('options', options);
  requireArray('confidence', confidence, ['Float32Array'], 0);
  const { iouThreshold, classId, count = confidence.length, maxDetections = Infinity } = options;
  if (!(typeof iouThreshold === 'number' && iouThreshold >= 0 && iouThreshold <= 1)) {
    const message = `Expected iouThreshold in [0, 1] but received ${show(iouThreshold)}`;
    throw new YoloError('ERR_YOLO_INVALID_ARGUMENT', message, { phase: 'validate', detail: { iouThreshold } });
  }
  requireWhole('count', count, 0);
  if (maxDetections !== Infinity) requireWhole('maxDetections', maxDetections, 0);
  requireArray('confidence', confidence, ['Float32Array'], count);
  requireArray('xyxy', xyxy, ['Float32Array'], 4 * count);
  if (classId !== undefined) requireArray('classId', classId, ['Int32Array'], count);

  const order = byFallingConfidence(confidence, count);
  const grid = new OverlapGrid(xyxy, order, classId, iouThreshold);
  let kept = 0;
  for (let k = 0; k < order.length && kept < maxDetections; k++) {
    const i = order[k];
    // Kept indices take the places of those already seen.
    if (grid.add(i)) order[kept++] = i;
  }
  return order.slice(0, kept);
}

/** Indices by falling confidence, equal ones by rising index, without NaN: a radix sort, which is stable and does not compare. */
function byFallingConfidence(confidence: Float32Array, count: number): Uint32Array {
  const float = new Float32Array(1);
  const word = new Int32Array(float.buffer);
  let order = new Uint32Array(count);
  let keys = new Uint32Array(count);
  let length = 0;
  for (let i = 0; i < count; i++) {
    float[0] = confidence[i] + 0; // -0 becomes 0, its equal
    if (Number.isNaN(float[0])) continue;
    // Positive floats rank as their bits do, negative ones the other way round; inverted, so that the greatest is first.
    keys[length] = word[0] < 0 ? word[0] : word[0] ^ 0x7fffffff;
    order[length++] = i;
  }
  order = order.subarray(0, length);
  let nextOrder = new Uint32Array(length);
  let nextKeys = new Uint32Array(length);
  const start = new Uint32Array(DIGITS);
  for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
    start.fill(0);
    for (let i = 0; i < length; i++) start[(keys[i] >>> shift) & (DIGITS - 1)]++;
    for (let digit = 0, sum = 0; digit < DIGITS; digit++) {
      const size = start[digit];
      start[digit] = sum;
      sum += size;
    }
    for (let i = 0; i < length; i++) {
      const to = start[(keys[i] >>> shift) & (DIGITS - 1)]++;
      nextKeys[to] = keys[i];
      nextOrder[to] = order[i];
    }
    [order, nextOrder] = [nextOrder, order];
    [keys, nextKeys] = [nextKeys, keys];
  }
  return order;
}
