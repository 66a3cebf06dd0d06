import { types } from 'node:util';
import type { Anchors } from './core/heads/head.js';
import type { InputFormat } from './core/input-format.js';
import type { LetterboxOptions } from './core/letterbox.js';
import type { DownloadProgress } from './model/source.js';
import type { Postprocessor } from './postprocessor.js';
import { show } from './show.js';
import type { OnStreamError } from './stream.js';
import type { UrlOptions } from './types.js';
import {
  aBoolean,
  aFunction,
  anAbortSignal,
  arrayOf,
  aString,
  type Check,
  didYouMean,
  integerFrom,
  invalid,
  numberIn,
  objectWith,
  oneOf,
  recordOf,
} from './validation.js';

/** Where a model runs. `'auto'` takes a usable GPU, else the CPU, and says why; any other choice never falls back. */
export type Device = 'auto' | 'cpu' | 'gpu' | `gpu:${number}` | 'webgpu' | 'ref';

/** How pixels go into the model, where its file does not say it or says it wrongly. What is left out is found as usual. */
export interface InputFormatOptions extends Partial<Pick<InputFormat, 'channelOrder' | 'divisor' | 'mean' | 'std'>> {
  letterbox?: Partial<Omit<LetterboxOptions, 'stride'>>;
}

/** Which boxes are kept. */
export interface DetectionOptions {
  /** Boxes with a confidence greater than this are kept; 0..1. Defaults to 0.25. */
  confidenceThreshold?: number;
  /**
   * Thresholds of single classes, 0..1, which hold in place of `confidenceThreshold`, higher or lower: by name or number, as in
   * `{ person: 0.5, 7: 0.1 }`. A number that is the name of a class is taken as the name. A box counts for its best class only,
   * unless `multiLabel` is set; it does not become one of the next class. Defaults to none.
   */
  classThresholds?: Readonly<Record<string, number>>;
  /**
   * Of two boxes that overlap by more than this (intersection over union, 0..1), the one of lower confidence is dropped.
   * Defaults to the model family's: 0.45 for YOLOX, else 0.7. Not used by end-to-end models, unless it is given.
   */
  iouThreshold?: number;
  /** Whether boxes of different classes suppress each other. Defaults to false. */
  classAgnostic?: boolean;
  /** The most boxes of one picture, best first; at least 1. Defaults to 300. */
  maxDetections?: number;
  /** The most boxes of one class, best first; at least 1. Defaults to Infinity. */
  maxPerClass?: number;
  /**
   * Whether a box becomes one detection for each class above the threshold, as evaluation counts them, instead of one for
   * its best class. Defaults to false. Without effect on end-to-end models, which give each box one class.
   */
  multiLabel?: boolean;
  /** Classes to keep, by name or number. Defaults to all. */
  classes?: readonly (string | number)[];
}

/** Options of `detect()` and `detectBatch()`; thresholds given here go before those of `create()`. */
export interface DetectOptions extends DetectionOptions {
  /** Rejects with `signal.reason`. A picture that waits is dropped; a run that has begun is finished and its result thrown away. */
  signal?: AbortSignal;
}

/** Options of `stream()`. */
export interface StreamOptions<OnError extends OnStreamError = OnStreamError> extends DetectOptions {
  /**
   * Pictures that are taken from the source ahead of the one that was given last: those that are read, wait or are in the
   * model, and results that nobody has asked for yet; 1..1024. Defaults to `2 * lanes + 1`, which keeps every lane
   * busy while others are decoded. Never more than fit into `maxQueue`.
   */
  inFlight?: number;
  /**
   * `'throw'`: the first picture that fails ends the stream with its error. `'yield'`: it comes out in its place, as
   * `{ source, index, error }`, and the stream goes on. Defaults to `'throw'`.
   */
  onError?: OnError;
}

