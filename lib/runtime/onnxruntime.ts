import { availableParallelism } from 'node:os';
import { YoloError } from '../errors.js';
import type { TensorInfo } from '../types.js';
import type { Backend } from './backend.js';
import { Lane, LaneDied } from './lane.js';
import { PictureQueue } from './picture-queue.js';
import { findWorkerFile } from './worker-file.js';

/** ONNX Runtime gains little from more threads on small detectors, and the program has other work for its processors. */
const MOST_THREADS = 8;

export interface OnnxRuntimeOptions {
  /** `path` or `bytes`; the bytes are copied. */
  readonly model: { readonly path?: string; readonly bytes?: Uint8Array };
  /** Defaults to 1. */
  readonly lanes?: number;
  /** Of one lane. Defaults to the processors, at most 8, shared among the lanes. */
  readonly threads?: number;
  /** Defaults to Infinity. */
  readonly maxQueue?: number;
  readonly workerFile?: string | URL;
}

export interface OnnxRuntimeBackend extends Backend {
  /** For tests: the lanes themselves. */
  readonly lanes: readonly Lane[];
}

/**
 * ONNX Runtime on the CPU: as many worker threads as lanes, each with a session of its own.
 * Rejects with ERR_YOLO_MODEL_PARSE, ERR_YOLO_BINDING_NOT_FOUND, ERR_YOLO_UNSUPPORTED_PLATFORM or ERR_YOLO_LANE_FAILED.
 */
export async function createOnnxRuntimeBackend(options: OnnxRuntimeOptions): Promise<OnnxRuntimeBackend> {
  const { lanes: laneCount = 1, maxQueue = Number.POSITIVE_INFINITY } = options;
  const { path, bytes } = options.model;
  switchTelemetryOff();
  const processors = availableParallelism();
  const threads = options.threads ?? Math.max(1, Math.floor(Math.min(processors, MOST_THREADS) / laneCount));
  const laneOptions = {
    workerFile: findWorkerFile(options.workerFile),
    model: { path, bytes: bytes === undefined ? undefined : sharedCopy(bytes) },
    threads,
    // Where no processor is left over, threads that spin hold up each other, and the program's own thread most of all.
    spins: laneCount * threads < processors,
  };
  const start = (): Promise<Lane> => Lane.start(laneOptions);
  const started = await Promise.allSettled(Array.from({ length: laneCount }, start));
  const lanes = started.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failure = started.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) {
    await Promise.all(lanes.map((lane) => lane.close()));
    throw failure.reason instanceof LaneDied ? couldNotStart(failure.reason) : failure.reason;
  }
  return new CpuBackend(lanes, start, maxQueue);
}

function sharedCopy(bytes: Uint8Array): SharedArrayBuffer {
  const copy = new SharedArrayBuffer(bytes.byteLength);
  new Uint8Array(copy).set(bytes);
  return copy;
}

/**
 * Official builds of ONNX Runtime report each session to their maker, and leave files in the temporary folder, unless
 * this is in the environment when they are loaded. A program that sets the variable itself decides for itself.
 * In a worker thread of the program, process.env is a copy that native code does not see: there the variable counts only
 * where the process was started with it, or its main thread has set it.
 */
function switchTelemetryOff(): void {
  process.env.ORT_DISABLE_TELEMETRY ??= '1';
}

function couldNotStart(cause: LaneDied): YoloError {
  return new YoloError(
    'ERR_YOLO_LANE_FAILED',
    `A lane could not start: ${cause.message}. Where memory is short, fewer lanes or a smaller model help`,
    { phase: 'load', cause },
  );
}

class CpuBackend implements OnnxRuntimeBackend {
  readonly device = 'cpu';
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  readonly #queue: PictureQueue<Lane>;
  #closed: Promise<void> | undefined;

  constructor(lanes: readonly Lane[], start: () => Promise<Lane>, maxQueue: number) {
    this.#queue = new PictureQueue(lanes, start, maxQueue);
    this.inputs = lanes[0]!.inputs;
    this.outputs = lanes[0]!.outputs;
  }

  get lanes(): readonly Lane[] {
    return this.#queue.lanes;
  }

  infer(...job: Parameters<Backend['infer']>): ReturnType<Backend['infer']> {
    return this.#queue.submit(...job);
  }

  stats(): ReturnType<Backend['stats']> {
    return this.#queue.stats();
  }

  close(): Promise<void> {
    this.#closed ??= this.#queue.drain().then(async () => {
      await Promise.all(this.lanes.map((lane) => lane.close()));
    });
    return this.#closed;
  }
}
