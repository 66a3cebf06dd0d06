import { types } from 'node:util';
import { YoloError } from '../errors.js';
import { show } from '../show.js';
import type { ImageInput, NdArrayImage, RawImage, SharpInstance } from '../types.js';
import { isNdArrayShaped, listed, ndArrayProblem } from './ndarray.js';

/**
 * A picture as messages name it: `street.jpg`, `Buffer of 1234 bytes`, `RawImage 640×480×3`. Never its contents, and nothing
 * that gives access: of a URL neither user and password nor the query, which may be a signature.
 */
export function describeInput(input: unknown): string {
  if (typeof input === 'string' || input instanceof URL) {
    const text = withoutSecrets(input);
    return text.length > 200 ? `${text.slice(0, 197)}...` : text;
  }
  if (input instanceof Blob) return `Blob of ${input.size} bytes`;
  // Not `instanceof`: test runners give each file a realm of its own, with other constructors.
  if (ArrayBuffer.isView(input) || types.isAnyArrayBuffer(input))
    return `${input.constructor.name} of ${input.byteLength} bytes`;
  if (isSharpInstance(input)) return 'a sharp instance';
  if (isNdArrayShaped(input))
    return `ndarray ${Array.isArray(input.shape) ? listed(input.shape, '×') : 'without a shape'}`;
  if (isRawImageShaped(input) && [input.width, input.height, input.channels].every((size) => typeof size === 'number'))
    return `RawImage ${input.width}×${input.height}×${input.channels}`;
  if (Array.isArray(input)) return `an array of ${input.length}`;
  if (typeof input === 'object' && input !== null)
    return `an object with the keys ${Object.keys(input).slice(0, 10).join(', ').slice(0, 200) || '(none)'}`;
  return show(input);
}

/**
 * Checks what can be checked without reading anything.
 * @throws ERR_YOLO_INVALID_ARGUMENT for what is no picture: another type, a URL that is not `file:`, `http:` or `https:`, pixels of the wrong length.
 */
export function assertImageInput(input: unknown): asserts input is ImageInput {
  if (typeof input === 'string' || input instanceof URL) {
    assertPathOrUrl(input);
  } else if (isSharpInstance(input)) {
    assertHasInput(input);
  } else if (isNdArrayShaped(input)) {
    assertNdArray(input);
  } else if (isRawImageShaped(input)) {
    assertRawImage(input);
  } else if (!(types.isUint8Array(input) || types.isArrayBuffer(input) || input instanceof Blob)) {
    throw refuse(
      `Expected a picture (a path, a file: or http: URL, encoded bytes, { data, width, height, channels }, an ndarray or a sharp instance) but received ${describeInput(input)}`,
      input,
    );
  } else if (types.isArrayBuffer(input) && isDetached(input)) {
    throw refuse('Expected the bytes of a picture but received an ArrayBuffer that was transferred away', undefined);
  }
}

// Its `detached` is younger than Node 20.
function isDetached(buffer: ArrayBuffer): boolean {
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/** Whether it is an instance of sharp, of whichever copy. */
export function isSharpInstance(input: unknown): input is SharpInstance {
  if (typeof input !== 'object' || input === null) return false;
  const { clone, toColourspace, raw, toBuffer } = input as SharpInstance;
  return [clone, toColourspace, raw, toBuffer].every((method) => typeof method === 'function');
}

/** Whether its pixels are memory of the caller's. */
export function isPixels(input: unknown): input is RawImage | NdArrayImage {
  return isNdArrayShaped(input) || (isRawImageShaped(input) && !isSharpInstance(input));
}

/** Whether it means to be pixels in rows; whether it is right is another question. */
export function isRawImageShaped(input: unknown): input is RawImage {
  return typeof input === 'object' && input !== null && !ArrayBuffer.isView(input) && 'data' in input;
}

/** Whether it is a URL that is fetched. */
export function isHttpUrl(input: unknown): boolean {
  return input instanceof URL
    ? input.protocol === 'http:' || input.protocol === 'https:'
    : typeof input === 'string' && /^https?:\/\//i.test(input);
}

function withoutSecrets(input: string | URL): string {
  const text = String(input);
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(text) || /^file:/i.test(text)) return text;
  // Of what is no URL everything up to the last @ of the host's part, in which user and password would stand.
  if (!URL.canParse(text)) return text.replace(/[?#].*/s, '').replace(/\/\/[^/]*@/, '//');
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}${url.search && '?...'}`;
}

function assertPathOrUrl(input: string | URL): void {
  const text = String(input);
  if (text === '') throw refuse('Expected the path of a picture but received an empty string', input);
  if (isHttpUrl(input)) {
    if (!URL.canParse(text))
      throw refuse(`Expected the URL of a picture but received ${describeInput(input)}`, undefined);
    return;
  }
  // Two letters at least before the colon: C: is a Windows drive.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === 'file') return;
  if (input instanceof URL || /^(data|blob):|^[^/\\]+:\/\//i.test(text)) {
    const described = describeInput(input);
    const shown = described.length > 80 ? `${described.slice(0, 77)}...` : described;
    throw refuse(`Pictures are not read from ${scheme}: URLs; fetch ${shown} yourself and pass the bytes`, shown);
  }
}

/** One that waits for a stream may wait for ever, and nothing tells whether the stream has failed. */
function assertHasInput(instance: SharpInstance): void {
  const { options, writableFinished } = instance as {
    options?: { input?: { buffer?: unknown } };
    writableFinished?: boolean;
  };
  if (Array.isArray(options?.input?.buffer) && writableFinished !== true)
    throw refuse(
      'Expected a sharp instance that has its picture, but this one waits for a stream; read the stream first, and pass its bytes',
      undefined,
    );
}

function assertNdArray(array: NdArrayImage): void {
  const problem = ndArrayProblem(array);
  if (problem !== undefined)
    throw refuse(
      `Expected an ndarray of 8-bit levels and shape [height, width] or [height, width, channels], with 1 to 4 channels, but ${problem}`,
      array.shape,
    );
}

function assertRawImage({ data, width, height, channels }: RawImage): void {
  for (const [name, side] of [['width', width] as const, ['height', height] as const]) {
    if (!Number.isSafeInteger(side) || side < 1)
      throw refuse(
        `Expected ${name} of the pixels to be a whole number of at least 1 but received ${show(side)}`,
        side,
      );
  }
  if (![1, 2, 3, 4].includes(channels))
    throw refuse(
      `Expected channels of the pixels to be 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGBA) but received ${show(channels)}`,
      channels,
    );
  if (!(types.isUint8Array(data) || types.isUint8ClampedArray(data)))
    throw refuse(
      `Expected data of the pixels to be a Uint8Array of 8-bit levels but received ${describeInput(data)}`,
      undefined,
    );
  const length = width * height * channels;
  if (data.length !== length) {
    const fitting = [1, 2, 3, 4].find((count) => data.length === width * height * count);
    const remedy =
      fitting === undefined ? 'rows must follow each other without gaps' : `for these set channels: ${fitting}`;
    throw refuse(
      `Expected ${length} bytes of pixels for ${width}×${height}×${channels} but received ${data.length}; ${remedy}`,
      data.length,
    );
  }
}

function refuse(message: string, value: unknown): YoloError {
  return new YoloError('ERR_YOLO_INVALID_ARGUMENT', message, { phase: 'validate', detail: { option: 'image', value } });
}
