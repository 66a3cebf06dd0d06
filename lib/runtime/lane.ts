import { Worker } from 'node:worker_threads';
import { createLetterbox, type Letterbox } from '../core/letterbox.js';
import { rowsRead } from '../core/resample.js';
import { YoloError } from '../errors.js';
import type { RgbImage, TensorInfo } from '../types.js';
import type { LanePlan } from './backend.js';
import { guardAtExit } from './exit-guard.js';
import {
  BUSY,
  type FromWorker,
  fromPlainError,
  type LaneStart,
  type ToWorker,
  type WorkerResult,
} from './lane-protocol.js';

/** What a lane needs to start. */
export interface LaneOptions {
  readonly workerFile: URL;
  readonly model: LaneStart['model'];
  readonly threads: number;
  readonly spins: boolean;
}

export interface BatchResult {
  readonly results: readonly WorkerResult[];
  readonly inferenceMs: number;
}

/** Rejections of a lane whose worker is gone: the work may be tried on another. */
export class LaneDied extends Error {}

interface Settler<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

/**
 * The host side of one worker. It serves one batch at a time: a `pack()` a picture in slot order, of which the last
 * starts the run, then `result()`. The worker keeps the process alive only while it has something to do.
 */
export class Lane {
  /** As the model declares them, in the graph's order. */
  inputs: readonly TensorInfo[] = [];
  outputs: readonly TensorInfo[] = [];

  readonly #worker: Worker;
  readonly #ended: Promise<void>;
  #alive = true;
  #job = 0;
  /**
   * The lane's own memory for pixels, which its worker reads. Shared and not transferred: from the first transfer on, V8
   * checks at each access to any typed array of a thread whether its buffer is still there.
   */
  #pixels = new SharedArrayBuffer(0);
  #started: Settler<Lane> | undefined;
  #packed: Settler<number> | undefined;
  #done: Settler<BatchResult> | undefined;
  #result: Promise<BatchResult> | undefined;

  private constructor({ workerFile, model, threads, spins }: LaneOptions, started: Settler<Lane>) {
    const flags = new Int32Array(new SharedArrayBuffer(8));
    // Loading is native work too; the worker lowers the flag when it has started.
    Atomics.store(flags, BUSY, 1);
    this.#started = started;
    this.#worker = new Worker(workerFile, {
      workerData: { model, threads, spins, flags } satisfies LaneStart,
      name: 'migraphx-yolo lane',
      // The program's own flags are about its own code (--input-type, --import of a loader): some do not go with a file.
      execArgv: [],
    });
    const release = guardAtExit(flags);
    let reason: Error | undefined;
    this.#worker.on('message', (message: FromWorker) => this.#receive(message));
    this.#worker.on('error', (error) => {
      reason = error;
    });
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', (code) => {
        release();
        this.#end(code, reason);
        resolve();
      });
    });
  }

  /**
   * Starts a worker and loads the model in it. Rejects with the worker's YoloError where it cannot, and with LaneDied where
   * the worker ended without a word.
   */
  static start(options: LaneOptions): Promise<Lane> {
    return new Promise((resolve, reject) => {
      new Lane(options, { resolve, reject });
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Copies a picture to the worker; resolves with the milliseconds of its letterbox, when its pixels are no longer needed. */
  async pack(image: RgbImage, slot: number, count: number, plan: LanePlan): Promise<number> {
    if (!this.#alive) throw new LaneDied('The worker of the lane is gone');
    if (slot === 0) {
      this.#job++;
      this.#worker.ref();
      this.#result = new Promise((resolve, reject) => {
        this.#done = { resolve, reject };
      });
      // The result may fail before anybody waits for it.
      this.#result.catch(() => {});
    }
    const { width, height, original = image } = image;
    const letterbox = createLetterbox(
      original.width,
      original.height,
      plan.inputWidth,
      plan.inputHeight,
      plan.format.letterbox,
    );
    const length = width * height * 3;
    if (this.#pixels.byteLength < length) this.#pixels = allocate(length);
    const pixels = this.#pixels;
    copyRowsRead(image, letterbox, pixels);
    this.#worker.postMessage({
      kind: 'picture',
      job: this.#job,
      slot,
      count,
      pixels,
      width,
      height,
      letterbox,
      // A letterbox with a stride has an input size of its own, which is the run's: pictures of one batch have the same.
      plan: { ...plan, inputWidth: letterbox.inputWidth, inputHeight: letterbox.inputHeight },
    } satisfies ToWorker);
    return new Promise((resolve, reject) => {
      this.#packed = { resolve, reject };
    });
  }

  /** The boxes of the batch whose pictures were packed. */
  result(): Promise<BatchResult> {
    return this.#result!;
  }

  /** Forgets a batch that will not be finished. */
  drop(): void {
    this.#idle();
  }

  /** Lets the worker free its session and end by itself; it is never terminated, which could be in the middle of native code. */
  async close(): Promise<void> {
    if (this.#alive) {
      this.#worker.ref();
      this.#worker.postMessage({ kind: 'close' } satisfies ToWorker);
    }
    await this.#ended;
  }

  /**
   * For tests of what happens when a worker dies. Not in the middle of a run: onnxruntime-node, stopped there, ends the
   * process.
   */
  kill(): Promise<number> {
    return this.#worker.terminate();
  }

  #receive(message: FromWorker): void {
    if (message.kind === 'ready') {
      this.inputs = message.inputs;
      this.outputs = message.outputs;
      this.#idle();
      this.#started?.resolve(this);
      this.#started = undefined;
      return;
    }
    if (message.kind === 'packed') {
      if (message.job === this.#job) this.#packed?.resolve(message.letterboxMs);
      return;
    }
    if (message.kind === 'done') {
      if (message.job !== this.#job) return;
      const done = this.#done;
      this.#idle();
      done?.resolve(message);
      return;
    }
    if (message.job === undefined || message.job === this.#job) this.#fail(fromPlainError(message.error));
  }

  #idle(): void {
    this.#packed = undefined;
    this.#done = undefined;
    this.#worker.unref();
  }

  /** Rejects whatever is waited for. */
  #fail(error: Error): void {
    const waiting = [this.#started, this.#packed, this.#done];
    this.#started = undefined;
    this.#idle();
    for (const settler of waiting) settler?.reject(error);
  }

  #end(code: number, reason: Error | undefined): void {
    this.#alive = false;
    this.#fail(
      new LaneDied(
        `The worker of the lane ended with code ${code}${reason === undefined ? '' : `: ${reason.message}`}`,
        { cause: reason },
      ),
    );
  }
}

function allocate(bytes: number): SharedArrayBuffer {
  try {
    return new SharedArrayBuffer(bytes);
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_OUT_OF_MEMORY',
      `No memory for the pixels of a picture (${bytes} bytes); use fewer lanes, or refuse large pictures with limitInputPixels`,
      { phase: 'run', detail: { bytes }, cause },
    );
  }
}

/** Of a picture that is made much smaller most rows are never read; what was there before stays in their place. */
function copyRowsRead(
  { data, width, height }: RgbImage,
  { resizedHeight }: Letterbox,
  pixels: SharedArrayBuffer,
): void {
  const from = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const to = Buffer.from(pixels);
  const rows = rowsRead(height, resizedHeight);
  const rowBytes = 3 * width;
  for (let at = 0; at < rows.length; at += 2)
    from.copy(to, rowBytes * rows[at]!, rowBytes * rows[at]!, rowBytes * rows[at + 1]!);
}
