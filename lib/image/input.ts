import { types } from 'node:util';
import { YoloError } from '../errors.js';
import { show } from '../show.js';
import type { ImageInput, RawImage } from '../types.js';

/** A picture as messages name it: `street.jpg`, `Buffer of 1234 bytes`, `RawImage 640×480×3`. Never its contents. */
export function describeInput(input: unknown): string {
  if (typeof input === 'string') return input.length > 200 ? `${input.slice(0, 197)}...` : input;
  if (input instanceof URL) return describeInput(input.href);
  if (input instanceof Blob) return `Blob of ${input.size} bytes`;
  // Not `instanceof`: test runners give each file a realm of its own, with other constructors.
  if (ArrayBuffer.isView(input) || types.isAnyArrayBuffer(input))
    return `${input.constructor.name} of ${input.byteLength} bytes`;
  if (isRawImageShaped(input) && [input.width, input.height, input.channels].every((size) => typeof size === 'number'))
    return `RawImage ${input.width}×${input.height}×${input.channels}`;
  if (Array.isArray(input)) return `an array of ${input.length}`;
  if (typeof input === 'object' && input !== null)
    return `an object with the keys ${Object.keys(input).slice(0, 10).join(', ').slice(0, 200) || '(none)'}`;
  return show(input);
}

/**
 * Checks what can be checked without reading anything.
 * @throws ERR_YOLO_INVALID_ARGUMENT for what is no picture: another type, a URL that is not `file:`, pixels of the wrong length.
 */
export function assertImageInput(input: unknown): asserts input is ImageInput {
  if (typeof input === 'string' || input instanceof URL) {
    assertLocal(input);
  } else if (isRawImageShaped(input)) {
    assertRawImage(input);
  } else if (!(types.isUint8Array(input) || types.isArrayBuffer(input) || input instanceof Blob)) {
    throw refuse(
      `Expected a picture (a path, a file: URL, encoded bytes, or { data, width, height, channels }) but received ${describeInput(input)}`,
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

/** Whether it means to be pixels in memory; whether it is right is another question. */
export function isRawImageShaped(input: unknown): input is RawImage {
  return typeof input === 'object' && input !== null && !ArrayBuffer.isView(input) && 'data' in input;
}

function assertLocal(input: string | URL): void {
  const text = String(input);
  if (text === '') throw refuse('Expected the path of a picture but received an empty string', input);
  // Two letters at least before the colon: C: is a Windows drive.
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === 'file') return;
  if (input instanceof URL || /^(data|blob):|^[^/\\]+:\/\//i.test(text)) {
    const shown = text.length > 80 ? `${text.slice(0, 77)}...` : text;
    throw refuse(`Pictures are not fetched from ${scheme}: URLs; fetch ${shown} yourself and pass the bytes`, shown);
  }
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
