export interface Box {
  readonly xyxy: ArrayLike<number>;
  readonly confidence: number;
  readonly classId: number;
}

/** How far two boxes may lie apart to be called the same: on each side in pixels of the photo, and in confidence. */
export interface Tolerance {
  readonly pixels: number;
  readonly confidence: number;
}

/** Pairs boxes of one class, each with the nearest left; gives those without a partner within the tolerance. */
export function pairBoxes(actual: Iterable<Box>, expected: readonly Box[], tolerance: Tolerance) {
  const extra = [...actual];
  const missing = expected.filter((wanted) => {
    const near = extra
      .map((box, index) => ({ index, box, distance: sideDistance(box, wanted) }))
      .filter(
        ({ box, distance }) =>
          box.classId === wanted.classId &&
          distance <= tolerance.pixels &&
          Math.abs(box.confidence - wanted.confidence) <= tolerance.confidence,
      )
      .sort((a, b) => a.distance - b.distance)[0];
    if (near === undefined) return true;
    extra.splice(near.index, 1);
    return false;
  });
  return { missing, extra };
}

function sideDistance(a: Box, b: Box): number {
  return Math.max(...Array.from(a.xyxy, (side, i) => Math.abs(side - b.xyxy[i]!)));
}
