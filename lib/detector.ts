import { Detections, type DetectionsContext } from './detections.js';
import { YoloError } from './errors.js';
import { asGiven, assertImageInput, decodeImage, describeInput } from './image/decode.js';
import { isSharpInstance } from './image/input.js';
import { loadModel, type ModelInfo } from './model-loader.js';
import {
  checkDetectOptions,
  checkDetectorOptions,
  checkStreamOptions,
  DEFAULTS,
  type DetectOptions,
  type DetectorOptions,
  resolveClasses,
  resolveClassThresholds,
  type StreamOptions,
} from './options.js';
import { type Postprocessor, PostprocessorImage, type PostprocessorOptions } from './postprocessor.js';
import type { Backend, BackendStats, LanePlan, LaneResult, PictureSource } from './runtime/backend.js';
import { show } from './show.js';
import { type OnStreamError, type StreamItem, stream } from './stream.js';
import type { ImageInput, Tensor } from './types.js';
import { invalid } from './validation.js';

/** Counters of a detector, read at any time. */
export interface DetectorStats extends BackendStats {
  readonly device: string;
}

/** The results of a tuple of pictures: as long as the tuple. */
export type Results<Pictures extends readonly ImageInput[], T> = { -readonly [K in keyof Pictures]: T };

/**
 * Finds objects in pictures with one model. Made by `Detector.create()`; unchangeable after that.
 * Any number of calls may be under way at once: they are served in order. Close it when done; a detector that is
 * forgotten does not keep the process alive.
 *
 * `T` is what `detect()` gives for a picture: `Detections`, or what a custom postprocessor returns.
 */
export class Detector<T = Detections> {
  /** What the model is and how it was understood. */
  readonly model: ModelInfo;
  /** Class names in class order. */
  readonly labels: readonly string[];
  /** Where the model runs: `'cpu'`. */
  readonly device: string;
  /** Why `device: 'auto'` did not take a better device; undefined where it did, or where the device was asked for. */
  readonly fallbackReason: string | undefined;

  readonly #backend: Backend;
  readonly #options: DetectorOptions;
  readonly #plan: LanePlan;
  readonly #postprocessor: Postprocessor<T> | undefined;
  /** Runs that create() made to prove the model. */
  readonly #proofRuns: number;

  private constructor(
    loaded: Awaited<ReturnType<typeof loadModel>>,
    options: DetectorOptions,
    postprocessor?: Postprocessor<T>,
  ) {
    this.model = loaded.info;
    this.labels = loaded.info.labels;
    this.device = loaded.backend.device;
    this.fallbackReason = loaded.fallbackReason;
    this.#backend = loaded.backend;
    this.#options = options;
    this.#plan = loaded.plan;
    this.#postprocessor = postprocessor;
    this.#proofRuns = loaded.backend.stats().completed;
  }

  /**
   * Loads a model, finds out how its outputs are read and runs it once, so that the first `detect()` is as fast as the next.
   * @throws YoloError (as a rejection): ERR_YOLO_INVALID_ARGUMENT, ERR_YOLO_NO_DEVICE, ERR_YOLO_MODEL_NOT_FOUND,
   * ERR_YOLO_MODEL_PARSE, ERR_YOLO_HEAD_UNKNOWN, ERR_YOLO_BINDING_NOT_FOUND.
   */
  static create<T>(options: DetectorOptions & { postprocessor: Postprocessor<T> }): Promise<Detector<T>>;
  static create(options?: DetectorOptions): Promise<Detector>;
  static async create(
    options: DetectorOptions & { postprocessor?: Postprocessor<unknown> } = {},
  ): Promise<Detector<unknown>> {
    checkDetectorOptions(options);
    options.signal?.throwIfAborted();
    const { postprocessor, ...rest } = options;
    const own = Object.freeze(rest);
    const loaded = await loadModel(own, postprocessor !== undefined);
    try {
      const detector = new Detector<unknown>(loaded, own, postprocessor);
      detector.#planFor(own); // A class that the model does not have is an error here, not at the first picture.
      return detector;
    } catch (error) {
      await loaded.backend.close();
      throw error;
    }
  }

