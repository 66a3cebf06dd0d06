import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import ndarray, { type NdArray } from 'ndarray';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { annotateToPng } from '../../lib/image/annotate.js';
import { asGiven, decodeImage, describeInput } from '../../lib/image/decode.js';
import { toNdarray } from '../../lib/index.js';
import type { ImageInput, RgbImage } from '../../lib/types.js';
import { PHOTO } from '../support/default-detector.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const folder = mkdtempSync(join(tmpdir(), 'arrays-'));
afterAll(() => rmSync(folder, { recursive: true }));

const levels = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 73 + (at >> 4) * 31) & 255);

/** Element by element, as the array itself gives them. */
function slowly(array: NdArray<Uint8Array>): {
  data: Uint8Array;
  width: number;
  height: number;
  channels: 1 | 2 | 3 | 4;
} {
  const [height, width, channels = 1] = array.shape as [number, number, (1 | 2 | 3 | 4)?];
  const data: number[] = [];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let channel = 0; channel < channels; channel++)
        data.push(array.dimension === 2 ? array.get(y, x) : array.get(y, x, channel));
    }
  }
  return { data: Uint8Array.from(data), width, height, channels };
}

/** By bytes: of arrays that long, a comparison by element takes seconds. */
function expectSame(image: RgbImage, expected: RgbImage): void {
  expect([image.width, image.height]).toEqual([expected.width, expected.height]);
  expect(Buffer.compare(image.data, expected.data)).toBe(0);
}

const failure = (input: unknown, options?: { limitInputPixels?: number }) =>
  yoloErrorOf(decodeImage(input as ImageInput, options), describeInput(input));

