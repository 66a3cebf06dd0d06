import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { YoloError } from '../../lib/errors.js';
import { decodeImage } from '../../lib/image/decode.js';
import type { ImageInput, RgbImage } from '../../lib/types.js';
import { describeShared, shared } from '../support/shared.js';

/**
 * Beginning of the sha256 of the RGB bytes that Pillow 13.0.0 gives: exif_transpose, then alpha over 114 as
 * (level * alpha + 114 * (255 - alpha) + 127) // 255.
 */
const SAME_AS_PILLOW: [file: string, width: number, height: number, sha256: string][] = [
  ['2x2.png', 2, 2, '728f86ec99292f99'],
  ['alpha.webp', 300, 300, '237f190ce929045d'],
  ['animated.gif', 370, 285, 'd345d0223cbfddcf'],
  ['animated.webp', 370, 285, '36e0bcf9a522c3a4'],
  ['apng_palette_alpha.png', 128, 64, '7a4e5a99e543299b'],
  ['big_animated.gif', 800, 533, '29bf24b7e1b60760'],
  ['bilevel.tif', 2464, 3248, '8a789f70db4c08cd'],
  ['exif200.jpg', 200, 200, 'f1f826d1d7e5adde'],
  ['exif_gps.jpg', 8, 8, '5d89f056865052bc'],
  ['exif_landscape_1.jpg', 600, 450, 'd65a143dcef31110'],
  ['exif_landscape_2.jpg', 600, 450, '0a451214eacd45ab'],
  ['exif_landscape_3.jpg', 600, 450, '93ad77a2825f9982'],
  ['exif_landscape_4.jpg', 600, 450, '36194f1246064de4'],
  ['exif_landscape_6.jpg', 600, 450, 'ef0550ad3269960d'],
  ['exif_landscape_8.jpg', 600, 450, '570d2880d3f57e7b'],
  ['exif_portrait_6.jpg', 450, 600, '2c2ab14b46cc7cff'],
  ['gray.jpg', 258, 222, '0c40fe382a80c299'],
  ['gray8_alpha.png', 400, 300, '814e572ab9cabc75'],
  ['gray_alpha_1px.gif', 2, 1, 'bb3900977339090f'],
  ['hopper_progressive_check.jpg', 128, 128, '719b9eeda0a26779'],
  ['p3_icc.png', 8, 8, '65b2e283a8bd4941'],
  ['palette_swiss.png', 68, 68, 'd07dd364e0f80b4a'],
  ['pngsuite_gray16_alpha_bg.png', 32, 32, '01e608d0f7778138'],
  ['pngsuite_rgb16_trns.png', 32, 32, 'e34757b824852fa8'],
  ['recurser_landscape_6.jpg', 1800, 1200, 'c243a6a66178b161'],
];

const PHOTOS: typeof SAME_AS_PILLOW = [
  ['photos/classic/ultralytics_bus.jpg', 810, 1080, 'e8c11e7a7a688f70'],
  ['photos/coco/evaluation/000000000086.jpg', 512, 640, 'e14d758f196ea77e'],
  ['photos/coco/evaluation/000000000542.jpg', 640, 484, '1f534fa6e3740f79'],
];

/** Mean levels of other decoders: LittleCMS to sRGB by the file's own profile (perceptual), and Pillow's AVIF reader. */
const NEAR: [file: string, width: number, height: number, mean: number[], tolerance: number][] = [
  ['cmyk_profile.jpg', 500, 333, [120.95, 126.4, 115.23], 0.02],
  ['photo.avif', 4096, 800, [30.12, 37.82, 52.81], 0.1],
];

const REFUSED: [file: string, message: RegExp][] = [
  ['broken.png', /damaged, cut short/],
  ['broken_data_stream.png', /damaged, cut short/],
  ['check.svg', /is SVG, which is not read/],
  ['corrupt_header.jpg', /damaged, cut short/],
  ['decompression_bomb.gif', /damaged, cut short/],
  ['example.heic', /is HEIC, which is not read: convert it/],
  ['giant_dims.jpg', /20000×14000 pixels, more than limitInputPixels \(100000000\)/],
  ['hopper.heif', /is HEIC, which is not read: convert it/],
  ['photo.jp2', /is JPEG 2000, which is not read: convert it/],
  ['rgb24.bmp', /is BMP, which is not read: convert it/],
  ['star.avifs', /is AVIF sequence, which is not read: convert it/],
  ['truncated.jpg', /damaged, cut short/],
];

