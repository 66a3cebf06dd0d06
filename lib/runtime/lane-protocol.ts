import type { Letterbox } from '../core/letterbox.js';
import type { YoloErrorCode, YoloErrorPhase } from '../errors.js';
import { YoloError } from '../errors.js';
import type { Tensor, TensorInfo } from '../types.js';
import type { LanePlan } from './backend.js';

/** The words that a lane and its worker exchange. */

/** Places in the shared flags of a lane. */
export const STOP = 0;
export const BUSY = 1;

export interface LaneStart {
  /** One of them. The bytes are one copy for all lanes. */
  readonly model: { readonly path?: string; readonly bytes?: SharedArrayBuffer };
  readonly threads: number;
  /** Whether threads of ONNX Runtime wait for their next work by spinning. */
  readonly spins: boolean;
  /**
   * Shared Int32 flags. STOP: set by the host at process exit; the worker begins no native call after that.
   * BUSY: set by the worker while native code runs, and by the host until the worker has started.
   */
  readonly flags: Int32Array;
}

export type ToWorker =
  | {
      readonly kind: 'picture';
      readonly job: number;
      /** Place in the batch; the last one, `count - 1`, starts the run. */
      readonly slot: number;
      readonly count: number;
      /** RGB pixels at the beginning of it, of which only the rows that are read; the host's again from 'packed' on. */
      readonly pixels: SharedArrayBuffer;
      /** Of the pixels, which are fewer than the letterbox's where the picture was decoded smaller. */
      readonly width: number;
      readonly height: number;
      readonly letterbox: Letterbox;
      readonly plan: LanePlan;
    }
  | { readonly kind: 'close' };

/** Of one picture of a batch. */
export interface WorkerResult {
  readonly xyxy: Float32Array;
  readonly confidence: Float32Array;
  readonly classId: Int32Array;
  readonly extra?: Float32Array;
  readonly prototypes?: Tensor;
  readonly letterbox: Letterbox;
  readonly postprocessMs: number;
  readonly outputs?: readonly Tensor[];
}

export type FromWorker =
  | { readonly kind: 'ready'; readonly inputs: readonly TensorInfo[]; readonly outputs: readonly TensorInfo[] }
  | { readonly kind: 'packed'; readonly job: number; readonly letterboxMs: number }
  | {
      readonly kind: 'done';
      readonly job: number;
      readonly results: readonly WorkerResult[];
      readonly inferenceMs: number;
    }
  /** `job` is undefined when the worker could not start. */
  | { readonly kind: 'failed'; readonly job?: number; readonly error: PlainError };

/** A YoloError as plain data: structured cloning would keep neither its class nor its code. */
export interface PlainError {
  readonly code: YoloErrorCode;
  readonly message: string;
  readonly phase?: YoloErrorPhase;
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

export function toPlainError(error: unknown): PlainError {
  if (!YoloError.is(error))
    return { code: 'ERR_YOLO_INTERNAL', message: `Unexpected error in a lane: ${String(error)}`, cause: error };
  const { code, message, phase, detail, cause } = error;
  return { code, message, phase, detail, cause };
}

export function fromPlainError({ code, message, phase, detail, cause }: PlainError): YoloError {
  return new YoloError(code, message, { phase, detail, cause });
}