export interface DetectorOptions extends DetectionOptions {
  /**
   * An ONNX model: a path, a `file:` URL, or the file's bytes (unchanged until `create()` settles).
   * Defaults to a small COCO detector of 80 classes; see `allowDownload`.
   */
  model?: string | URL | Uint8Array | ArrayBuffer;
  /** Defaults to `'auto'`. */
  device?: Device;
  /**
   * Pictures that are in the model at once, each in a worker thread with a session (and weights) of its own.
   * Defaults to 1: the shortest time for one picture. For many pictures more lanes of fewer threads give more a second.
   */
  lanes?: number;
  /** CPU threads of one lane. Defaults to the processors that are there, at most 8, shared among the lanes. */
  threads?: number;
  /** Pictures that may wait; one more is refused with ERR_YOLO_QUEUE_FULL. Defaults to Infinity. */
  maxQueue?: number;
  /**
   * The most pictures of one run in `detectBatch()`, where the model's batch dimension is open and `rectangle` is not set.
   * Defaults to 1: on the CPU a run of several pictures takes longer than as many runs of one.
   */
  maxBatch?: number;
  /**
   * Size of the model's input in pixels, one number or [width, height], for a model that leaves it open.
   * Defaults to the model's own, else 640, else (where the model does not run at that) the size of its export.
   */
  imageSize?: number | readonly [width: number, height: number];
  /**
   * Whether each picture has an input of its own shape: `imageSize` is then the most, and the border is cut off down to the next
   * multiple of the model's stride (32 pixels). Faster for pictures that are not square, and sometimes better. Only for a model
   * whose width and height are really open, which `create()` proves with a run. Defaults to false: all inputs have one size.
   */
  rectangle?: boolean;
  /** The output layout, by the name of its head (docs/models.md), where it cannot be recognised or is recognised wrongly. */
  head?: string;
  /**
   * Anchors of a YOLOv5 or YOLOv7 that was exported without its last layer, which no file says: those of the released weights by
   * name, or for each output, finest first, the widths and heights of its anchors in input pixels: `[[10, 13, 16, 30, 33, 23], …]`.
   */
  anchors?: 'yolov5' | 'yolov7' | Anchors;
  inputFormat?: InputFormatOptions;
  /** Class names in class order. Defaults to the model's own, else COCO's for 80 classes, else `class0`, `class1` … */
  labels?: readonly string[];
  /** The most pixels that a picture may have. Defaults to 100,000,000. */
  limitInputPixels?: number;
  /** Whether the orientation that EXIF gives is applied, and boxes are in the picture as it is displayed. Defaults to true. */
  autoOrient?: boolean;
  /**
   * Whether JPEGs at least three times as large as the model sees them are decoded at a half, a quarter or an eighth of their size,
   * which is faster but gives the model slightly other pixels (docs/images.md). Boxes stay in the picture's own pixels. Defaults to false.
   */
  shrinkOnLoad?: boolean;
  /** How pictures given by an `http:` or `https:` URL are fetched; false refuses them with ERR_YOLO_URL_REFUSED. */
  urls?: UrlOptions | false;
  /** Whether the default model may be fetched from the npm registry when it is not on this machine. Defaults to false. */
  allowDownload?: boolean;
  /** Folder for the default model. Defaults to MIGRAPHX_YOLO_CACHE, else the user's cache folder. */
  cacheFolder?: string;
  /** Told while the default model is fetched and converted. */
  onProgress?: (progress: DownloadProgress) => void;
  /** Path or URL of the worker file, for applications that are bundled into one file: a copy of `migraphx-yolo/worker`. */
  workerFile?: string | URL;
  /** Cancels `create()`; rejects with `signal.reason`. */
  signal?: AbortSignal;
}

/** Defaults that do not depend on the model. */
export const DEFAULTS = Object.freeze({
  confidenceThreshold: 0.25,
  classAgnostic: false,
  maxDetections: 300,
  maxPerClass: Infinity,
  multiLabel: false,
  maxBatch: 1,
  imageSize: 640,
});

const fraction = numberIn(0, 1);
const atLeastOne = integerFrom(1);

const imageSize: Check = (value, name) => {
  const sides = Array.isArray(value) ? value : [value];
  if (sides.length > 2 || sides.length === 0 || (Array.isArray(value) && sides.length !== 2))
    throw invalid(`Expected ${name} to be a number or [width, height] but received ${show(value)}`, { option: name });
  for (const side of sides) integerFrom(1, 16384)(side, name);
};