describe('an ndarray', () => {
  const shaped = (...shape: number[]) => ndarray(levels(shape.reduce((a, b) => a * b) + 11), shape, undefined, 5);
  const ways: [string, NdArray<Uint8Array>][] = [
    ['RGB', shaped(7, 5, 3)],
    ['RGBA', shaped(7, 5, 4)],
    ['gray and alpha', shaped(7, 5, 2)],
    ['one channel', shaped(7, 5, 1)],
    ['two axes', shaped(7, 5)],
    ['columns first', shaped(5, 7, 3).transpose(1, 0, 2)],
    ['channels first', shaped(3, 7, 5).transpose(1, 2, 0)],
    ['blue first', shaped(7, 5, 3).step(1, 1, -1)],
    ['upside down', shaped(7, 5, 3).step(-1, 1, 1)],
    ['mirrored gray', shaped(7, 5).step(1, -1)],
    ['every second row and third column', shaped(14, 15, 3).step(2, 3, 1)],
    ['a part', shaped(20, 20, 4).lo(3, 9, 0).hi(7, 5, 3)],
    ['one channel of three', shaped(7, 5, 3).pick(null, null, 1)],
    ['one pixel', shaped(1, 1, 3)],
    ['one level repeated', ndarray(levels(1), [4, 6, 3], [0, 0, 0])],
    ['odd strides of axes with one element', ndarray(levels(12), [1, 4, 3], [-77, 3, 1])],
  ];
  it.each(ways)('has the pixels that it gives element by element: %s', async (_, array) => {
    expect(await decodeImage(array)).toEqual(await decodeImage(slowly(array)));
  });

  it('is passed on without a copy where it lies in rows, and never changed', async () => {
    const array = shaped(7, 5, 3);
    const before = [...array.data];
    expect((await decodeImage(array)).data.buffer).toBe(array.data.buffer);
    const drawing = { image: { width: 5, height: 7 }, autoOrient: true, *[Symbol.iterator]() {} };
    await annotateToPng(array, drawing, { hasLabels: true, colours: [] });
    await decodeImage(array.step(1, 1, -1));
    expect([...array.data]).toEqual(before);
  });

  it('is copied without holding the thread', async () => {
    const array = ndarray(new Uint8Array(3 * 2000 * 1500).fill(9), [3, 1500, 2000]).transpose(1, 2, 0);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const { data } = await decodeImage(array);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
    expect(data.every((level) => level === 9)).toBe(true);
  });

  it('may be of another realm, clamped, or no instance of the package', async () => {
    const data = runInNewContext('new Uint8ClampedArray([1, 2, 3, 4, 5, 6])') as Uint8ClampedArray;
    const rgb = await decodeImage({ data, shape: [1, 2, 3], stride: [6, 3, 1], offset: 0 });
    expect([...rgb.data]).toEqual([1, 2, 3, 4, 5, 6]);
  });

  const wrong: [string, unknown, RegExp][] = [
    ['floats', ndarray(new Float32Array(12), [2, 2, 3]), /its data are no Uint8Array/],
    ['an array', ndarray([1, 2, 3], [1, 1, 3]), /its data are no Uint8Array/],
    ['one axis', ndarray(levels(12), [12]), /its shape is \[12\]/],
    ['four axes', ndarray(levels(12), [1, 2, 2, 3]), /its shape is \[1, 2, 2, 3\]/],
    [
      'axes without a length',
      { ...ndarray(levels(12), [2, 6]), shape: new Array(2) },
      /its shape is \[undefined, undefined\]/,
    ],
    [
      'axes of no numbers',
      { ...ndarray(levels(12), [2, 6]), shape: [Symbol('rows'), 6] },
      /its shape is \[Symbol\(rows\) \(symbol\), 6\]/,
    ],
    ['no rows', ndarray(levels(12), [0, 2, 3]), /its shape is \[0, 2, 3\]/],
    [
      'channels first',
      ndarray(levels(3 * 20 * 30), [3, 20, 30]),
      /30 channels; where channels come first, .*transpose\(1, 2, 0\)/,
    ],
    ['five channels', ndarray(levels(20 * 20 * 5), [20, 20, 5]), /has 5 channels$/],
    [
      'too short data',
      { data: levels(11), shape: [2, 2, 3], stride: [6, 3, 1], offset: 0 },
      /elements 0 to 11 .* which have 11/,
    ],
    ['an offset before its data', { data: levels(12), shape: [2, 2], stride: [-2, 1], offset: 1 }, /elements -1 to 2 /],
    ['a stride too few', { data: levels(12), shape: [2, 2, 3], stride: [6, 3], offset: 0 }, /one stride for each axis/],
    ['half a stride', { data: levels(12), shape: [2, 2], stride: [2, 0.5], offset: 0 }, /stride \[2, 0\.5\]/],
    ['no offset', { data: levels(12), shape: [2, 2], stride: [2, 1] }, /offset undefined/],
    [
      'a shape that is none',
      { data: levels(12), shape: '2x2', stride: [2, 1], offset: 0 },
      /shape and stride are no arrays/,
    ],
  ];
  it.each(wrong)('is refused, saying why, with %s', async (_, array, message) => {
    const error = await failure(array);
    expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect(error.message).toMatch(/^Expected an ndarray of 8-bit levels/);
    expect(error.message).toMatch(message);
  });

  it('is held to the most pixels, however little memory it has', async () => {
    const array = ndarray(levels(1), [40_000, 40_000, 3], [0, 0, 0]);
    expect((await failure(array)).message).toMatch(
      /ndarray 40000×40000×3 has 40000×40000 pixels, more than limitInputPixels/,
    );
  });
});

