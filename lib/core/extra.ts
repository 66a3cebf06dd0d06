import { type Letterbox, pointsToImage } from './letterbox.js';

/** What a head finds of each object beside its upright box and class. */
export type ExtraLayout =
  /** Shape [points, dimensions]: x and y, with 3 dimensions visibility too. */
  | { readonly kind: 'keypoints'; readonly points: number; readonly dimensions: 2 | 3 }
  /** Shape [size]: coefficients of the masks in the output `prototypes`. */
  | { readonly kind: 'mask'; readonly size: number; readonly prototypes: string }
  /** Shape [5]: centre, width, height, and the angle by which the box is turned from upright, in radians, clockwise as one sees the picture. */
  | { readonly kind: 'rotated' };

/** Columns of a rotated box. */
export const ROTATED_SIZE = 5;

/** Values of one object. */
export function extraSize(layout: ExtraLayout): number {
  switch (layout.kind) {
    case 'keypoints':
      return layout.points * layout.dimensions;
    case 'mask':
      return layout.size;
    case 'rotated':
      return ROTATED_SIZE;
  }
}

/** Moves what has a place in [count, extraSize] from input pixels to picture pixels, in place. Keypoints are clipped to the picture. */
export function extraToImage(extra: Float32Array, count: number, layout: ExtraLayout, letterbox: Letterbox): void {
  if (layout.kind === 'keypoints') keypointsToImage(extra, count * layout.points, layout.dimensions, letterbox);
  if (layout.kind === 'rotated') for (let i = 0; i < count; i++) rotatedToImage(extra, ROTATED_SIZE * i, letterbox);
}

function keypointsToImage(extra: Float32Array, count: number, dimensions: number, letterbox: Letterbox): void {
  const { imageWidth, imageHeight } = letterbox;
  for (let i = 0, at = 0; i < count; i++, at += dimensions) {
    const point = extra.subarray(at, at + 2);
    pointsToImage(point, 1, letterbox);
    point[0] = Math.min(Math.max(point[0], 0), imageWidth);
    point[1] = Math.min(Math.max(point[1], 0), imageHeight);
  }
}

/** Each side keeps its direction in the picture. Where the axes are scaled differently the sides are no longer exactly square to each other: the longer one decides the angle. */
function rotatedToImage(extra: Float32Array, at: number, letterbox: Letterbox): void {
  const scaleX = letterbox.imageWidth / letterbox.resizedWidth;
  const scaleY = letterbox.imageHeight / letterbox.resizedHeight;
  const [, , width, height, angle] = extra.subarray(at, at + ROTATED_SIZE);
  const cos = Math.cos(angle);
  const sin = Math.sin(angle);
  pointsToImage(extra.subarray(at, at + 2), 1, letterbox);
  extra[at + 2] = width * Math.hypot(cos * scaleX, sin * scaleY);
  extra[at + 3] = height * Math.hypot(sin * scaleX, cos * scaleY);
  // As the turn that scaling makes, so that an angle beyond a half turn stays there.
  extra[at + 4] =
    angle + (width >= height ? turn(cos * scaleX, sin * scaleY, cos, sin) : turn(cos * scaleY, sin * scaleX, cos, sin));
}

/** The angle from (x0, y0) to (x, y). */
function turn(x: number, y: number, x0: number, y0: number): number {
  return Math.atan2(y * x0 - x * y0, x * x0 + y * y0);
}
