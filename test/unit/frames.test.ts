import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { YoloError } from '../../lib/errors.js';
import { type FramesOptions, frames } from '../../lib/frames.js';
import type { RawImage } from '../../lib/types.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const SIZE: FramesOptions = { width: 3, height: 2, channels: 1 };
const LENGTH = 6;

/** Bytes that count. */
const counting = (length: number) => Uint8Array.from({ length }, (_, index) => index);

async function all(pictures: AsyncIterable<RawImage>): Promise<RawImage[]> {
  const found: RawImage[] = [];
  for await (const picture of pictures) found.push(picture);
  return found;
}

describe('frames()', () => {
  it('cuts bytes into pictures, however they come in chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.array(fc.integer({ min: 0, max: 20 })),
        fc.constantFrom(1, 2, 3, 4) as fc.Arbitrary<RawImage['channels']>,
        async (count, lengths, channels) => {
          const size = 2 * channels;
          const bytes = counting(count * size);
          const chunks: Uint8Array[] = [];
          let begin = 0;
          for (const length of [...lengths, bytes.length]) {
            chunks.push(bytes.subarray(begin, begin + length));
            begin += length;
          }
          const pictures = await all(frames(Readable.from(chunks), { width: 2, height: 1, channels }));
          expect(pictures.length).toBe(count);
          for (const [index, picture] of pictures.entries()) {
            expect(picture).toMatchObject({ width: 2, height: 1, channels });
            expect([...picture.data]).toEqual([...bytes.subarray(index * size, (index + 1) * size)]);
          }
        },
      ),
    );
  });

  it('gives each picture memory of its own, which later chunks do not change', async () => {
    // A source that uses its chunk again.
    const source = async function* () {
      const chunk = new Uint8Array(LENGTH);
      for (let value = 1; value <= 3; value++) yield chunk.fill(value);
    };
    const pictures = await all(frames(source(), SIZE));
    expect(pictures.map(({ data }) => [...new Set(data)])).toEqual([[1], [2], [3]]);
    expect(new Set(pictures.map(({ data }) => data.buffer)).size).toBe(3);
    for (const { data } of pictures) expect(data.buffer.byteLength).toBe(LENGTH);
  });

  it('takes three channels where none are given', async () => {
    const [picture, ...more] = await all(frames(Readable.from([counting(6)]), { width: 2, height: 1 }));
    expect(picture).toMatchObject({ width: 2, height: 1, channels: 3 });
    expect(more).toEqual([]);
  });

  it('ends without a picture where there are no bytes', async () => {
    expect(await all(frames(Readable.from([]), SIZE))).toEqual([]);
    expect(await all(frames(Readable.from([new Uint8Array(0)]), SIZE))).toEqual([]);
  });

  it('gives whole pictures, and then says how many bytes of the last one are missing', async () => {
    for (let missing = 1; missing < LENGTH; missing++) {
      const pictures = frames(Readable.from([counting(3 * LENGTH - missing)]), SIZE);
      await pictures.next();
      await pictures.next();
      const { code, message, detail } = await yoloErrorOf(pictures.next());
      expect(code).toBe('ERR_YOLO_IMAGE_DECODE');
      expect(message).toContain(`The bytes end within picture 3: ${LENGTH - missing} of the 6 of 3×2×1.`);
      expect(detail).toEqual({ index: 2, bytes: LENGTH - missing, expected: LENGTH });
      expect(await pictures.next()).toEqual({ done: true, value: undefined });
    }
  });

  it('refuses text in place of bytes, and destroys the stream', async () => {
    const text = new PassThrough({ encoding: 'utf8' });
    text.write('abcdef');
    const { code, message } = await yoloErrorOf(all(frames(text, SIZE)));
    expect(code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect(message).toBe(
      'Expected chunks of bytes (Uint8Array, Buffer) but received "abcdef" (string); the stream must have no encoding set',
    );
    expect(text.destroyed).toBe(true);
    expect((await yoloErrorOf(all(frames(Readable.from([7]), SIZE)))).message).toContain('but received 7 (number)');
  });

  it('lets errors of the stream out unchanged, after the pictures before them', async () => {
    const broken = new Error('the pipe broke');
    const source = async function* () {
      yield counting(LENGTH + 2);
      throw broken;
    };
    const pictures = frames(source(), SIZE);
    expect((await pictures.next()).done).toBe(false);
    await expect(pictures.next()).rejects.toBe(broken);
  });

  const refused: [bytes: unknown, options: unknown, message: string][] = [
    [null, SIZE, 'Expected a Readable, or another async iterable of bytes, but received null'],
    [Buffer.alloc(6), SIZE, 'but received an object (Buffer)'],
    ['video.mp4', SIZE, 'but received "video.mp4" (string)'],
    [Readable.from([]), undefined, 'Expected options to be an object but received undefined'],
    [Readable.from([]), {}, 'Expected width to be a whole number in [1, 65535] but received undefined'],
    [Readable.from([]), { width: 3 }, 'Expected height to be a whole number in [1, 65535] but received undefined'],
    [Readable.from([]), { ...SIZE, width: 0 }, 'Expected width to be a whole number in [1, 65535] but received 0'],
    [Readable.from([]), { ...SIZE, height: 2.5 }, 'Expected height to be a whole number in [1, 65535]'],
    [Readable.from([]), { ...SIZE, channels: 5 }, 'Expected channels to be a whole number in [1, 4] but received 5'],
    [Readable.from([]), { ...SIZE, hight: 2 }, 'Unknown key "hight" in options; did you mean "height"?'],
  ];
  it.each(refused)('refuses %o with %o at the call', (bytes, options, message) => {
    try {
      frames(bytes as Readable, options as FramesOptions);
    } catch (error) {
      expect(YoloError.is(error, 'ERR_YOLO_INVALID_ARGUMENT')).toBe(true);
      expect((error as YoloError).message).toContain(message);
      return;
    }
    expect.unreachable('nothing was refused');
  });

  it('says so where there is no memory for a picture', async () => {
    const pictures = frames(Readable.from([counting(1)]), { width: 65_535, height: 65_535, channels: 4 });
    const { code, detail } = await yoloErrorOf(pictures.next());
    expect([code, detail]).toEqual(['ERR_YOLO_OUT_OF_MEMORY', { bytes: 65_535 * 65_535 * 4 }]);
  });
});

