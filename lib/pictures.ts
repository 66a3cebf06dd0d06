import { assertImageInput, describeInput, isHttpUrl } from './image/input.js';
import { checkFetchOptions } from './options.js';
import type { UrlOptions } from './types.js';
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
