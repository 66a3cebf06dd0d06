import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { assertImageInput, decodeImage, describeInput } from '../../lib/image/decode.js';
import { refusedKind, SVG } from '../../lib/image/file-kind.js';
import type { ImageInput, RawImage } from '../../lib/types.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Levels that differ by place and channel, so that a turned or swapped picture shows. */
function pixels(width: number, height: number, channels: 1 | 2 | 3 | 4): RawImage {
  const data = Uint8Array.from({ length: width * height * channels }, (_, at) => (at * 73 + (at >> 4) * 31) & 255);
  return { data, width, height, channels };
}

function encoder({ data, width, height, channels }: RawImage) {
  return sharp(data, { raw: { width, height, channels } });
}

const failure = (input: unknown, options?: { limitInputPixels?: number }) =>
  yoloErrorOf(decodeImage(input as ImageInput, options), describeInput(input));

describe('one rule for every way to give a picture', () => {
  for (const channels of [1, 2, 3, 4] as const) {
    it(`gives the same RGB for ${channels} channels as path, URL, bytes, Blob and pixels`, async () => {
      const raw = pixels(31, 17, channels);
      const png = await encoder(raw).png().toBuffer();
      const path = join(folder, `same ${channels}.png`);
      writeFileSync(path, png);
      const arrayBuffer = Uint8Array.from(png).buffer;
      const roomy = new Uint8Array(png.length + 20);
      roomy.set(png, 7);
      const sharedBytes = new Uint8Array(new SharedArrayBuffer(png.length));
      sharedBytes.set(png);
      const sharedPixels = new Uint8Array(new SharedArrayBuffer(raw.data.length));
      sharedPixels.set(raw.data);
      const ways: ImageInput[] = [
        path,
        pathToFileURL(path),
        pathToFileURL(path).href,
        png,
        Uint8Array.from(png),
        arrayBuffer,
        new Blob([arrayBuffer]),
        roomy.subarray(7, 7 + png.length),
        sharedBytes,
        runInNewContext(`new Uint8Array([${[...png]}])`) as Uint8Array,
        await encoder(raw).webp({ lossless: true, exact: true }).toBuffer(),
        await encoder(raw).tiff({ compression: 'lzw' }).toBuffer(),
        { ...raw, data: sharedPixels },
        { ...raw, data: new Uint8ClampedArray(raw.data) },
      ];
      const expected = await decodeImage(raw);
      expect([expected.width, expected.height, expected.data.length]).toEqual([31, 17, 31 * 17 * 3]);
      for (const [index, way] of ways.entries()) {
        const { data, width, height } = await decodeImage(way);
        const same = Buffer.from(data).equals(expected.data);
        expect([index, width, height, same]).toEqual([index, 31, 17, true]);
      }
    });
  }

  it('keeps the order red, green, blue', async () => {
    const png = await encoder({ data: Uint8Array.of(250, 120, 10), width: 1, height: 1, channels: 3 })
      .png()
      .toBuffer();
    expect([...(await decodeImage(png)).data]).toEqual([250, 120, 10]);
  });

  it('puts gray into all three channels', async () => {
    const { data } = await decodeImage({ data: Uint8Array.of(0, 77, 255), width: 3, height: 1, channels: 1 });
    expect([...data]).toEqual([0, 0, 0, 77, 77, 77, 255, 255, 255]);
  });

  it('composites every level and alpha over 114, rounded to the nearest', async () => {
    const data = Uint8Array.from({ length: 256 * 256 * 2 }, (_, at) => (at % 2 === 0 ? (at >> 1) & 255 : at >> 9));
    const rgb = await decodeImage({ data, width: 256, height: 256, channels: 2 });
    for (let at = 0; at < 65536; at++) {
      const level = at & 255;
      const alpha = at >> 8;
      const wanted = Math.round((level * alpha + 114 * (255 - alpha)) / 255);
      if (rgb.data[3 * at] !== wanted) expect([level, alpha, rgb.data[3 * at]]).toEqual([level, alpha, wanted]);
    }
    expect([...rgb.data.subarray(0, 3)]).toEqual([114, 114, 114]);
  });

  it('passes pixels of three channels on without a copy, and changes none', async () => {
    const raw = pixels(5, 4, 3);
    expect((await decodeImage(raw)).data.buffer).toBe(raw.data.buffer);
    const rgba = pixels(5, 4, 4);
    const before = [...rgba.data];
    await decodeImage(rgba);
    expect([...rgba.data]).toEqual(before);
  });

  it('composites a large picture without holding the thread', async () => {
    const width = 1920;
    const raw = { data: new Uint8Array(width * 1080 * 4).fill(90), width, height: 1080, channels: 4 as const };
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const { data } = await decodeImage(raw);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
    const level = Math.round((90 * 90 + 114 * 165) / 255);
    expect(data.length).toBe(width * 1080 * 3);
    expect(data.every((value) => value === level)).toBe(true);
  });

  it('takes the upper 8 of 16 bits', async () => {
    const levels = Uint16Array.of(0, 255, 256, 32767, 32768, 65279, 65280, 65535, 0x1234);
    const png = await sharp(levels, { raw: { width: 3, height: 1, channels: 3 } })
      .toColourspace('rgb16')
      .png()
      .toBuffer();
    expect((await sharp(png).metadata()).depth).toBe('ushort');
    expect([...(await decodeImage(png)).data]).toEqual([...levels].map((level) => level >> 8));
  });

  // Where (x, y) of the picture as displayed lies in the stored one.
  const stored: ((x: number, y: number, width: number, height: number) => [number, number])[] = [
    (x, y) => [x, y],
    (x, y, width) => [width - 1 - x, y],
    (x, y, width, height) => [width - 1 - x, height - 1 - y],
    (x, y, _, height) => [x, height - 1 - y],
    (x, y) => [y, x],
    (x, y, _, height) => [y, height - 1 - x],
    (x, y, width, height) => [width - 1 - y, height - 1 - x],
    (x, y, width) => [width - 1 - y, x],
  ];
  for (const [index, place] of stored.entries()) {
    it(`shows a JPEG of orientation ${index + 1} upright`, async () => {
      const upright = pixels(24, 16, 3);
      const plain = await encoder(upright).jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer();
      const turned = await sharp(plain)
        .withMetadata({ orientation: index + 1 })
        .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
        .toBuffer();
      const asStored = await sharp(turned).raw().toBuffer();
      const shown = await decodeImage(turned);
      expect([shown.width, shown.height]).toEqual(index < 4 ? [24, 16] : [16, 24]);
      for (let y = 0; y < shown.height; y++) {
        for (let x = 0; x < shown.width; x++) {
          const [fromX, fromY] = place(x, y, 24, 16);
          const from = 3 * (fromY * 24 + fromX);
          const at = 3 * (y * shown.width + x);
          expect([...shown.data.subarray(at, at + 3)]).toEqual([...asStored.subarray(from, from + 3)]);
        }
      }
      writeFileSync(join(folder, 'turned.jpg'), turned);
      expect(await decodeImage(join(folder, 'turned.jpg'))).toEqual(shown);
    });
  }

  it('ignores the profile of an RGB picture', async () => {
    const raw = pixels(8, 8, 3);
    const png = await encoder(raw).keepIccProfile().withIccProfile('p3', { attach: true }).png().toBuffer();
    expect((await sharp(png).metadata()).icc).toBeDefined();
    const levels = await sharp(png, { ignoreIcc: true }).raw().toBuffer();
    expect(Buffer.from((await decodeImage(png)).data).equals(levels)).toBe(true);
    const converted = await sharp(png).toColourspace('srgb').raw().toBuffer();
    expect(converted.equals(levels)).toBe(false);
  });

  it('is not disturbed by memory that shrinks or is transferred while it is decoded', async () => {
    const { data, width, height } = pixels(1200, 900, 3);
    const file = await sharp(data, { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer();
    const expected = await decodeImage(file);
    // Younger than the types of ES2023.
    const Resizable = ArrayBuffer as unknown as new (
      length: number,
      options: { maxByteLength: number },
    ) => ArrayBuffer & { resize(length: number): void };
    const shrunk = new Resizable(file.length, { maxByteLength: file.length });
    const transferred = new ArrayBuffer(file.length);
    for (const buffer of [shrunk, transferred]) new Uint8Array(buffer).set(file);
    const decoded = [decodeImage(new Uint8Array(shrunk)), decodeImage(transferred)];
    await new Promise((resolve) => setTimeout(resolve, 3));
    shrunk.resize(0);
    structuredClone(transferred, { transfer: [transferred] });
    for (const image of await Promise.all(decoded)) expect(Buffer.compare(image.data, expected.data)).toBe(0);
  });

  it('takes the first frame of an animation', async () => {
    const first = await encoder({ data: new Uint8Array(300).fill(200), width: 10, height: 10, channels: 3 })
      .png()
      .toBuffer();
    const second = await encoder({ data: new Uint8Array(300).fill(10), width: 10, height: 10, channels: 3 })
      .png()
      .toBuffer();
    for (const animation of [
      await sharp([first, second], { join: { animated: true } })
        .gif()
        .toBuffer(),
      await sharp([first, second], { join: { animated: true } })
        .webp({ lossless: true })
        .toBuffer(),
    ]) {
      expect((await sharp(animation).metadata()).pages).toBe(2);
      const { data, width, height } = await decodeImage(animation);
      expect([width, height, data[0]]).toEqual([10, 10, 200]);
    }
  });

  it('leaves the settings of sharp alone', async () => {
    const settings = () => [
      sharp.concurrency(),
      sharp.simd(),
      (sharp.cache() as { memory: { max: number } }).memory.max,
    ];
    const before = settings();
    await decodeImage(
      await encoder(pixels(8, 8, 3))
        .png()
        .toBuffer(),
    );
    expect(settings()).toEqual(before);
  });
});

describe('what is no picture', () => {
  const invalid: [string, unknown, RegExp][] = [
    ['nothing', undefined, /received undefined/],
    ['null', null, /received null/],
    ['a number', 7, /received 7 \(number\)/],
    ['a long array', new Array(100_000).fill(1), /an array of 100000$/],
    ['floats', new Float32Array(3), /Float32Array of 12 bytes/],
    ['an empty path', '', /empty string/],
    ['a URL of any other scheme', 's3://photos/a.jpg', /not read from s3: URLs; fetch .* and pass the bytes/],
    ['a data: URL', new URL('data:image/png;base64,AAAA'), /not read from data: URLs/],
    ['what begins as a URL', 'http://[/a.jpg', /Expected the URL of a picture but received http:/],
    ['no width', { data: new Uint8Array(3), height: 1, channels: 3 }, /width .* received undefined/],
    ['5 channels', { data: new Uint8Array(5), width: 1, height: 1, channels: 5 }, /channels .* received 5/],
    ['too few bytes', { data: new Uint8Array(11), width: 2, height: 2, channels: 3 }, /12 bytes .* received 11/],
    [
      '16-bit pixels',
      { data: new Uint16Array(3), width: 1, height: 1, channels: 3 },
      /8-bit levels but received Uint16Array/,
    ],
    ['data in an array', { data: [1, 2, 3], width: 1, height: 1, channels: 3 }, /an array of 3/],
  ];
  for (const [title, input, message] of invalid) {
    it(`is refused at once: ${title}`, async () => {
      expect(() => assertImageInput(input)).toThrow(message);
      const error = await failure(input);
      expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
      expect(error.message).toMatch(message);
    });
  }

  it('is refused at once: bytes that were transferred away', async () => {
    const buffer = new ArrayBuffer(8);
    structuredClone(buffer, { transfer: [buffer] });
    expect((await failure(buffer)).code).toBe('ERR_YOLO_INVALID_ARGUMENT');
  });

  it('is named in messages without its contents', () => {
    expect(describeInput('street.jpg')).toBe('street.jpg');
    expect(describeInput(Buffer.alloc(1234))).toBe('Buffer of 1234 bytes');
    expect(describeInput(pixels(640, 480, 3))).toBe('RawImage 640×480×3');
    expect(describeInput(new SharedArrayBuffer(4))).toBe('SharedArrayBuffer of 4 bytes');
  });
});

describe('a picture that cannot be decoded', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');
  const cases: [string, Uint8Array, RegExp][] = [
    ['BMP', bytes('BM\x36\0\0\0'), /is BMP, which is not read: convert it/],
    ['JPEG 2000', bytes('\0\0\0\x0cjP  \r\n\x87\n'), /is JPEG 2000/],
    ['HEIC', bytes('\0\0\0\x18ftypheic\0\0\0\0mif1heic'), /is HEIC/],
    ['HEIC by its second brand', bytes('\0\0\0\x18ftypmif1\0\0\0\0mif1heic'), /is HEIC/],
    ['HEIF', bytes('\0\0\0\x18ftypmif1\0\0\0\0mif1miaf'), /is HEIF/],
    ['AVIF sequence', bytes('\0\0\0\x18ftypavis\0\0\0\0avisavif'), /is AVIF sequence/],
    ['video', bytes('\0\0\0\x18ftypisom\0\0\0\0isommp42'), /is MP4 or QuickTime video/],
    ['PDF', bytes('%PDF-1.7\n'), /is PDF/],
    ['icon', bytes('\0\0\x01\0\x01\0'), /is Windows icon/],
    ['HTML', bytes('<!DOCTYPE html><html>404</html>'), /is HTML.* download the picture itself/],
    ['JSON', bytes('{"error": "not found"}'), /is JSON/],
    ['text', bytes('not a picture'), /cannot be decoded \(13 bytes/],
    ['nothing', new Uint8Array(0), /is empty \(0 bytes\)/],
    ['zero bytes', new Uint8Array(1000), /cannot be decoded \(1000 bytes that begin with 0000000000000000\)/],
  ];
  for (const [title, input, message] of cases) {
    it(`is refused with its format and what to do: ${title}`, async () => {
      const error = await failure(input);
      expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
      expect(error.message).toMatch(message);
    });
  }

  it('is an error when it is cut short, at whatever place', async () => {
    const photo = encoder(pixels(200, 150, 3));
    for (const whole of [await photo.jpeg().toBuffer(), await photo.png().toBuffer(), await photo.webp().toBuffer()]) {
      for (const share of [0.1, 0.5, 0.9]) {
        const error = await failure(whole.subarray(0, whole.length * share));
        expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
        expect(error.message).toMatch(/damaged, cut short/);
      }
    }
  });

  it('is a TIFF of floats, whose range nothing states', async () => {
    // 3×1 pixels of 32 bits in one strip, sample format 3, which is floating point.
    const entries = [
      [256, 3],
      [257, 1],
      [258, 32],
      [259, 1],
      [262, 1],
      [273, 150],
      [277, 1],
      [278, 1],
      [279, 12],
      [339, 3],
    ];
    const file = Buffer.alloc(162);
    file.write('II*\0', 'latin1');
    file.writeUInt32LE(8, 4);
    file.writeUInt16LE(entries.length, 8);
    for (const [place, [tag, value]] of entries.entries()) {
      file.writeUInt16LE(tag!, 10 + 12 * place);
      file.writeUInt16LE(4, 12 + 12 * place);
      file.writeUInt32LE(1, 14 + 12 * place);
      file.writeUInt32LE(value!, 18 + 12 * place);
    }
    for (const [place, level] of [0, 0.5, 1].entries()) file.writeFloatLE(level, 150 + 4 * place);
    const error = await failure(file);
    expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
    expect(error.message).toMatch(/float samples.* 8 or 16 bits/);
  });

  it('is a path without a file, or a folder', async () => {
    const missing = await failure(join(folder, 'missing.jpg'));
    expect(missing.code).toBe('ERR_YOLO_IMAGE_DECODE');
    expect(missing.message).toContain(join(folder, 'missing.jpg'));
    expect(missing.message).toContain('ENOENT');
    expect((await failure(folder)).message).toMatch(/it is a folder/);
    expect((await failure('file://elsewhere/a.jpg')).code).toBe('ERR_YOLO_IMAGE_DECODE');
  });

  it('is base64 given as a path, which is not repeated whole', async () => {
    for (const text of ['iVBORw0KGgo='.repeat(10_000), `FILE:///${'a'.repeat(10_000)}`]) {
      const error = await failure(text);
      expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
      expect(error.message).toMatch(/ENAMETOOLONG.*pass the bytes/);
      expect(error.message.length + JSON.stringify(error.detail).length).toBeLessThan(700);
    }
  });

  it('has more pixels than the limit, given any way, and none are decoded', async () => {
    const png = await encoder(pixels(40, 30, 3))
      .png()
      .toBuffer();
    for (const input of [png, pixels(40, 30, 3), pixels(40, 30, 4)]) {
      const error = await failure(input, { limitInputPixels: 1199 });
      expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
      expect(error.message).toMatch(/40×30 pixels, more than limitInputPixels \(1199\)/);
      expect((await decodeImage(input, { limitInputPixels: 1200 })).width).toBe(40);
    }
  });

  it('has more than 100 megapixels, unless told otherwise', async () => {
    const large = await sharp({ create: { width: 10001, height: 10000, channels: 3, background: '#000' } })
      .png({ compressionLevel: 1 })
      .toBuffer();
    expect((await failure(large)).message).toMatch(/10001×10000 pixels, more than limitInputPixels \(100000000\)/);
  });
});

describe('a drawing', () => {
  const blur = `<feGaussianBlur stdDeviation="900"/>`.repeat(2);
  const bomb = `<svg xmlns="http://www.w3.org/2000/svg" width="9000" height="9000"><filter id="f">${blur}</filter><rect width="9000" height="9000" filter="url(#f)"/></svg>`;
  const ways: [string, Uint8Array][] = [
    ['as it is', Buffer.from(bomb)],
    ['after a byte order mark', Buffer.from(`\uFEFF${bomb}`)],
    ['after space', Buffer.from(` \n\t${bomb}`)],
    ['after much space', Buffer.from(' '.repeat(900) + bomb)],
    [
      'after a declaration, a comment and a doctype',
      Buffer.from(`<?xml version="1.0"?><!-- a > b --><!DOCTYPE svg>${bomb}`),
    ],
    ['with a name space prefix', Buffer.from(bomb.replaceAll('<svg', '<s:svg').replace('xmlns=', 'xmlns:s='))],
    ['in UTF-16', Buffer.from(`\uFEFF${bomb}`, 'utf16le')],
    ['in big-endian UTF-16', Buffer.from(`\uFEFF${bomb}`, 'utf16le').swap16()],
    ['in UTF-16 without a mark', Buffer.from(bomb, 'utf16le')],
    ['packed', gzipSync(bomb)],
    ['packed with much behind it', gzipSync(bomb + ' '.repeat(8_000_000))],
    ['behind other text', Buffer.from(`some words of text, then ${bomb}`)],
  ];
  for (const [title, input] of ways) {
    it(`is refused before a decoder sees it: ${title}`, async () => {
      expect(refusedKind(input)).toBe(SVG);
      const start = performance.now();
      const error = await failure(input);
      expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
      expect(error.message).toMatch(/is SVG, which is not read/);
      expect(performance.now() - start).toBeLessThan(1000);
    });
  }
});