const classNameOrId: Check = (value, name) => {
  if (typeof value !== 'string') integerFrom(0)(value, name);
};

const model: Check = (value, name) => {
  const known =
    typeof value === 'string' || value instanceof URL || types.isUint8Array(value) || types.isArrayBuffer(value);
  if (!known)
    throw invalid(`Expected ${name} to be a path, a file: URL or bytes but received ${show(value)}`, { option: name });
};

const device: Check = (value, name) => {
  if (typeof value === 'string' && /^gpu:\d+$/.test(value)) return;
  oneOf(['auto', 'cpu', 'gpu', 'webgpu', 'ref'])(value, name);
};

const three: Check = (value, name) => {
  arrayOf(numberIn(-1e6, 1e6))(value, name);
  if ((value as unknown[]).length !== 3)
    throw invalid(`Expected ${name} to have 3 numbers but received ${show(value)}`, { option: name });
};

// The model's input is computed in float32: divided by less, levels would no longer be numbers.
const positive = numberIn(1e-6, 1e6);

const deviations: Check = (value, name) => {
  three(value, name);
  arrayOf(positive)(value, name);
};

const detectionChecks = {
  confidenceThreshold: fraction,
  classThresholds: recordOf(fraction),
  iouThreshold: fraction,
  classAgnostic: aBoolean,
  maxDetections: atLeastOne,
  maxPerClass: atLeastOne,
  multiLabel: aBoolean,
  classes: arrayOf(classNameOrId),
} satisfies Record<keyof DetectionOptions, Check>;

const detectChecks = { ...detectionChecks, signal: anAbortSignal } satisfies Record<keyof DetectOptions, Check>;

const streamChecks = {
  ...detectChecks,
  inFlight: integerFrom(1, 1024),
  onError: oneOf(['throw', 'yield']),
} satisfies Record<keyof StreamOptions, Check>;

const inputFormat = objectWith({
  channelOrder: oneOf(['rgb', 'bgr']),
  divisor: positive,
  mean: three,
  std: deviations,
  letterbox: objectWith({
    placement: oneOf(['centre', 'top-left', 'stretch']),
    scaleUp: aBoolean,
    padValue: integerFrom(0, 255),
  } satisfies Record<Exclude<keyof LetterboxOptions, 'stride'>, Check>),
} satisfies Record<keyof InputFormatOptions, Check>);

// An instance of a user's class counts too, so its own keys are not looked at.
const postprocessor: Check = (value, name) => {
  if (typeof value !== 'object' || value === null)
    throw invalid(`Expected ${name} to be an object with name and decode but received ${show(value)}`, {
      option: name,
    });
  aString((value as Postprocessor<unknown>).name, `${name}.name`);
  aFunction((value as Postprocessor<unknown>).decode, `${name}.decode`);
};

const urlChecks = {
  allowPrivateAddresses: aBoolean,
  maxBytes: atLeastOne,
  // The longest that a timer can wait.
  timeoutMs: integerFrom(1, 2 ** 31 - 1),
  maxRedirects: integerFrom(0),
} satisfies Record<keyof UrlOptions, Check>;

const urls: Check = (value, name) => {
  if (value === true) throw invalid(`Expected ${name} to be an object or false but received true`, { option: name });
  if (value !== false) objectWith(urlChecks)(value, name);
};

const workerFile: Check = (value, name) => {
  if (!(value instanceof URL)) aString(value, name);
};

const anchors: Check = (value, name) => {
  if (value === 'yolov5' || value === 'yolov7') return;
  const isLevel = (level: unknown) =>
    Array.isArray(level) &&
    level.length > 0 &&
    level.length % 2 === 0 &&
    level.every((side) => side > 0 && side < Infinity);
  if (!Array.isArray(value) || value.length === 0 || !value.every(isLevel))
    throw invalid(
      `Expected ${name} to be 'yolov5', 'yolov7' or, for each output, an array of widths and heights in pixels but received ${show(value)}`,
      { option: name, value },
    );
};

