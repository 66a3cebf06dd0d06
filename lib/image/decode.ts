import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Sharp, SharpOptions } from 'sharp';
import { YoloError } from '../errors.js';
import type { ImageInput, NdArrayImage, RawImage, RgbImage, SharpInstance, UrlOptions } from '../types.js';
import { type RefusedKind, refusedKind, SVG } from './file-kind.js';
import { assertImageInput, describeInput, isHttpUrl, isPixels, isSharpInstance } from './input.js';
import { axesOf, isNdArrayShaped, packedElements } from './ndarray.js';
import { toRgb } from './pixels.js';
import { type ShrinkTarget, shrunkSize } from './shrink.js';

export { assertImageInput, describeInput } from './input.js';

/** The input as it is at this moment, where later calls of its owner's would change what it stands for. */
export function asGiven(input: ImageInput): ImageInput {
  return isSharpInstance(input) ? input.clone() : input;
}

/** 100 megapixels. */
export const DEFAULT_LIMIT_INPUT_PIXELS = 100_000_000;

const READ_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file (ENOENT)',
  EISDIR: 'it is a folder (EISDIR); name the pictures in it',
  ENAMETOOLONG: 'no path is that long (ENAMETOOLONG); of base64 pass the bytes, Buffer.from(text, "base64")',
};

export interface DecodeOptions {
  /** The most pixels, before anything is decoded. Defaults to 100,000,000. */
  limitInputPixels?: number;
  /** Whether the orientation that EXIF gives is applied. Defaults to true. */
  autoOrient?: boolean;
  /** How `http:` and `https:` URLs are fetched; false refuses them. Defaults to the defaults of `UrlOptions`. */
  urls?: UrlOptions | false;
  /** Where the picture goes: a JPEG much larger than that is decoded at the size that it has there. Defaults to full size. */
  shrinkFor?: ShrinkTarget;
  /** Stops a fetch; rejects with its reason. */
  signal?: AbortSignal;
}

/**
 * A picture as the model's part of this library takes it: upright (EXIF orientation applied), RGB, 8 bits, at full size
 * unless `shrinkFor` says otherwise.
 * One rule for every kind of input: gray becomes RGB, alpha is composited over level 114, 16 bits become 8, RGB and gray
 * ignore a colour profile, CMYK is converted by its own, of an animation the first frame counts. Your data are read,
 * never changed; pixels of three channels are passed on without a copy. Of 16 bits the upper 8 count. A file that is cut short or
 * damaged is an error, as its gray rest would only hide that objects are missing; what decoders merely warn of is not.
 * @throws ERR_YOLO_INVALID_ARGUMENT for what is no picture, ERR_YOLO_IMAGE_DECODE for one that cannot be read, ERR_YOLO_URL_REFUSED and
 * ERR_YOLO_URL_FETCH for one that is not fetched.
 */
export async function decodeImage(input: ImageInput, options: DecodeOptions = {}): Promise<RgbImage> {
  assertImageInput(input);
  const limit = options.limitInputPixels ?? DEFAULT_LIMIT_INPUT_PIXELS;
  if (isPixels(input)) return pixelsOf(input, limit);
  if (isSharpInstance(input)) return outputOf(input, limit);
  const name = describeInput(input);
  return decodeBytes(await bytesOf(input, options), name, limit, options);
}

async function pixelsOf(input: RawImage | NdArrayImage, limit: number): Promise<RgbImage> {
  const { width, height, channels } = isNdArrayShaped(input) ? axesOf(input) : input;
  if (width * height > limit) throw tooLarge(describeInput(input), width, height, limit);
  if (isNdArrayShaped(input)) return toRgb(await packedElements(input), width, height, channels);
  const { buffer, byteOffset, length } = input.data;
  return toRgb(new Uint8Array(buffer, byteOffset, length), width, height, channels);
}

async function outputOf(instance: SharpInstance, limit: number): Promise<RgbImage> {
  const name = describeInput(instance);
  try {
    const { data, info } = await instance
      .clone()
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    if (info.width * info.height > limit) throw tooLarge(name, info.width, info.height, limit);
    return await toRgb(data, info.width, info.height, info.channels);
  } catch (error) {
    if (YoloError.is(error)) throw error;
    const reason = (error as Error).message.split('\n', 1)[0];
    throw undecodable(`The picture of ${name} cannot be made: ${reason}`, {}, error);
  }
}

async function bytesOf(
  input: Exclude<ImageInput, RawImage | NdArrayImage | SharpInstance>,
  { urls, signal }: DecodeOptions,
): Promise<Uint8Array> {
  if (typeof input === 'string' || input instanceof URL)
    return isHttpUrl(input) ? fetchUrl(input, urls, signal) : readPicture(input);
  if (input instanceof Blob) return readBlob(input);
  // A copy: the decoder reads on another thread, and memory that is resized or transferred under it ends the process.
  return new Uint8Array(ArrayBuffer.isView(input) ? input : new Uint8Array(input));
}