  /**
   * Finds the objects of one picture.
   * @returns Boxes in the picture's own upright pixels, best first.
   * @throws YoloError (as a rejection): ERR_YOLO_INVALID_ARGUMENT, ERR_YOLO_IMAGE_DECODE, ERR_YOLO_URL_REFUSED,
   * ERR_YOLO_URL_FETCH, ERR_YOLO_QUEUE_FULL, ERR_YOLO_LANE_FAILED, ERR_YOLO_POSTPROCESSOR, ERR_YOLO_CLOSED; or `signal.reason`. The detector stays usable.
   */
  async detect(image: ImageInput, options: DetectOptions = {}): Promise<T> {
    checkDetectOptions(options);
    assertImageInput(image);
    return this.#detectOne(image, this.#planFor(options), options.signal);
  }

  /**
   * Finds the objects of several pictures, of any sizes and kinds. Where the model's batch dimension is open, and without `rectangle`,
   * up to `maxBatch` pictures go through it in one run; the boxes are the same as those of `detect()`.
   * @returns One result a picture, in their order.
   * @throws As `detect()`. One picture that fails rejects the whole call, with its number in `detail.index`; pictures that still waited are dropped.
   */
  async detectBatch<const Pictures extends readonly ImageInput[]>(
    images: Pictures,
    options: DetectOptions = {},
  ): Promise<Results<Pictures, T>> {
    checkDetectOptions(options);
    if (!Array.isArray(images))
      throw new YoloError('ERR_YOLO_INVALID_ARGUMENT', 'Expected an array of pictures; for one picture use detect()', {
        phase: 'validate',
      });
    images.forEach((image, index) => {
      inPicture(index, images.length, () => assertImageInput(image));
    });
    const plan = this.#planFor(options);
    // Rectangles of different pictures are different inputs, and a flat table has the rows of all pictures.
    const takesBatches =
      this.model.batch === 'dynamic' && this.#options.rectangle !== true && plan.head?.isFlat !== true;
    const size = takesBatches ? (this.#options.maxBatch ?? DEFAULTS.maxBatch) : 1;
    const stop = new AbortController();
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
    const runs: Promise<T[]>[] = [];
    for (let first = 0; first < images.length; first += size) {
      const chunk = images.slice(first, first + size);
      runs.push(this.#detectChunk(chunk, first, images.length, plan, signal));
    }
    try {
      return (await Promise.all(runs)).flat() as Results<Pictures, T>;
    } catch (error) {
      stop.abort(error);
      await Promise.allSettled(runs);
      throw error;
    }
  }

  /**
   * Finds the objects of one picture after the other of a source that may be endless: paths, a video's pictures, an async
   * generator. Several pictures are under way at once, results come in the order of the source, and the source is asked
   * for no more than `inFlight` pictures ahead of what was taken from here.
   *
   * An abort (with `signal.reason`), the end of a `for await` and an error cancel what is under way and close the source.
   * An error that the source throws comes out as it is, after the results of the pictures before it.
   * @throws ERR_YOLO_INVALID_ARGUMENT, at the call, for wrong options or a source that cannot be iterated; while iterating as
   * `detect()`, with the picture's place in `detail.index`. The detector stays usable.
   */
  stream<Picture extends ImageInput, OnError extends OnStreamError = 'throw'>(
    source: Iterable<Picture> | AsyncIterable<Picture>,
    options: StreamOptions<OnError> = {},
  ): AsyncGenerator<StreamItem<Picture, T, OnError>, void, undefined> {
    checkStreamOptions(options);
    assertPictures(source);
    const { inFlight, onError = 'throw' as OnError, signal, ...call } = options;
    const plan = this.#planFor(call);
    const { lanes } = this.#backend.stats();
    // Decoded pictures of all lanes and one more do not wait, see PictureQueue.
    const room = lanes + 1 + (this.#options.maxQueue ?? Number.POSITIVE_INFINITY);
    const detect = (image: Picture, index: number, stop: AbortSignal): Promise<T> =>
      inPicture(index, undefined, async () => {
        assertImageInput(image);
        return this.#detectOne(image, plan, stop);
      });
    return stream(source, detect, { inFlight: Math.min(inFlight ?? 2 * lanes + 1, room), onError, signal });
  }

  /** Waiting and finished pictures, memory high-water marks, the device. */
  stats(): DetectorStats {
    const stats = this.#backend.stats();
    return { device: this.device, ...stats, completed: stats.completed - this.#proofRuns };
  }

  /** Finishes the calls under way and frees everything; later calls reject with ERR_YOLO_CLOSED. May be called again. */
  close(): Promise<void> {
    return this.#backend.close();
  }

  /** As `close()`, for `await using` (TypeScript 5.2 and newer). */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #detectOne(image: ImageInput, plan: LanePlan, signal: AbortSignal | undefined): Promise<T> {
    const [result] = await this.#backend.infer([this.#source(image, signal)], plan, signal);
    return this.#finish(image, result!, plan, signal);
  }

  async #detectChunk(
    chunk: readonly ImageInput[],
    first: number,
    total: number,
    plan: LanePlan,
    signal: AbortSignal,
  ): Promise<T[]> {
    const sources = chunk.map((image, index) => {
      const source = this.#source(image, signal);
      return { name: source.name, decode: () => inPicture(first + index, total, () => source.decode()) };
    });
    const results = await this.#backend.infer(sources, plan, signal);
    return Promise.all(
      results.map((result, index) =>
        inPicture(first + index, total, () => this.#finish(chunk[index]!, result, plan, signal)),
      ),
    );
  }

  #source(image: ImageInput, signal: AbortSignal | undefined): PictureSource {
    const { limitInputPixels, autoOrient, urls, shrinkOnLoad } = this.#options;
    const { inputWidth, inputHeight, format } = this.#plan;
    const shrinkFor = shrinkOnLoad ? { inputWidth, inputHeight, letterbox: format.letterbox } : undefined;
    const options = { limitInputPixels, autoOrient, urls, shrinkFor, signal };
    const own = asGiven(image);
    return { name: describeInput(image), decode: () => decodeImage(own, options) };
  }

  #planFor(call: DetectOptions): LanePlan {
    const { suppression } = this.#plan;
    const own = this.#options;
    const classes = call.classes ?? own.classes;
    const classThresholds = call.classThresholds ?? own.classThresholds;
    return {
      ...this.#plan,
      suppression: {
        confidenceThreshold: call.confidenceThreshold ?? own.confidenceThreshold ?? DEFAULTS.confidenceThreshold,
        classThresholds: classThresholds && resolveClassThresholds(classThresholds, this.labels),
        iouThreshold: call.iouThreshold ?? own.iouThreshold ?? suppression.iouThreshold,
        classAgnostic: call.classAgnostic ?? own.classAgnostic ?? DEFAULTS.classAgnostic,
        maxDetections: call.maxDetections ?? own.maxDetections ?? DEFAULTS.maxDetections,
        maxPerClass: call.maxPerClass ?? own.maxPerClass ?? DEFAULTS.maxPerClass,
        multiLabel: call.multiLabel ?? own.multiLabel ?? DEFAULTS.multiLabel,
        classes: classes === undefined ? undefined : resolveClasses(classes, this.labels),
      },
    };
  }

  async #finish(image: ImageInput, result: LaneResult, plan: LanePlan, signal?: AbortSignal): Promise<T> {
    const { xyxy, confidence, classId, extra: values, prototypes, timings, letterbox } = result;
    const layout = plan.head?.extra;
    const context: DetectionsContext = {
      labels: this.labels,
      image: { width: letterbox.imageWidth, height: letterbox.imageHeight },
      timings,
      maskPrototypes: prototypes && { tensor: prototypes, letterbox },
      source: typeof image === 'string' || image instanceof URL ? image : undefined,
      autoOrient: this.#options.autoOrient,
    };
    const postprocessor = this.#postprocessor;
    // Without a postprocessor T is Detections: create() has no other overload.
    if (postprocessor === undefined) {
      const extra = layout && values && { layout, values };
      return Detections.from({ xyxy, confidence, classId, extra }, context) as T;
    }
    const outputs = Object.fromEntries(result.outputs!.map((tensor): [string, Tensor] => [tensor.name, tensor]));
    try {
      const decoding = postprocessor.decode(
        outputs,
        new PostprocessorImage(letterbox, context),
        postprocessorOptions(plan, signal),
      );
      return await untilAborted(decoding, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw new YoloError(
        'ERR_YOLO_POSTPROCESSOR',
        `The postprocessor ${JSON.stringify(postprocessor.name)} failed on ${describeInput(image)}: ${error instanceof Error ? error.message : show(error)}`,
        {
          phase: 'postprocess',
          detail: { postprocessor: postprocessor.name, outputs: Object.keys(outputs) },
          cause: error,
        },
      );
    }
  }
}

function postprocessorOptions({ suppression }: LanePlan, signal: AbortSignal | undefined): PostprocessorOptions {
  const { confidenceThreshold, iouThreshold, classThresholds, classes, classAgnostic, maxDetections } = suppression;
  const { maxPerClass = DEFAULTS.maxPerClass, multiLabel = DEFAULTS.multiLabel } = suppression;
  return {
    confidenceThreshold,
    iouThreshold: iouThreshold ?? undefined,
    classThresholds,
    classes,
    classAgnostic,
    maxDetections,
    maxPerClass,
    multiLabel,
    signal,
  };
}

/** The value of `work`, or a rejection with `signal.reason` at once when that comes first; `work` then ends unheard. */
function untilAborted<R>(work: R | Promise<R>, signal: AbortSignal | undefined): R | Promise<R> {
  if (signal === undefined) return work;
  return new Promise<R>((resolve, reject) => {
    const stop = () => reject(signal.reason);
    const settled = () => signal.removeEventListener('abort', stop);
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    Promise.resolve(work).then(resolve, reject).finally(settled);
  });
}

/** @throws ERR_YOLO_INVALID_ARGUMENT for what is no source of pictures, also where it could be iterated: a path, by letters, a sharp instance, by bytes. */
function assertPictures(source: unknown): void {
  const isIterable =
    typeof source === 'object' && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source);
  if (isIterable && !ArrayBuffer.isView(source) && !isSharpInstance(source)) return;
  throw invalid(
    `Expected an iterable or async iterable of pictures but received ${show(source)}; for one picture use detect()`,
    { option: 'source' },
  );
}

/**
 * Runs a step of one picture of several, of `total` where that is known; its YoloError comes out with the picture's number,
 * code and cause kept.
 */
function inPicture<R>(index: number, total: number | undefined, step: () => Promise<R>): Promise<R>;
function inPicture(index: number, total: number, step: () => void): void;
function inPicture<R>(index: number, total: number | undefined, step: () => R | Promise<R>): R | Promise<R> {
  const numbered = (error: unknown): never => {
    if (!YoloError.is(error) || error.detail?.index !== undefined) throw error;
    throw new YoloError(
      error.code,
      `${error.message} (picture ${index + 1}${total === undefined ? '' : ` of ${total}`})`,
      {
        phase: error.phase,
        detail: { ...error.detail, index },
        cause: error.cause,
      },
    );
  };
  try {
    const result = step();
    return result instanceof Promise ? result.catch(numbered) : result;
  } catch (error) {
    return numbered(error);
  }
}
