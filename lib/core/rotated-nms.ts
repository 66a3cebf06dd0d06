import { ROTATED_SIZE } from './extra.js';

/** Keeps the logarithm and the quotients below finite, as the paper's authors do. */
const EPSILON = 1e-7;

/**
 * How far two rotated boxes overlap, 0..1: one less the Hellinger distance of the normal distributions that have their centres and
 * second moments (Llerena et al., "Gaussian Bounding Boxes and Probabilistic Intersection-over-Union for Object Detection", 2021).
 * @param rotated [n, 5] centre, width, height, angle in radians
 */
export function probabilisticIou(rotated: Float32Array, i: number, j: number): number {
  const a = covariance(rotated, i);
  const b = covariance(rotated, j);
  const x = a.x + b.x;
  const y = a.y + b.y;
  const xy = a.xy + b.xy;
  const dx = rotated[ROTATED_SIZE * i] - rotated[ROTATED_SIZE * j];
  const dy = rotated[ROTATED_SIZE * i + 1] - rotated[ROTATED_SIZE * j + 1];
  const determinant = x * y - xy * xy;
  const apart = (x * dy * dy + y * dx * dx - 2 * xy * dx * dy) / (determinant + EPSILON) / 4;
  const unlike =
    Math.log(
      determinant / (4 * Math.sqrt(Math.max(0, a.determinant) * Math.max(0, b.determinant)) + EPSILON) + EPSILON,
    ) / 2;
  const bhattacharyya = Math.min(100, Math.max(EPSILON, apart + unlike));
  return Math.max(0, 1 - Math.sqrt(1 - Math.exp(-bhattacharyya) + EPSILON));
}

/** Second moments of the box taken as evenly filled. */
function covariance(rotated: Float32Array, i: number): { x: number; y: number; xy: number; determinant: number } {
  const [, , width, height, angle] = rotated.subarray(ROTATED_SIZE * i, ROTATED_SIZE * (i + 1));
  const along = (width * width) / 12;
  const across = (height * height) / 12;
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  const x = along * cos * cos + across * sin * sin;
  const y = along * sin * sin + across * cos * cos;
  const xy = (along - across) * cos * sin;
  return { x, y, xy, determinant: x * y - xy * xy };
}

/**
 * Suppression of rotated boxes as models with them are evaluated: a box goes when any better box of its class overlaps it by at
 * least the threshold, even one that goes itself ("fast NMS", Bolya et al., "YOLACT", 2019).
 * @param rotated [n, 5]
 * @param order indices, best first
 * @param classId [n], undefined for one class
 * @returns those of `order` that stay
 */
export function suppressRotated(
  rotated: Float32Array,
  order: Uint32Array,
  iouThreshold: number,
  classId?: Int32Array,
): Uint32Array {
  return order.filter((i, rank) => {
    for (let better = 0; better < rank; better++) {
      const j = order[better];
      if (classId !== undefined && classId[i] !== classId[j]) continue;
      if (probabilisticIou(rotated, i, j) >= iouThreshold) return false;
    }
    return true;
  });
}
