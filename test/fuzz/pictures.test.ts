import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { decodeImage } from '../../lib/image/decode.js';
import { FUZZ_TIMEOUT_MS, fuzz, mutated, resultOrYoloError } from './fuzz.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Small, so that most changes meet a header, and many that make it large are refused by their number of pixels.
const [width, height] = [24, 16];
const levels = Uint8Array.from({ length: width * height * 4 }, (_, at) => (at * 37) % 256);
const picture = () => sharp(levels, { raw: { width, height, channels: 4 } });
const limitInputPixels = 1_000_000;

const files = {
  jpeg: await picture().withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  progressive: await picture().jpeg({ progressive: true, chromaSubsampling: '4:4:4' }).toBuffer(),
  cmyk: await picture().removeAlpha().toColourspace('cmyk').jpeg().toBuffer(),
  png: await picture().png().toBuffer(),
  palette: await picture().png({ palette: true, progressive: true }).toBuffer(),
  deep: await picture().toColourspace('rgb16').png().toBuffer(),
  webp: await picture().webp().toBuffer(),
  lossless: await picture().webp({ lossless: true }).toBuffer(),
  gif: await picture().gif().toBuffer(),
  animation: await sharp(levels, { raw: { width, height, channels: 4, pageHeight: height / 2 } })
    .gif()
    .toBuffer(),
  tiff: await picture().tiff({ compression: 'lzw' }).toBuffer(),
  tiled: await picture().tiff({ compression: 'deflate', tile: true, tileWidth: 16, tileHeight: 16 }).toBuffer(),
  avif: await picture().avif({ effort: 0 }).toBuffer(),
  bmp: bitmap(),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><rect width="4" height="4"/></svg>'),
};

/** The file header, the information header, and rows from the bottom up. */
function bitmap(): Buffer {
  const header = Buffer.alloc(54);
  header.write('BM');
  header.writeUInt32LE(54 + width * height * 3, 2);
  header.writeUInt32LE(54, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(width, 18);
  header.writeInt32LE(height, 22);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(24, 28);
  return Buffer.concat([header, levels.subarray(0, width * height * 3)]);
}

async function decodedWhole(input: string | Uint8Array, autoOrient: boolean): Promise<void> {
  const decoded = await resultOrYoloError(() => decodeImage(input, { limitInputPixels, autoOrient }));
  if (decoded === undefined) return;
  expect(decoded.width * decoded.height).toBeLessThanOrEqual(limitInputPixels);
  expect(decoded.data.length).toBe(3 * decoded.width * decoded.height);
}

describe('a picture with damage of any kind', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('is decoded whole, or refused with a YoloError', () =>
    fuzz(10_000, fc.tuple(mutated(files), fc.boolean()), ([{ bytes }, autoOrient]) => decodedWhole(bytes, autoOrient)));

  it('is so as a file too', () => {
    const path = join(folder, 'picture');
    return fuzz(1_000, mutated(files), ({ bytes }) => {
      writeFileSync(path, bytes);
      return decodedWhole(path, true);
    });
  });

  it('leaves the decoder as it was', async () => {
    for (const [kind, file] of Object.entries(files)) {
      const decoded = await resultOrYoloError(() => decodeImage(file));
      expect(decoded === undefined, kind).toBe(kind === 'bmp' || kind === 'svg');
    }
  });
});
