import { lookup as systemLookup } from 'node:dns';
import { once } from 'node:events';
import { type IncomingMessage, type RequestOptions, request as requestHttp, STATUS_CODES } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { YoloError } from '../errors.js';
import type { UrlOptions } from '../types.js';
import { describeInput, isHttpUrl } from './input.js';
import { isPublicAddress } from './url-address.js';

export interface FetchSettings extends UrlOptions {
  readonly signal?: AbortSignal;
  /** Asks for the addresses of a host. Defaults to the system's. */
  readonly lookup?: LookupFunction;
}

const DEFAULTS = Object.freeze({
  allowPrivateAddresses: false,
  maxBytes: 50_000_000,
  timeoutMs: 30_000,
  maxRedirects: 5,
});

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

const HEADERS = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'migraphx-yolo' };

/**
 * The bytes at an `http:` or `https:` URL. What they are is for the decoder to find: the server's word on it is not asked for.
 * @throws ERR_YOLO_URL_REFUSED for an address, or a redirect, that the settings do not allow; ERR_YOLO_URL_FETCH for all
 * else that goes wrong; or the signal's reason.
 */
export async function fetchPicture(url: URL, settings: FetchSettings = {}): Promise<Uint8Array> {
  const { signal, timeoutMs = DEFAULTS.timeoutMs } = settings;
  signal?.throwIfAborted();
  const name = describeInput(url);
  const stop = new AbortController();
  const abort = () => stop.abort(signal?.reason);
  const tooSlow = () =>
    stop.abort(
      failed(name, `it was not there after ${timeoutMs} ms (urls.timeoutMs); try again, or allow more`, { timeoutMs }),
    );
  const timer = setTimeout(tooSlow, timeoutMs);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await follow(url, name, settings, stop.signal);
  } catch (error) {
    // What is thrown by a connection that was cut says nothing of why.
    if (stop.signal.aborted) throw stop.signal.reason;
    if (YoloError.is(error)) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw failed(name, message || String(code), { code }, error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

async function follow(url: URL, name: string, settings: FetchSettings, signal: AbortSignal): Promise<Uint8Array> {
  const { maxRedirects = DEFAULTS.maxRedirects } = settings;
  let at = url;
  for (let redirects = 0; ; redirects++) {
    const response = await ask(at, name, settings, signal);
    try {
      const target = redirectOf(response, at, name);
      if (target === undefined) return await bodyOf(response, name, settings);
      if (redirects >= maxRedirects)
        throw failed(name, `it was redirected more than ${maxRedirects} times (urls.maxRedirects)`, { maxRedirects });
      at = target;
    } finally {
      response.destroy();
    }
  }
}

async function ask(url: URL, name: string, settings: FetchSettings, signal: AbortSignal): Promise<IncomingMessage> {
  const { allowPrivateAddresses = DEFAULTS.allowPrivateAddresses, lookup = systemLookup as LookupFunction } = settings;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  // Of a host that is an address already, no lookup is made.
  if (!allowPrivateAddresses && isIP(host) !== 0 && !isPublicAddress(host)) throw refusedAddress(name, host, host);
  const options: RequestOptions = {
    headers: HEADERS,
    signal,
    // Neither a connection nor a proxy of the program's own: those could lead past the check of the address.
    agent: false,
    lookup: allowPrivateAddresses ? lookup : onlyPublic(lookup, name),
  };
  const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options);
  // Also after the answer has begun, when nobody else listens.
  request.on('error', () => {});
  request.end();
  const [response] = await once(request, 'response');
  return response;
}

/** Checks the very addresses that are connected to: a name that is asked for twice may have another answer the second time. */
function onlyPublic(lookup: LookupFunction, name: string): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, answer) => {
      const addresses = typeof answer === 'string' ? [{ address: answer, family: isIP(answer) }] : answer;
      if (error) return callback(error, '');
      const refused = addresses.find(({ address }) => !isPublicAddress(address));
      if (refused !== undefined) return callback(refusedAddress(name, host, refused.address), '');
      const [first] = addresses;
      if (first === undefined) return callback(failed(name, `the host ${host} has no address`), '');
      if (options.all) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}

/** Where a redirect leads; undefined for any other answer. */
function redirectOf({ statusCode, headers }: IncomingMessage, from: URL, name: string): URL | undefined {
  if (!REDIRECTS.has(statusCode!) || headers.location === undefined) return undefined;
  const target = URL.canParse(headers.location, from.href) ? new URL(headers.location, from) : undefined;
  if (target === undefined) throw failed(name, `it was redirected to what is no URL (status ${statusCode})`);
  if (!isHttpUrl(target))
    throw refused(`${name} was redirected to a ${target.protocol} URL, which is not followed; pass another URL`, {
      url: name,
      protocol: target.protocol,
    });
  return target;
}

async function bodyOf(response: IncomingMessage, name: string, { maxBytes = DEFAULTS.maxBytes }: FetchSettings) {
  const { statusCode = 0, headers } = response;
  if (statusCode !== 200)
    throw failed(name, `the server answered ${statusCode} ${STATUS_CODES[statusCode] ?? ''}`.trim(), { statusCode });
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw failed(name, `the server sends it packed (content-encoding) though it was asked not to`, { encoding });
  const tooLarge = (bytes: number) =>
    failed(name, `it has more than ${maxBytes} bytes (urls.maxBytes); make it smaller, or allow more`, {
      bytes,
      maxBytes,
    });
  const stated = Number(headers['content-length'] ?? 0);
  if (stated > maxBytes) throw tooLarge(stated);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge(length);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks, length));
}

/** @param host as the URL names it */
function refusedAddress(name: string, host: string, address: string): YoloError {
  const where = host === address ? address : `${host} (${address})`;
  return refused(
    `${name} leads to ${where}, an address that is not public; where that is meant, set urls: { allowPrivateAddresses: true }`,
    { url: name, address },
  );
}

function refused(message: string, detail: Record<string, unknown>): YoloError {
  return new YoloError('ERR_YOLO_URL_REFUSED', message, { phase: 'download', detail });
}

function failed(name: string, reason: string, detail: Record<string, unknown> = {}, cause?: unknown): YoloError {
  return new YoloError('ERR_YOLO_URL_FETCH', `Cannot fetch the picture ${name}: ${reason}`, {
    phase: 'download',
    detail: { url: name, ...detail },
    cause,
  });
}
