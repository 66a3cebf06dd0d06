import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = resolve(root, process.env.YOLO_SHARED_DIR ?? '../shared');

/** The row of a benchmark whose model or photo this machine does not have. */
export const absent = { name: 'skipped', value: 'no shared models and photos; set YOLO_SHARED_DIR' };

/** The path of a shared file, or undefined where it is not. */
export function sharedFile(path) {
  const file = resolve(folder, path);
  return existsSync(file) ? file : undefined;
}

/** The paths of all shared photos; none where there is no such folder. */
export function sharedPhotos() {
  return ['photos/coco/evaluation', 'photos/coco/calibration', 'photos/classic']
    .map(sharedFile)
    .filter((photos) => photos !== undefined)
    .flatMap((photos) => readdirSync(photos).map((name) => join(photos, name)))
    .filter((path) => /\.(jpg|png)$/.test(path));
}

/** The shipped photo as a camera would give it: 1920×1080, JPEG. */
export function fullHdJpeg() {
  return sharp(resolve(root, 'assets/aeroplane.jpg')).resize(1920, 1080).jpeg({ quality: 90 }).toBuffer();
}
