import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { Detections } from '../../lib/detections.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const folder = mkdtempSync(join(tmpdir(), 'crop-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Box = [x1: number, y1: number, x2: number, y2: number];
const [width, height] = [40, 30];

/** Every pixel says where it is. */
const picture = { data: new Uint8Array(width * height * 3), width, height, channels: 3 } as const;
for (let at = 0; at < width * height; at++) picture.data.set([at % width, Math.floor(at / width), 200], 3 * at);

function boxes(xyxy: readonly Box[], source?: string): Detections {
  return Detections.from(
    {
      xyxy: Float32Array.from(xyxy.flat()),
      confidence: new Float32Array(xyxy.length).fill(0.5),
      classId: new Int32Array(xyxy.length),
    },
    { labels: ['cat'], image: { width, height }, source },
  );
}

/** left, top, width, height of a crop, read off its first pixel, after a look at every other. */
async function place(png: Buffer): Promise<[number, number, number, number]> {
  const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  expect(info.channels).toBe(3);
  for (let at = 0; at < info.width * info.height; at++)
    expect([...data.subarray(3 * at, 3 * at + 3)]).toEqual([
      data[0]! + (at % info.width),
      data[1]! + Math.floor(at / info.width),
      200,
    ]);
  return [data[0]!, data[1]!, info.width, info.height];
}

describe('crop', () => {
  it.each<[string, Box, number, [number, number, number, number]]>([
    ['whole pixels', [10, 5, 20, 15], 0, [10, 5, 10, 10]],
    ['every pixel that is touched', [10.9, 5.1, 19.1, 14.9], 0, [10, 5, 10, 10]],
    ['what is inside the picture', [-5, -5, 100, 8], 0, [0, 0, 40, 8]],
    ['one pixel of a box without area', [12, 7, 12, 7], 0, [12, 7, 1, 1]],
    ['one pixel of a box that is turned round', [20, 15, 10, 5], 0, [20, 15, 1, 1]],
    ['the nearest pixel of a box outside', [60, -20, 80, -10], 0, [39, 0, 1, 1]],
    ['padding, as far as the picture goes', [10, 5, 20, 15], 7, [3, 0, 24, 22]],
    ['padding without end', [10, 5, 20, 15], Number.MAX_SAFE_INTEGER, [0, 0, 40, 30]],
  ])('gives %s', async (_, box, padding, expected) => {
    expect(await place(await boxes([box]).crop(0, undefined, { image: picture, padding }))).toEqual(expected);
  });

  it('takes shared memory, the end of the list, and a file in the format that its extension names', async () => {
    const data = new Uint8Array(new SharedArrayBuffer(picture.data.length));
    data.set(picture.data);
    const two = boxes([
      [0, 0, 9, 9],
      [10, 5, 20, 15],
    ]);
    expect(await place(await two.crop(-1, undefined, { image: { ...picture, data } }))).toEqual([10, 5, 10, 10]);
    const path = join(folder, 'one.webp');
    expect(await two.crop(1, path, { image: picture })).toBeUndefined();
    expect(await sharp(readFileSync(path)).metadata()).toMatchObject({ format: 'webp', width: 10, height: 10 });
  });

  it('cuts the upright picture, from the file that the boxes came from', async () => {
    const lying = await sharp(picture.data, { raw: { width, height, channels: 3 } })
      .rotate(-90)
      .png()
      .toBuffer();
    const path = join(folder, 'turned.tiff');
    await sharp(lying).withMetadata({ orientation: 6 }).tiff({ compression: 'lzw' }).toFile(path);
    expect(await place(await boxes([[10, 5, 20, 15]], path).crop(0))).toEqual([10, 5, 10, 10]);
  });

  it('answers misuse with what was expected', async () => {
    const image = picture;
    const two = boxes([
      [0, 0, 9, 9],
      [10, 5, 20, 15],
    ]);
    const mistakes: [Promise<unknown>, RegExp][] = [
      [two.crop(2, undefined, { image }), /in \[-2, 1\], but received 2/],
      [two.crop(0.5, undefined, { image }), /in \[-2, 1\], but received 0\.5/],
      [boxes([]).crop(0, undefined, { image }), /no detections/],
      [two.crop(0), /crop\(index, path, \{ image \}\)/],
      [two.crop(0, undefined, { image, padding: -1 }), /padding to be a whole number of at least 0/],
      [two.crop(0, 'out.bmp', { image }), /\.png, \.jpg/],
      [two.crop(0, undefined, { image, margin: 3 } as never), /Unknown key "margin"/],
      [two.saveCrops('out' as never, { image }), /a function/],
      [two.saveCrops(() => 'same.png', { image }), /Two detections.*same\.png/],
      [two.saveCrops(() => 5 as never, { image }), /Expected the path of detection 0.*received 5/],
    ];
    for (const [work, message] of mistakes) {
      const error = await yoloErrorOf(work);
      expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
      expect(error.message).toMatch(message);
    }
  });
});

describe('saveCrops', () => {
  const three = boxes([
    [0, 0, 9, 9],
    [10, 5, 20, 15],
    [30, 20, 40, 30],
  ]);

  it('writes those that are given a path', async () => {
    const out = join(folder, 'some');
    mkdirSync(out);
    await three.saveCrops((_, index) => (index === 1 ? undefined : join(out, `${index}.png`)), { image: picture });
    expect(readdirSync(out).sort()).toEqual(['0.png', '2.png']);
    expect(await place(readFileSync(join(out, '2.png')))).toEqual([30, 20, 10, 10]);
  });

  it('writes nothing where one path has an unknown extension, and keeps what is written where a later one fails', async () => {
    const out = join(folder, 'kept');
    mkdirSync(out);
    writeFileSync(join(out, '0.png'), 'as it was');
    const paths = (last: string) => (_: unknown, index: number) => join(out, index === 2 ? last : `${index}.png`);
    expect((await yoloErrorOf(three.saveCrops(paths('2.bmp'), { image: picture }))).code).toBe(
      'ERR_YOLO_INVALID_ARGUMENT',
    );
    expect(readFileSync(join(out, '0.png'), 'utf8')).toBe('as it was');
    const error = await yoloErrorOf(three.saveCrops(paths('no/2.png'), { image: picture }));
    expect([error.code, error.detail?.path]).toEqual(['ERR_YOLO_FILE_WRITE', join(out, 'no/2.png')]);
    expect(readdirSync(out).sort()).toEqual(['0.png', '1.png']);
    expect(await place(readFileSync(join(out, '0.png')))).toEqual([0, 0, 9, 9]);
  });
});
