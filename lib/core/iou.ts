const { fround } = Math;

/**
 * Area of box `i` of [n, 4] xyxy in float32 steps, as torchvision computes it: (x2 - x1)(y2 - y1), no pixel added.
 * Whatever the order of the corners: a box turned inside out on one axis has a negative area.
 */
export function boxArea(xyxy: Float32Array, i: number): number {
  const at = 4 * i;
  return fround(fround(xyxy[at + 2] - xyxy[at]) * fround(xyxy[at + 3] - xyxy[at + 1]));
}

/**
 * Intersection over union of box `i` of `a` and box `j` of `b`, both [n, 4] xyxy, in float32 steps as torchvision computes it.
 * 0..1 for ordinary boxes; NaN where both have no area, where a coordinate is NaN, and where an area is too great for
 * float32 and so is the intersection: NaN is greater than no threshold.
 */
export function boxIou(a: Float32Array, i: number, b: Float32Array, j: number): number {
  const p = 4 * i;
  const q = 4 * j;
  const width = fround(Math.min(a[p + 2], b[q + 2]) - Math.max(a[p], b[q]));
  const height = fround(Math.min(a[p + 3], b[q + 3]) - Math.max(a[p + 1], b[q + 1]));
  const intersection = fround(Math.max(0, width) * Math.max(0, height));
  const union = fround(fround(boxArea(a, i) + boxArea(b, j)) - intersection);
  return fround(intersection / union);
}
