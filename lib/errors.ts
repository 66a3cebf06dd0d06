/** What can go wrong, one stable name each. docs/errors.md gives cause and remedy for every one. */
export type YoloErrorCode =
  | 'ERR_YOLO_INVALID_ARGUMENT'
  | 'ERR_YOLO_UNSUPPORTED_PLATFORM'
  | 'ERR_YOLO_BINDING_NOT_FOUND'
  | 'ERR_YOLO_NO_DEVICE'
  | 'ERR_YOLO_MODEL_NOT_FOUND'
  | 'ERR_YOLO_MODEL_PARSE'
  | 'ERR_YOLO_HEAD_UNKNOWN'
  | 'ERR_YOLO_CACHE'
  | 'ERR_YOLO_IMAGE_DECODE'
  | 'ERR_YOLO_URL_REFUSED'
  | 'ERR_YOLO_URL_FETCH'
  | 'ERR_YOLO_FILE_WRITE'
  | 'ERR_YOLO_SHAPE_MISMATCH'
  | 'ERR_YOLO_POSTPROCESSOR'
  | 'ERR_YOLO_OUT_OF_MEMORY'
  | 'ERR_YOLO_DEVICE'
  | 'ERR_YOLO_QUEUE_FULL'
  | 'ERR_YOLO_LANE_FAILED'
  | 'ERR_YOLO_CLOSED'
  | 'ERR_YOLO_INTERNAL';

/** What was being done when the error arose. */
export type YoloErrorPhase =
  | 'validate'
  | 'load'
  | 'download'
  | 'convert'
  | 'parse'
  | 'recognise'
  | 'decode'
  | 'enqueue'
  | 'run'
  | 'postprocess'
  | 'annotate'
  | 'export';

export interface YoloErrorOptions {
  phase?: YoloErrorPhase;
  /** Facts for programs: the offending value, a path, a list of candidates. */
  detail?: Readonly<Record<string, unknown>>;
  cause?: unknown;
}

/** Shared by every copy of this module (ESM and CJS, or two versions in one process). */
const BRAND = Symbol.for('migraphx-yolo.YoloError');

/**
 * The one error class of this library. The message says what failed, with which value, and what to do;
 * `code` is for programs and never changes its meaning.
 */
export class YoloError extends Error {
  override readonly name = 'YoloError';
  readonly code: YoloErrorCode;
  readonly phase?: YoloErrorPhase;
  readonly detail?: Readonly<Record<string, unknown>>;

  constructor(code: YoloErrorCode, message: string, options: YoloErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.phase = options.phase;
    this.detail = options.detail;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /**
   * True for a YoloError of any copy of this package, where `instanceof` knows its own copy only.
   * Defaults to any code; with `code`, true for that one alone.
   */
  static is(error: unknown, code?: YoloErrorCode): error is YoloError {
    return (
      typeof error === 'object' &&
      error !== null &&
      (error as Record<symbol, unknown>)[BRAND] === true &&
      (code === undefined || (error as YoloError).code === code)
    );
  }
}