describe('the end of frames()', () => {
  it('by a break destroys the stream', async () => {
    const endless = new Readable({
      read() {
        this.push(counting(4));
      },
    });
    for await (const { data } of frames(endless, SIZE)) {
      expect([...data]).toEqual([0, 1, 2, 3, 0, 1]);
      break;
    }
    expect(endless.destroyed).toBe(true);
  });

  it('by return() destroys a stream of which no picture was taken', async () => {
    const source = new PassThrough();
    await frames(source, SIZE).return();
    expect(source.destroyed).toBe(true);
  });

  it('does not wait for a stream that has stalled', async () => {
    const stalled = new PassThrough();
    stalled.write(counting(2));
    const pictures = frames(stalled, SIZE);
    const pending = pictures.next();
    pending.catch(() => {});
    await new Promise(setImmediate);
    expect(await pictures.return()).toEqual({ done: true, value: undefined });
    expect(stalled.destroyed).toBe(true);
  });

  it('ends a program that writes for ever', async () => {
    const endless = `
      const bytes = Buffer.alloc(1 << 16, 7);
      process.stdout.on('error', () => process.exit(3));
      const write = () => { while (process.stdout.write(bytes)); process.stdout.once('drain', write); };
      write();`;
    const child = spawn(process.execPath, ['-e', endless], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = once(child, 'exit');
    let count = 0;
    for await (const { data } of frames(child.stdout, { width: 640, height: 360 })) {
      expect(data.every((byte) => byte === 7)).toBe(true);
      if (++count === 3) break;
    }
    expect(await exit).toEqual([3, null]);
  });

  it('reads on only as pictures are taken', async () => {
    const read = vi.fn(function (this: Readable) {
      this.push(counting(LENGTH));
    });
    const source = new Readable({ read, highWaterMark: LENGTH });
    const pictures = frames(source, SIZE);
    await new Promise(setImmediate);
    expect(read).not.toHaveBeenCalled();
    await pictures.next();
    await new Promise(setImmediate);
    expect(read.mock.calls.length).toBeLessThanOrEqual(3);
    await pictures.return();
  });
});
