import { setMaxListeners } from 'node:events';
import { YoloError } from './errors.js';

/** Whether the first failed picture ends a stream, or comes out in its place. */
export type OnStreamError = 'throw' | 'yield';

/** A picture of a stream and what was found in it. */
export interface StreamResult<Picture, T> {
  /** The picture, as the source gave it. */
  readonly source: Picture;
  /** Its place in the source, from 0. */
  readonly index: number;
  /** As of `detect()`. */
  readonly detections: T;
  readonly error?: undefined;
}

/** A picture of a stream of `onError: 'yield'` that failed. */
export interface StreamFailure<Picture> {
  readonly source: Picture;
  readonly index: number;
  readonly detections?: undefined;
  /** Has the picture's place in `detail.index`. */
  readonly error: YoloError;
}

/** What a stream gives for each picture: with `onError: 'yield'` a result or a failure, else a result. */
export type StreamItem<Picture, T, OnError extends OnStreamError = 'throw'> =
  | StreamResult<Picture, T>
  | (OnError extends 'yield' ? StreamFailure<Picture> : never);

export interface StreamPlan<OnError extends OnStreamError> {
  /** Pictures that are taken from the source ahead of the item that was given last; at least 1. */
  readonly inFlight: number;
  readonly onError: OnError;
  /** Ends the stream with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/**
 * Detects on the pictures of a source, several at once, and gives what was found in the order of the source.
 *
 * ```
 *  source ──one at a time──▶ detect(), up to `inFlight` under way or done ──in order──▶ whoever iterates
 * ```
 *
 * However it ends, pictures under way are cancelled and awaited, and the source is closed. A pull that is pending then is
 * not awaited: a camera that stalled would hold up the program for ever.
 */
export async function* stream<Picture, T, OnError extends OnStreamError>(
  source: Iterable<Picture> | AsyncIterable<Picture>,
  detect: (picture: Picture, index: number, signal: AbortSignal) => Promise<T>,
  { inFlight, onError, signal }: StreamPlan<OnError>,
): AsyncGenerator<StreamItem<Picture, T, OnError>, void, undefined> {
  type Item = StreamItem<Picture, T, OnError>;
  const feed = new Feed(source);
  const stop = new AbortController();
  // One for each picture under way: Node takes more than ten for a leak.
  setMaxListeners(0, stop.signal);
  /** One for each picture that was asked for, oldest first; undefined is the source's end. */
  const places: Promise<Item | undefined>[] = [];
  let count = 0;
  let hasFailed = false;
  let isThrowing = false;

  const work = async (picture: Picture, index: number): Promise<Item> => {
    try {
      return { source: picture, index, detections: await detect(picture, index, stop.signal) };
    } catch (error) {
      stop.signal.throwIfAborted();
      if (onError === 'yield' && isOfOnePicture(error)) return { source: picture, index, error } as Item;
      hasFailed = true;
      throw error;
    }
  };
  const fill = (): void => {
    if (feed.isPulling || feed.hasEnded || hasFailed || places.length >= inFlight) return;
    const place = feed.pull().then((pulled) => {
      if (pulled.done || stop.signal.aborted) return undefined;
      const item = work(pulled.value, count++);
      fill();
      return item;
    });
    // It may fail before its turn has come.
    place.catch(() => {});
    places.push(place);
  };
  const onAbort = (): void => {
    stop.abort(signal!.reason);
    feed.close().catch(() => {});
  };

  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      signal?.throwIfAborted();
      fill();
      const item = await places[0]!;
      signal?.throwIfAborted();
      if (item === undefined) return;
      void places.shift();
      fill();
      yield item;
    }
  } catch (error) {
    isThrowing = true;
    throw error;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    stop.abort();
    const closing = feed.close();
    await Promise.allSettled([closing, ...places]);
    // What a source throws when it is closed must not hide why it was closed.
    if (!isThrowing) await closing;
  }
}

/** Whether the next picture may do better. */
function isOfOnePicture(error: unknown): error is YoloError {
  return YoloError.is(error) && error.code !== 'ERR_YOLO_CLOSED';
}

/** The source's iterator, pulled once at a time. */
class Feed<Picture> {
  isPulling = false;
  hasEnded = false;
  readonly #iterator: Iterator<Picture> | AsyncIterator<Picture>;
  #closed: Promise<void> | undefined;
  /** Ends the pending pull as if the source had ended. */
  #release = (): void => {};

  constructor(source: Iterable<Picture> | AsyncIterable<Picture>) {
    this.#iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  }

  async pull(): Promise<IteratorResult<Picture, unknown>> {
    this.isPulling = true;
    try {
      const pulled = await new Promise<IteratorResult<Picture, unknown>>((resolve, reject) => {
        this.#release = () => resolve({ done: true, value: undefined });
        Promise.resolve(this.#iterator.next()).then(resolve, reject);
      });
      if (pulled.done) this.hasEnded = true;
      return pulled;
    } catch (error) {
      this.hasEnded = true;
      throw error;
    } finally {
      this.isPulling = false;
    }
  }

  /** Lets a source that has not ended by itself clean up, once; rejects with what it throws then. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.hasEnded) return;
    this.hasEnded = true;
    const isPulling = this.isPulling;
    const returned = this.#return();
    this.#release();
    if (isPulling) returned.catch(() => {});
    else await returned;
  }

  async #return(): Promise<void> {
    await this.#iterator.return?.();
  }
}
