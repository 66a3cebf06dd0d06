import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { YoloError } from '../../lib/errors.js';
import { decodeImage } from '../../lib/image/decode.js';
import { shrunkSize } from '../../lib/image/shrink.js';
import type { RgbImage } from '../../lib/types.js';
import { PHOTO } from '../support/default-detector.js';

const shrinkFor = { inputWidth: 160, inputHeight: 160, letterbox: { placement: 'centre' } as const };
const large = (width = 1281, height = 963) => sharp(PHOTO).resize(width, height, { fit: 'fill' });

/** Mean difference of levels between two pictures of one size. */
function difference(a: RgbImage, b: RgbImage): number {
  expect([a.width, a.height]).toEqual([b.width, b.height]);
  let sum = 0;
  for (let at = 0; at < a.data.length; at++) sum += Math.abs(a.data[at]! - b.data[at]!);
  return sum / a.data.length;
}

function centreOfDark({ data, width, height }: RgbImage): [x: number, y: number] {
  let [sumX, sumY, sum] = [0, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const dark = 255 - data[3 * (y * width + x)]!;
      sumX += dark * (x + 0.5);
      sumY += dark * (y + 0.5);
      sum += dark;
    }
  }
  return [sumX / sum, sumY / sum];
}

describe('the size that a JPEG is decoded at', () => {
  it('is the one that the model sees, from three times its size on', () => {
    expect(shrunkSize({ width: 480, height: 100 }, shrinkFor)).toEqual({ width: 160, height: 33 });
    expect(shrunkSize({ width: 479, height: 100 }, shrinkFor)).toBeUndefined();
    expect(shrunkSize({ width: 100, height: 4000 }, shrinkFor)).toEqual({ width: 4, height: 160 });
    expect(shrunkSize({ width: 100, height: 80 }, shrinkFor)).toBeUndefined();
  });

  it('is that of the side that shrinks least where the aspect ratio is lost', () => {
    const stretch = { ...shrinkFor, letterbox: { placement: 'stretch' } as const };
    expect(shrunkSize({ width: 4000, height: 470 }, stretch)).toBeUndefined();
    expect(shrunkSize({ width: 4000, height: 480 }, stretch)).toEqual({ width: 160, height: 160 });
  });
});

describe('a JPEG that is decoded at a smaller size', () => {
  it('is the same picture, whatever its orientation, colours and coding, and tells its own size', async () => {
    const gray = large().greyscale();
    const files: [string, Buffer][] = [
      ['baseline', await large().jpeg().toBuffer()],
      ['progressive', await large().jpeg({ progressive: true }).toBuffer()],
      ['gray', await gray.jpeg().toBuffer()],
      ['CMYK', await large().toColourspace('cmyk').jpeg().toBuffer()],
    ];
    for (let orientation = 2; orientation <= 8; orientation++)
      files.push([`orientation ${orientation}`, await large().withMetadata({ orientation }).jpeg().toBuffer()]);
    for (const [name, file] of files) {
      for (const autoOrient of [true, false]) {
        const whole = await decodeImage(file, { autoOrient });
        const shrunk = await decodeImage(file, { autoOrient, shrinkFor });
        expect([name, shrunk.original]).toEqual([name, { width: whole.width, height: whole.height }]);
        expect(Math.max(shrunk.width, shrunk.height)).toBe(160);
        const { data, info } = await sharp(whole.data, {
          raw: { width: whole.width, height: whole.height, channels: 3 },
        })
          .resize(shrunk.width, shrunk.height, { fit: 'fill', kernel: 'linear' })
          .raw()
          .toBuffer({ resolveWithObject: true });
        expect(difference(shrunk, { data, width: info.width, height: info.height }), name).toBeLessThan(3);
      }
    }
  });

  // The decoder leaves out what remains of the sides when they are divided by 2, 4 or 8: at most 7 of at least 9 pixels.
  it.each([
    [2563, 1939],
    [4007, 3031],
    [6007, 4543],
  ])('has everything where it was in %s×%s, to less than a pixel of the input', async (width, height) => {
    const input = { ...shrinkFor, inputWidth: 640, inputHeight: 640 };
    for (const place of [0.1, 0.5, 0.9]) {
      const disc = `<circle cx="${place * width}" cy="${place * height}" r="${0.05 * width}"/>`;
      const svg = `<svg width="${width}" height="${height}"><rect width="100%" height="100%" fill="#fff"/>${disc}</svg>`;
      const image = await decodeImage(await sharp(Buffer.from(svg)).jpeg().toBuffer(), { shrinkFor: input });
      expect(image.width).toBe(640);
      const [x, y] = centreOfDark(image);
      expect(Math.abs(x - place * image.width)).toBeLessThan(0.8);
      expect(Math.abs(y - place * image.height)).toBeLessThan(0.8);
    }
  });

  it('is no picture of another format, and none that is not much larger', async () => {
    for (const file of [
      await large().png().toBuffer(),
      await large().webp().toBuffer(),
      await large(479, 300).jpeg().toBuffer(),
    ]) {
      const image = await decodeImage(file, { shrinkFor });
      expect(image).not.toHaveProperty('original');
      expect(image.width).toBeGreaterThan(400);
    }
  });

  it('is still refused when it is cut short, or has too many pixels', async () => {
    const file = await large().jpeg().toBuffer();
    for (const share of [0.1, 0.5, 0.9]) {
      const error = await decodeImage(file.subarray(0, file.length * share), { shrinkFor }).catch((reason) => reason);
      expect(YoloError.is(error, 'ERR_YOLO_IMAGE_DECODE')).toBe(true);
    }
    await expect(decodeImage(file, { shrinkFor, limitInputPixels: 1_000_000 })).rejects.toThrow(/1281×963 pixels/);
  });
});
