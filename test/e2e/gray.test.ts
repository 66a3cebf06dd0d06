import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Detector, type ImageInput } from '../../lib/index.js';
import { channelMeter, METER_SIDE } from '../support/channel-meter.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-gray-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let detector: Detector;
beforeAll(async () => {
  detector = await Detector.create({ model: channelMeter(), confidenceThreshold: 0, threads: 1 });
});
afterAll(() => detector.close());

const LEVEL = 140;
const side = METER_SIDE;
const camera = new Uint8Array(side * side).fill(LEVEL);
const gray = () => sharp(camera, { raw: { width: side, height: side, channels: 1 } }).toColourspace('b-w');

/** One level a pixel, as cameras and scanners give it, and as files of one channel have it. */
const pictures: Record<string, () => Promise<ImageInput>> = {
  'pixels of a camera': async () => ({ data: camera, width: side, height: side, channels: 1 }),
  'gray and opaque alpha': async () => ({
    data: Uint8Array.from({ length: 2 * side * side }, (_, at) => (at % 2 === 0 ? LEVEL : 255)),
    width: side,
    height: side,
    channels: 2,
  }),
  'JPEG of one channel': () => gray().jpeg({ quality: 100 }).toBuffer(),
  'PNG of one channel': () => gray().png().toBuffer(),
  'PNG of 16 bits': () =>
    sharp(new Uint16Array(side * side).fill(LEVEL << 8), { raw: { width: side, height: side, channels: 1 } })
      .toColourspace('grey16')
      .png()
      .toBuffer(),
  'TIFF of one channel': () => gray().tiff({ compression: 'lzw' }).toBuffer(),
};

describe('a gray picture reaches the model as three equal channels', () => {
  it.each(Object.keys(pictures))('%s, alone, as a file and in a batch', async (kind) => {
    const picture = await pictures[kind]!();
    const ways: ImageInput[] = [picture];
    if (Buffer.isBuffer(picture)) {
      const { channels } = await sharp(picture).metadata();
      expect(channels).toBe(1);
      const path = join(folder, kind);
      writeFileSync(path, picture);
      ways.push(path);
    }
    const alone = await Promise.all(ways.map((way) => detector.detect(way)));
    for (const found of [...alone, ...(await detector.detectBatch(ways))]) {
      const means = [...found].sort((a, b) => a.classId - b.classId).map(({ confidence }) => confidence);
      expect(means).toHaveLength(3);
      for (const mean of means) expect(Math.abs(mean * 255 - LEVEL)).toBeLessThan(0.1);
    }
  });

  it('and is told from RGB by its length, with what to set', async () => {
    const asRgb = { data: camera, width: side, height: side, channels: 3 } as const;
    await expect(detector.detect(asRgb)).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringMatching(/12288 bytes of pixels for 64×64×3 but received 4096; .*channels: 1/),
    });
    await expect(detector.detect({ data: camera, width: side, height: side } as ImageInput)).rejects.toThrow(
      /channels of the pixels to be 1 \(gray\).* received undefined/,
    );
    // Pixels without their size look like a file.
    await expect(detector.detect(camera)).rejects.toThrow(/pixels are passed as \{ data, width, height, channels \}/);
  });
});