describe('toNdarray()', () => {
  it('gives the pixels of a picture, rows first, red first', async () => {
    const array = await toNdarray(PHOTO);
    const { data, info } = await sharp(PHOTO).raw().toBuffer({ resolveWithObject: true });
    expect([array.shape, array.stride, array.offset]).toEqual([
      [info.height, info.width, 3],
      [3 * info.width, 3, 1],
      0,
    ]);
    expect(Buffer.compare(array.data, data)).toBe(0);
    const at = 3 * (100 * info.width + 200);
    expect([0, 1, 2].map((channel) => array.get(100, 200, channel))).toEqual([...data.subarray(at, at + 3)]);
    expect(array.dtype).toBe('uint8');
    expectSame(await decodeImage(array), await decodeImage(PHOTO));
  });

  it('gives memory of its own', async () => {
    const data = levels(12);
    for (const input of [{ data, width: 2, height: 2, channels: 3 as const }, ndarray(data, [2, 2, 3])]) {
      const array = await toNdarray(input);
      array.set(0, 0, 0, 255);
      expect(data[0]).toBe(0);
    }
  });

  it('takes the options of a detector that are about pictures, and no others', async () => {
    const turned = await sharp(PHOTO).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect((await toNdarray(turned)).shape).toEqual([640, 484, 3]);
    expect((await toNdarray(turned, { autoOrient: false })).shape).toEqual([484, 640, 3]);
    await expect(toNdarray(PHOTO, { limitInputPixels: 100 })).rejects.toThrow(/limitInputPixels \(100\)/);
    await expect(toNdarray('http://127.0.0.1/a.png', { urls: false })).rejects.toThrow(/is not fetched here/);
    await expect(toNdarray(PHOTO, { lanes: 1 } as never)).rejects.toThrow(/Unknown key "lanes"/);
    await expect(toNdarray(PHOTO, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
  });
});

describe('a sharp instance', () => {
  const raw = (channels: 1 | 2 | 3 | 4) =>
    sharp(levels(31 * 17 * channels), { raw: { width: 31, height: 17, channels } });

  it('has the pixels that its operations give, and can still be used', async () => {
    const instance = sharp(PHOTO).resize(200, 100, { fit: 'fill' }).flop();
    const { data } = await instance.clone().raw().toBuffer({ resolveWithObject: true });
    for (let time = 0; time < 2; time++) {
      const image = await decodeImage(instance);
      expect([image.width, image.height]).toEqual([200, 100]);
      expect(Buffer.compare(image.data, data)).toBe(0);
    }
    expect(await instance.png().metadata()).toMatchObject({ width: 640, height: 484 });
    expect((await instance.toBuffer()).subarray(1, 4).toString()).toBe('PNG');
  });

  it('has gray and alpha by the rule for all pictures, whatever it would be written as', async () => {
    for (const channels of [1, 2, 3, 4] as const) {
      const image = await decodeImage({ data: levels(31 * 17 * channels), width: 31, height: 17, channels });
      for (const instance of [
        raw(channels),
        raw(channels).jpeg({ quality: 10 }),
        sharp(await raw(channels).png().toBuffer()),
      ])
        expectSame(await decodeImage(instance), image);
    }
  });

  it('is turned only as it says itself', async () => {
    const turned = await sharp(PHOTO).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    expect((await decodeImage(sharp(turned))).width).toBe(640);
    expect((await decodeImage(sharp(turned).autoOrient())).width).toBe(484);
  });

  it('counts as it was at the call', async () => {
    const instance = sharp(PHOTO);
    const given = asGiven(instance);
    instance.resize(10, 10);
    expect((await decodeImage(given)).width).toBe(640);
  });

  it('may have read a stream, and is refused while it waits for one', async () => {
    const waiting = sharp();
    const error = await failure(waiting);
    expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect(error.message).toMatch(/waits for a stream; read the stream first/);
    await new Promise((resolve) => createReadStream(PHOTO).pipe(waiting).on('finish', resolve));
    expectSame(await decodeImage(asGiven(waiting)), await decodeImage(sharp(readFileSync(PHOTO))));
  });

  it('is an error when it cannot be read, and held to the most pixels', async () => {
    writeFileSync(join(folder, 'broken.jpg'), readFileSync(PHOTO).subarray(0, 300));
    for (const path of ['broken.jpg', 'nowhere.jpg']) {
      const error = await failure(sharp(join(folder, path)));
      expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
      expect(error.message).toMatch(/^The picture of a sharp instance cannot be made: \S/);
    }
    expect((await failure(sharp(PHOTO), { limitInputPixels: 1000 })).message).toMatch(/640×484 pixels, more than/);
  });
});