const createChecks = {
  ...detectionChecks,
  model,
  device,
  lanes: integerFrom(1, 256),
  threads: integerFrom(1, 256),
  maxQueue: integerFrom(0),
  maxBatch: integerFrom(1, 1024),
  imageSize,
  rectangle: aBoolean,
  head: aString,
  anchors,
  inputFormat,
  labels: arrayOf(aString),
  limitInputPixels: atLeastOne,
  autoOrient: aBoolean,
  shrinkOnLoad: aBoolean,
  urls,
  allowDownload: aBoolean,
  cacheFolder: aString,
  onProgress: aFunction,
  workerFile,
  signal: anAbortSignal,
} satisfies Record<keyof DetectorOptions, Check>;

/** Throws ERR_YOLO_INVALID_ARGUMENT for a value out of range or a key that does not exist, with the nearest that does. */
export function checkDetectorOptions(options: unknown): void {
  objectWith({ ...createChecks, postprocessor })(options, 'options');
  const { inputFormat: format } = options as DetectorOptions;
  if ((format?.mean === undefined) !== (format?.std === undefined))
    throw invalid('Expected inputFormat.mean and inputFormat.std together, but received one of them', {
      option: 'inputFormat',
    });
}

/** As `checkDetectorOptions`, for one call of `detect()` or `detectBatch()`. */
export function checkDetectOptions(options: unknown): void {
  objectWith(detectChecks)(options, 'options');
}

/** As `checkDetectorOptions`, for one call of `stream()`. */
export function checkStreamOptions(options: unknown): void {
  objectWith(streamChecks)(options, 'options');
}

/** As `checkDetectorOptions`, for `toNdarray()`. */
export function checkReadOptions(options: unknown): void {
  objectWith({ limitInputPixels: atLeastOne, autoOrient: aBoolean, urls, signal: anAbortSignal })(options, 'options');
}

/** As `checkDetectorOptions`, for `fetchImage()`. */
export function checkFetchOptions(options: unknown): void {
  objectWith({ ...urlChecks, signal: anAbortSignal })(options, 'options');
}

/**
 * Class ids, ascending and each once, of names and ids.
 * @throws ERR_YOLO_INVALID_ARGUMENT for a name or an id that the model does not have.
 */
export function resolveClasses(classes: readonly (string | number)[], labels: readonly string[]): number[] {
  const ids = new Set(classes.flatMap((wanted) => idsOf(wanted, labels, 'classes')));
  return [...ids].sort((a, b) => a - b);
}

/**
 * Thresholds by class id, of those by name or id.
 * @throws ERR_YOLO_INVALID_ARGUMENT for a name or an id that the model does not have, and for two thresholds of one class.
 */
export function resolveClassThresholds(
  thresholds: Readonly<Record<string, number>>,
  labels: readonly string[],
): Map<number, number> {
  const byId = new Map<number, number>();
  for (const [key, threshold] of Object.entries(thresholds)) {
    if (threshold === undefined) continue;
    const isId = /^\d+$/.test(key) && !labels.includes(key);
    for (const id of idsOf(isId ? Number(key) : key, labels, 'classThresholds')) {
      if (byId.has(id))
        throw invalid(
          `Expected one threshold for each class, but classThresholds has two for class ${id} (${JSON.stringify(labels[id])})`,
          { option: 'classThresholds', value: key },
        );
      byId.set(id, threshold);
    }
  }
  return byId;
}

/** All classes of that name, or the one of that number. */
function idsOf(wanted: string | number, labels: readonly string[], option: string): number[] {
  if (typeof wanted === 'number') {
    if (wanted < labels.length) return [wanted];
    throw invalid(`Expected a class id in [0, ${labels.length - 1}] but received ${wanted}`, { option, value: wanted });
  }
  const ids = labels.flatMap((label, id) => (label === wanted ? [id] : []));
  if (ids.length > 0) return ids;
  throw invalid(
    `The model has no class ${JSON.stringify(wanted)}${didYouMean(wanted, labels) || `; it has ${labels.length} classes, see detector.labels`}`,
    { option, value: wanted },
  );
}
