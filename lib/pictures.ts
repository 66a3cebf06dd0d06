import type { NdArray } from 'ndarray';
import { decodeImage } from './image/decode.js';
import { assertImageInput, describeInput, isHttpUrl, isPixels } from './image/input.js';
import { checkFetchOptions, checkReadOptions, type DetectorOptions } from './options.js';
import type { ImageInput, UrlOptions } from './types.js';
import { invalid } from './validation.js';

export interface FetchImageOptions extends UrlOptions {
  /** Rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/**
 * Fetches the file of a picture, as `detect()` does with a URL, for those who need it more than once: to detect on it and
 * then draw on the same one.
 * @returns The file's bytes, undecoded; whether they are a picture is not looked at.
 * @throws YoloError (as a rejection): ERR_YOLO_INVALID_ARGUMENT for what is no `http:` or `https:` URL, ERR_YOLO_URL_REFUSED,
 * ERR_YOLO_URL_FETCH; or `signal.reason`.
 */
export async function fetchImage(url: string | URL, options: FetchImageOptions = {}): Promise<Uint8Array> {
  checkFetchOptions(options);
  if (!isHttpUrl(url)) throw invalid(`Expected an http: or https: URL but received ${describeInput(url)}`, {});
  assertImageInput(url);
  const { fetchPicture } = await import('./image/url-fetch.js');
  return fetchPicture(new URL(url), options);
}

/** As the options of the same names of a detector. */
export interface ToNdarrayOptions extends Pick<DetectorOptions, 'limitInputPixels' | 'autoOrient' | 'urls'> {
  /** Rejects with `signal.reason`, where the picture is still being fetched. */
  readonly signal?: AbortSignal;
}

/**
 * Decodes a picture, by the same rules as `detect()`, into an array of `npm i ndarray`: the pixels that its boxes are in.
 * @returns 8-bit levels of shape [height, width, 3], RGB, rows from top to bottom without gaps, in memory of its own.
 * @throws YoloError (as a rejection): ERR_YOLO_INVALID_ARGUMENT, ERR_YOLO_IMAGE_DECODE, ERR_YOLO_URL_REFUSED,
 * ERR_YOLO_URL_FETCH; or `signal.reason`.
 */
export async function toNdarray(image: ImageInput, options: ToNdarrayOptions = {}): Promise<NdArray<Uint8Array>> {
  checkReadOptions(options);
  options.signal?.throwIfAborted();
  const { data, width, height } = await decodeImage(image, options);
  const { default: ndarray } = await import('ndarray');
  // A Buffer would be an array of another type to ndarray.
  const own = isPixels(image) ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.length);
  return ndarray(own, [height, width, 3]);
}
