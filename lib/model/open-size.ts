import type { PictureInput } from './signature.js';

/** In pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Of the coarsest cells of almost all models; an input side is a multiple of it. */
const USUAL_STRIDE = 32;

/** Input sizes that exports are made at, the commonest first. */
const USUAL_SIZES = [640, 416, 320, 512, 1280, 224, 256, 160];

/** Pixels of which each side of the input has to be a multiple: what the exporter says, else 32. */
export function strideOf({ stride }: Readonly<Record<string, string>>): number {
  const said = Number(stride);
  return Number.isInteger(said) && said >= 1 && said <= 1024 ? said : USUAL_STRIDE;
}

/** Whether the file leaves both sides open. A graph may hold one size all the same, which only a run shows. */
export function isDeclaredOpen({ width, height }: PictureInput): boolean {
  return width === undefined && height === undefined;
}

/**
 * Sizes at which a model may run that does not run at `failed`, likeliest first: the next multiples of its stride, the size
 * of its export (Ultralytics' `imgsz`: height, width), then those that are usual. A side that the file fixes stays as it is.
 */
export function otherSizes(
  failed: Size,
  input: PictureInput,
  metadata: Readonly<Record<string, string>>,
): readonly Size[] {
  const stride = strideOf(metadata);
  const up = (side: number): number => Math.ceil(side / stride) * stride;
  const guesses = [
    { width: up(failed.width), height: up(failed.height) },
    ...exportedAt(metadata),
    ...USUAL_SIZES.map((side) => ({ width: side, height: side })),
  ];
  const sizes = new Map<string, Size>();
  for (const guess of guesses) {
    const size = { width: input.width ?? guess.width, height: input.height ?? guess.height };
    if (size.width !== failed.width || size.height !== failed.height) sizes.set(`${size.width}×${size.height}`, size);
  }
  return [...sizes.values()];
}

function exportedAt({ imgsz = '' }: Readonly<Record<string, string>>): readonly Size[] {
  const sides = /^\s*\[?\s*(\d{1,5})\s*(?:,\s*(\d{1,5})\s*)?\]?\s*$/.exec(imgsz);
  if (sides === null) return [];
  const height = Number(sides[1]);
  const width = Number(sides[2] ?? sides[1]);
  return width > 0 && height > 0 && width <= 16384 && height <= 16384 ? [{ width, height }] : [];
}

/** A size near by of which no side is the same, with sides that differ from each other wherever those of `size` do not. */
export function sizeBeside({ width, height }: Size, stride: number): Size {
  const step = Math.min(width, height) > 3 * stride ? -stride : stride;
  return { width: width + step, height: height + 2 * step };
}