async function fetchUrl(
  input: string | URL,
  urls: UrlOptions | false | undefined,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (urls === false)
    throw new YoloError(
      'ERR_YOLO_URL_REFUSED',
      `${describeInput(input)} is not fetched here; fetch it with fetchImage() and pass the bytes`,
      { phase: 'download', detail: { url: describeInput(input) } },
    );
  // Programs that fetch nothing need no HTTP client.
  const { fetchPicture } = await import('./url-fetch.js');
  return fetchPicture(new URL(input), { ...urls, signal });
}

async function readBlob(blob: Blob): Promise<Uint8Array> {
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch (cause) {
    // Of a file that changed or went since the Blob was made.
    throw undecodable(`${describeInput(blob)} cannot be read: ${(cause as Error).message}`, {}, cause);
  }
}

async function readPicture(input: string | URL): Promise<Uint8Array> {
  const text = String(input);
  try {
    return await readFile(/^file:/i.test(text) ? fileURLToPath(text) : text);
  } catch (cause) {
    const path = describeInput(input);
    const { code = '', message } = cause as NodeJS.ErrnoException;
    // Messages of the system repeat the path, however long.
    const reason = READ_FAILURES[code] ?? message.slice(0, 200);
    throw undecodable(`Cannot read the picture ${path}: ${reason}`, { path, code }, cause);
  }
}

async function decodeBytes(
  bytes: Uint8Array,
  name: string,
  limit: number,
  { autoOrient = true, shrinkFor }: DecodeOptions,
): Promise<RgbImage> {
  if (bytes.length === 0) throw undecodable(`${name} is empty (0 bytes)`, { bytes: 0 });
  const refused = refusedKind(bytes);
  if (refused !== undefined) throw notRead(name, refused);
  const sharp = await loadSharp();
  const options: SharpOptions = { ignoreIcc: true, limitInputPixels: false, failOn: 'error' };
  try {
    const metadata = await sharp(bytes, options).metadata();
    const { format, width, height, space, depth, pageHeight = height } = metadata;
    // Should its beginning ever not show what it is: reading metadata draws nothing yet.
    if (format === 'svg') throw notRead(name, SVG);
    if (depth !== 'uchar' && depth !== 'ushort')
      throw undecodable(
        `${name} has ${depth} samples, whose range no file states; convert it to 8 or 16 bits a channel`,
        { format, depth },
      );
    if (width * pageHeight > limit) throw tooLarge(name, width, pageHeight, limit);
    const picture = sharp(bytes, { ...options, autoOrient, ignoreIcc: space !== 'cmyk' });
    const original = autoOrient ? metadata.autoOrient : { width, height };
    const shrunk = format === 'jpeg' && shrinkFor !== undefined ? shrunkSize(original, shrinkFor) : undefined;
    if (shrunk !== undefined) picture.resize({ ...shrunk, fit: 'fill', kernel: 'linear' });
    const { data, info } = await picture
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true });
    const image = await toRgb(data, info.width, info.height, info.channels);
    return shrunk === undefined ? image : { ...image, original };
  } catch (error) {
    if (YoloError.is(error)) throw error;
    throw explain(error as Error, bytes, name);
  }
}

function explain(cause: Error, bytes: Uint8Array, name: string): YoloError {
  const reason = cause.message.split('\n', 1)[0]!.replace(/[:.\s]+$/, '');
  const leading = Buffer.from(bytes.subarray(0, 8)).toString('hex');
  return undecodable(
    `${name} cannot be decoded (${bytes.length} bytes that begin with ${leading}): ${reason}. ` +
      'It is damaged, cut short, or of a format other than JPEG, PNG, WebP, GIF, AVIF and TIFF: copy it again, or convert it; pixels are passed as { data, width, height, channels }',
    { bytes: bytes.length },
    cause,
  );
}

export async function loadSharp(): Promise<(input: Uint8Array, options: SharpOptions) => Sharp> {
  try {
    return (await import('sharp')).default;
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_BINDING_NOT_FOUND',
      `The package sharp, which decodes pictures, cannot be loaded: ${(cause as Error).message}. Install it for this platform: npm i sharp`,
      { phase: 'load', detail: { package: 'sharp' }, cause },
    );
  }
}

function notRead(name: string, { format, remedy }: RefusedKind): YoloError {
  return undecodable(`${name} is ${format}, which is not read: ${remedy}`, { format });
}

function tooLarge(name: string, width: number, height: number, limit: number): YoloError {
  return undecodable(
    `${name} has ${width}×${height} pixels, more than limitInputPixels (${limit}); make it smaller, or raise the limit`,
    { width, height, limitInputPixels: limit },
  );
}

function undecodable(message: string, detail: Record<string, unknown>, cause?: unknown): YoloError {
  return new YoloError('ERR_YOLO_IMAGE_DECODE', message, { phase: 'decode', detail, cause });
}
