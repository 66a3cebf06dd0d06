import { types } from 'node:util';
import { YoloError } from './errors.js';
import { show } from './show.js';
import type { RawImage } from './types.js';
import { integerFrom, invalid, objectWith } from './validation.js';

/** Size of the pictures in a stream of bytes. */
export interface FramesOptions {
  /** Of every picture, in pixels; 1..65535. */
  width: number;
  /** Of every picture, in pixels; 1..65535. */
  height: number;
  /** Bytes of a pixel: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA. Defaults to 3. */
  channels?: RawImage['channels'];
}

const side = integerFrom(1, 65_535);
const optionsCheck = objectWith({ width: side, height: side, channels: integerFrom(1, 4) });

/**
 * Cuts a stream of bytes into pictures of `width * height * channels` bytes each, as `ffmpeg -f rawvideo -pix_fmt rgb24 -`
 * writes them. Each picture has memory of its own, so any number of them may be in a detector at once. Nothing is read
 * before the first picture is asked for; `return()`, also while a picture is waited for, destroys a Node stream.
 * @param bytes A Node Readable, or chunks of any length. Its own errors come out unchanged.
 * @throws ERR_YOLO_INVALID_ARGUMENT, at the call for wrong options, while iterating for a chunk that is not bytes; while
 * iterating ERR_YOLO_IMAGE_DECODE where the bytes end within a picture, and ERR_YOLO_OUT_OF_MEMORY.
 */
export function frames(
  bytes: AsyncIterable<Uint8Array>,
  options: FramesOptions,
): AsyncGenerator<RawImage, void, undefined> {
  if (typeof (bytes as Partial<typeof bytes> | null | undefined)?.[Symbol.asyncIterator] !== 'function')
    throw invalid(`Expected a Readable, or another async iterable of bytes, but received ${show(bytes)}`, {
      option: 'bytes',
    });
  optionsCheck(options, 'options');
  const { width, height, channels = 3 } = options;
  // Neither may be left out.
  side(width, 'width');
  side(height, 'height');
  const pictures = cut(bytes, { width, height, channels });
  if ('destroy' in bytes && typeof bytes.destroy === 'function') {
    const { destroy } = bytes;
    const finish = pictures.return.bind(pictures);
    // By itself a generator ends when the chunk that it waits for has come, which a camera that stalled never sends.
    pictures.return = (value) => {
      destroy.call(bytes);
      return finish(value);
    };
  }
  return pictures;
}

async function* cut(
  bytes: AsyncIterable<Uint8Array>,
  size: Omit<RawImage, 'data'>,
): AsyncGenerator<RawImage, void, undefined> {
  let index = 0;
  let data: Uint8Array | undefined;
  let filled = 0;
  for await (const chunk of bytes) {
    assertBytes(chunk);
    for (let begin = 0; begin < chunk.length; ) {
      data ??= allocate(size);
      const part = chunk.subarray(begin, begin + data.length - filled);
      data.set(part, filled);
      begin += part.length;
      filled += part.length;
      if (filled < data.length) break;
      const picture = { data, ...size };
      data = undefined;
      filled = 0;
      index++;
      yield picture;
    }
  }
  if (data !== undefined) throw cutShort(index, filled, data.length, size);
}

function assertBytes(chunk: unknown): asserts chunk is Uint8Array {
  if (types.isUint8Array(chunk)) return;
  const remedy = typeof chunk === 'string' ? '; the stream must have no encoding set' : '';
  throw invalid(`Expected chunks of bytes (Uint8Array, Buffer) but received ${show(chunk)}${remedy}`, {
    option: 'bytes',
  });
}

function allocate({ width, height, channels }: Omit<RawImage, 'data'>): Uint8Array {
  const bytes = width * height * channels;
  try {
    // Not zeroed, as every byte of it is written before anybody sees it; and not out of the pool that Buffers share.
    return Buffer.allocUnsafeSlow(bytes);
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_OUT_OF_MEMORY',
      `No memory for a picture of ${width}×${height}×${channels} (${bytes} bytes); let the program that writes them scale them down`,
      { phase: 'decode', detail: { bytes }, cause },
    );
  }
}

function cutShort(index: number, bytes: number, expected: number, size: Omit<RawImage, 'data'>): YoloError {
  const { width, height, channels } = size;
  return new YoloError(
    'ERR_YOLO_IMAGE_DECODE',
    `The bytes end within picture ${index + 1}: ${bytes} of the ${expected} of ${width}×${height}×${channels}. ` +
      'The program that writes them was interrupted, or writes pictures of another size or pixel format',
    { phase: 'decode', detail: { index, bytes, expected } },
  );
}
