import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { decodeImage } from './image/decode.js';
import type { RgbImage } from './types.js';

/** The photo that ships with the package: people round an aeroplane (assets/SOURCES.md). */
export function proofPhotoPath(): string | undefined {
  const path = fileURLToPath(new URL('../assets/aeroplane.jpg', import.meta.url));
  return existsSync(path) ? path : undefined;
}

/**
 * The picture on which a model's layout is proved, and its mirror image.
 * An application that was bundled into one file has no photo beside it: a flat gray picture then shows ranges and orders, but no objects.
 */
export async function loadProofPictures(): Promise<{ upright: RgbImage; mirrored: RgbImage; isPhoto: boolean }> {
  const path = proofPhotoPath();
  const upright =
    path === undefined
      ? { data: new Uint8Array(640 * 480 * 3).fill(114), width: 640, height: 480 }
      : await decodeImage(path);
  return { upright, mirrored: mirror(upright), isPhoto: path !== undefined };
}

function mirror({ data, width, height }: RgbImage): RgbImage {
  const out = new Uint8Array(data.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = 3 * (y * width + x);
      const to = 3 * (y * width + width - 1 - x);
      out[to] = data[from]!;
      out[to + 1] = data[from + 1]!;
      out[to + 2] = data[from + 2]!;
    }
  }
  return { data: out, width, height };
}
