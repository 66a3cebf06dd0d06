import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll } from 'vitest';
import type { RawImage } from '../../lib/index.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** The photo that ships with the package: people round an aeroplane. */
export const PHOTO = join(root, 'assets/aeroplane.jpg');

/** The pixels of that photo, as a picture in memory. */
export async function photoPixels(): Promise<RawImage> {
  const { data, info } = await sharp(PHOTO, { ignoreIcc: true })
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data: new Uint8Array(data), width: info.width, height: info.height, channels: 3 };
}

/** A cache folder for the default model that lives as long as the test file, so that no test touches the user's own. */
export function ownCacheFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'yolo-cache-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The default model's ONNX file in a cache folder that a detector has used. */
export function cachedModel(folder: string): string {
  const file = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((name) => name.endsWith('.onnx'));
  if (file === undefined) throw new Error(`No ONNX file in ${folder}`);
  return join(folder, file);
}
