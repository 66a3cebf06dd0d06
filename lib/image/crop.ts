import type { ImageInput, RgbImage } from '../types.js';
import { writeWhole } from '../whole-file.js';
import { encodePicture, formatOf, type Origin, readAgain } from './picture-file.js';

/** Where to cut: x1, y1, x2, y2 in pixels of the picture. */
export type CutBox = readonly [x1: number, y1: number, x2: number, y2: number];

/** The part of a picture in a box, as PNG. */
export async function cropToPng(picture: ImageInput, origin: Origin, box: CutBox, padding: number): Promise<Buffer> {
  return encodePicture(cut(await readAgain(picture, origin), box, padding), 'png');
}

/** Several parts, each into a file of the format that its extension names; the picture is decoded once. */
export async function cropToFiles(
  picture: ImageInput,
  origin: Origin,
  parts: readonly { readonly path: string; readonly box: CutBox }[],
  padding: number,
): Promise<void> {
  // A path that cannot be written is an error before anything is.
  const formats = parts.map(({ path }) => formatOf(path));
  if (parts.length === 0) return;
  const image = await readAgain(picture, origin);
  for (const [index, { path, box }] of parts.entries())
    await writeWhole(path, await encodePicture(cut(image, box, padding), formats[index]!), 'picture', 'annotate');
}

/** Every pixel that the padded box touches, and always one: of a box outside the picture the nearest at its border. */
function cut({ data, width, height }: RgbImage, [x1, y1, x2, y2]: CutBox, padding: number): RgbImage {
  const left = clamp(Math.floor(x1 - padding), 0, width - 1);
  const top = clamp(Math.floor(y1 - padding), 0, height - 1);
  const right = clamp(Math.ceil(x2 + padding), left + 1, width);
  const bottom = clamp(Math.ceil(y2 + padding), top + 1, height);
  const rowBytes = 3 * (right - left);
  const from = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const to = Buffer.alloc(rowBytes * (bottom - top));
  for (let y = top, at = 0; y < bottom; y++, at += rowBytes) {
    const start = 3 * (y * width + left);
    from.copy(to, at, start, start + rowBytes);
  }
  return { data: to, width: right - left, height: bottom - top };
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
