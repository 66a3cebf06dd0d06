import type { HeadLayout } from '../core/heads/head.js';
import type { InputFormat } from '../core/input-format.js';
import type { Letterbox } from '../core/letterbox.js';
import type { SideInput } from '../model/signature.js';
import type { DetectionTimings, RgbImage, Tensor, TensorInfo } from '../types.js';

/** Suppression and limits of one call. */
export interface SuppressionPlan {
  /** A box is kept when its confidence is greater than this. */
  readonly confidenceThreshold: number;
  /** Thresholds of single classes, by class id, which hold in place of the general one. */
  readonly classThresholds?: ReadonlyMap<number, number>;
  /** null: the model has suppressed already. */
  readonly iouThreshold: number | null;
  readonly classAgnostic: boolean;
  readonly maxDetections: number;
  readonly maxPerClass?: number;
  readonly multiLabel?: boolean;
  /** Class ids to keep, ascending; undefined keeps all. */
  readonly classes?: readonly number[];
}

/** All that a lane needs to turn pictures into boxes: plain data, sent with every job. */
export interface LanePlan {
  /** In pixels; the most where the format's letterbox has a stride, and then each run holds one picture. */
  readonly inputWidth: number;
  readonly inputHeight: number;
  readonly format: InputFormat;
  /** Inputs beside the picture. Defaults to none. */
  readonly sideInputs?: readonly SideInput[];
  /** null: the raw outputs are wanted instead of boxes. */
  readonly head: HeadLayout | null;
  readonly suppression: SuppressionPlan;
}

export interface LaneResult {
  /** [n, 4] in the picture's own pixels, by falling confidence. Empty when raw outputs were asked for. */
  readonly xyxy: Float32Array;
  readonly confidence: Float32Array;
  readonly classId: Int32Array;
  /** [n, values of one object], as the head's layout says, in the picture's own pixels. */
  readonly extra?: Float32Array;
  /** What the masks of this picture are made of, [M, h, w]. */
  readonly prototypes?: Tensor;
  readonly letterbox: Letterbox;
  readonly timings: DetectionTimings;
  /** The raw outputs of this picture (batch dimension 1), in the graph's order, when the plan's head is null. */
  readonly outputs?: readonly Tensor[];
}

/** Decodes a picture when its turn comes; called again when a lane died with the picture in hand. */
export interface PictureSource {
  /** For messages: the path, or "Buffer of 1234 bytes". */
  readonly name: string;
  decode(): Promise<RgbImage>;
}

export interface BackendStats {
  readonly lanes: number;
  /** Pictures that wait for their turn. */
  readonly queued: number;
  /** Decoded pictures that exist now, and the most that existed at once. */
  readonly decoded: number;
  readonly decodedHighWater: number;
  /** Pictures finished since create(). */
  readonly completed: number;
  /** Lanes that died and were replaced. */
  readonly lanesReplaced: number;
}

/** What runs a model. Above this interface nobody can tell a CPU worker from a GPU stream. */
export interface Backend {
  /** 'cpu', 'gpu:0' … */
  readonly device: string;
  /** As the runtime reports them, in the graph's order. */
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  /**
   * Runs all pictures as one batch (several only where the model's batch dimension is open).
   * Rejects as a whole; the backend stays usable. Abort rejects with `signal.reason`.
   */
  infer(pictures: readonly PictureSource[], plan: LanePlan, signal?: AbortSignal): Promise<LaneResult[]>;
  stats(): BackendStats;
  /** Refuses new work, finishes what was accepted, frees everything. Idempotent. */
  close(): Promise<void>;
}