function fingerprint({ data, width, height }: RgbImage): [number, number, string] {
  return [width, height, createHash('sha256').update(data).digest('hex').slice(0, 16)];
}

/** In levels, over all pixels of one and those of another at their places. */
function meanDifference(one: RgbImage, other: RgbImage, place: (x: number, y: number) => [number, number]): number {
  let sum = 0;
  for (let y = 0; y < one.height; y++) {
    for (let x = 0; x < one.width; x++) {
      const [toX, toY] = place(x, y);
      for (const channel of [0, 1, 2])
        sum += Math.abs(
          one.data[3 * (y * one.width + x) + channel]! - other.data[3 * (toY * one.width + toX) + channel]!,
        );
    }
  }
  return sum / one.data.length;
}

describeShared('awkward pictures', () => {
  for (const [file, width, height, sha256] of SAME_AS_PILLOW) {
    it(`has the bytes that Pillow gives: ${file}`, async () => {
      expect(fingerprint(await decodeImage(shared(`awkward/${file}`)))).toEqual([width, height, sha256]);
    });
  }

  for (const [file, width, height, mean, tolerance] of NEAR) {
    it(`has the levels that other decoders give: ${file}`, async () => {
      const picture = await decodeImage(shared(`awkward/${file}`));
      expect([picture.width, picture.height]).toEqual([width, height]);
      const sums = [0, 0, 0];
      for (let at = 0; at < picture.data.length; at++) sums[at % 3]! += picture.data[at]!;
      for (const [channel, sum] of sums.entries())
        expect(Math.abs(sum / (width * height) - mean[channel]!)).toBeLessThan(tolerance);
    });
  }

  for (const [file, message] of REFUSED) {
    it(`is refused: ${file}`, async () => {
      const error = await decodeImage(shared(`awkward/${file}`)).catch((reason: unknown) => reason);
      expect(YoloError.is(error, 'ERR_YOLO_IMAGE_DECODE')).toBe(true);
      expect((error as YoloError).message).toMatch(message);
    });
  }

  it('show one scene the same way up, whichever of the orientations they are stored in', async () => {
    const first = await decodeImage(shared('awkward/exif_landscape_1.jpg'));
    for (const orientation of [2, 3, 4, 6, 8]) {
      const other = await decodeImage(shared(`awkward/exif_landscape_${orientation}.jpg`));
      expect([other.width, other.height]).toEqual([first.width, first.height]);
      // Each has its number written on it, and was compressed by itself.
      const upright = meanDifference(first, other, (x, y) => [x, y]);
      const mirrored = meanDifference(first, other, (x, y) => [first.width - 1 - x, y]);
      const upsideDown = meanDifference(first, other, (x, y) => [first.width - 1 - x, first.height - 1 - y]);
      expect(upright, `orientation ${orientation}`).toBeLessThan(20);
      expect(Math.min(mirrored, upsideDown)).toBeGreaterThan(2.5 * upright);
    }
  });

  it('are the same as a path, bytes and a Blob, down to the error', { timeout: 120_000 }, async () => {
    const outcome = (input: ImageInput) =>
      decodeImage(input).then(fingerprint, (error: YoloError) => [
        error.code,
        error.message.replace(/^.*? (?=is|has|cannot)/, ''),
      ]);
    for (const file of [SAME_AS_PILLOW, NEAR, REFUSED].flatMap((list) => list.map(([name]) => name))) {
      const path = shared(`awkward/${file}`);
      const bytes = readFileSync(path);
      const ofPath = await outcome(path);
      expect([file, await outcome(bytes)]).toEqual([file, ofPath]);
      expect([file, await outcome(new Blob([bytes]))]).toEqual([file, ofPath]);
    }
  });

  it('are all looked at', () => {
    const known = [SAME_AS_PILLOW, NEAR, REFUSED].flatMap((list) => list.map(([file]) => file));
    const files = readdirSync(shared('awkward')).filter((file) => !['INDEX.md', 'SOURCES.tsv'].includes(file));
    expect(known.sort()).toEqual(files.sort());
  });
});

describeShared('photos', () => {
  for (const [file, width, height, sha256] of PHOTOS) {
    it(`has the bytes that Pillow gives: ${file}`, async () => {
      expect(fingerprint(await decodeImage(shared(file)))).toEqual([width, height, sha256]);
    });
  }
});
