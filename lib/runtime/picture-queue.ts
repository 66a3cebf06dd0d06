import { setMaxListeners } from 'node:events';
import { YoloError } from '../errors.js';
import type { RgbImage } from '../types.js';
import type { BackendStats, LanePlan, LaneResult, PictureSource } from './backend.js';
import { Fifo } from './fifo.js';
import { type BatchResult, LaneDied } from './lane.js';

/** What the queue needs of a lane. */
export interface PictureLane {
  readonly alive: boolean;
  pack(image: RgbImage, slot: number, count: number, plan: LanePlan): Promise<number>;
  result(): Promise<BatchResult>;
  drop(): void;
}

/**
 * Gives pictures to lanes in the order in which they came. Decoding runs ahead of the lanes, but at most one decoded
 * picture more than there are lanes exists at a time; whatever waits longer is its source only.
 *
 * ```
 *  source ──ticket──▶ decode ──▶ lane, with the first picture of its job ──▶ letterbox, ticket back ──▶ run
 * ```
 *
 * Tickets are given in the order of pictures and lanes in the order of jobs. So the oldest job that is not done either
 * has a lane, and its pictures get their tickets before all others, or waits for the lane of a job of which that is true:
 * nobody waits for ever.
 */
export class PictureQueue<L extends PictureLane = PictureLane> {
  readonly lanes: L[];
  readonly #idle: number[];
  readonly #restart: () => Promise<L>;
  readonly #maxQueue: number;
  readonly #tickets: number;
  /** Jobs without a lane. Those that were settled meanwhile are passed over. */
  readonly #jobs = new Fifo<Job>();
  /** Pictures without a ticket, with the same exception. */
  readonly #undecoded = new Fifo<Slot>();
  #queued = 0;
  #decoded = 0;
  #decodedHighWater = 0;
  #completed = 0;
  #lanesReplaced = 0;
  #unsettled = 0;
  #drained: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  /**
   * @param lanes started lanes
   * @param restart starts a lane in place of one that died
   * @param maxQueue the most pictures that may wait to be decoded
   */
  constructor(lanes: readonly L[], restart: () => Promise<L>, maxQueue: number) {
    this.lanes = [...lanes];
    this.#idle = lanes.map((_, index) => index);
    this.#restart = restart;
    this.#maxQueue = maxQueue;
    this.#tickets = lanes.length + 1;
  }

  stats(): BackendStats {
    return {
      lanes: this.lanes.length,
      queued: this.#queued,
      decoded: this.#decoded,
      decodedHighWater: this.#decodedHighWater,
      completed: this.#completed,
      lanesReplaced: this.#lanesReplaced,
    };
  }

  /** Runs pictures as one batch; see `Backend.infer`. */
  async submit(pictures: readonly PictureSource[], plan: LanePlan, signal?: AbortSignal): Promise<LaneResult[]> {
    if (this.#closing !== undefined)
      throw new YoloError('ERR_YOLO_CLOSED', 'The detector is closed; make a new one with Detector.create()', {
        phase: 'enqueue',
      });
    signal?.throwIfAborted();
    if (pictures.length === 0) return [];
    const free = this.#tickets - this.#decoded;
    if (this.#queued + pictures.length > this.#maxQueue + free)
      throw new YoloError(
        'ERR_YOLO_QUEUE_FULL',
        `${this.#queued} pictures wait and maxQueue is ${this.#maxQueue}: no room for ${pictures.length} more. Wait for earlier calls, or raise maxQueue`,
        { phase: 'enqueue', detail: { queued: this.#queued, maxQueue: this.#maxQueue, pictures: pictures.length } },
      );
    const job = new Job(pictures, plan);
    const onAbort = (): void => this.#settle(job, () => job.reject(signal!.reason));
    if (signal !== undefined) {
      // One signal may stop any number of calls: Node's warning of a leak, from the eleventh on, would be wrong.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', onAbort, { once: true });
    }
    this.#unsettled++;
    this.#enqueue(job);
    try {
      return await job.results;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Refuses new pictures; resolves when those that were accepted are done and every lane is idle. */
  drain(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#drained = resolve;
      this.#checkDrained();
    });
    return this.#closing;
  }

  #enqueue(job: Job): void {
    this.#jobs.push(job);
    for (const slot of job.slots) this.#undecoded.push(slot);
    this.#queued += job.slots.length;
    this.#pump();
  }

  #pump(): void {
    while (this.#decoded < this.#tickets) {
      const slot = this.#undecoded.shift();
      if (slot === undefined) break;
      if (slot.state === 'waiting') this.#decode(slot);
    }
    while (this.#idle.length > 0) {
      const job = this.#jobs.peek();
      if (job === undefined || (!job.settled && job.slots[0]!.state !== 'decoded')) break;
      this.#jobs.shift();
      if (!job.settled) void this.#serve(job, this.#idle.pop()!);
    }
    this.#checkDrained();
  }

  #decode(slot: Slot): void {
    const { job } = slot;
    slot.state = 'decoding';
    this.#queued--;
    this.#decoded++;
    this.#decodedHighWater = Math.max(this.#decodedHighWater, this.#decoded);
    slot.decodeBegan = performance.now();
    job.pictures[slot.place]!.decode().then(
      (image) => {
        slot.decodeEnded = performance.now();
        slot.state = 'decoded';
        // Nobody takes it when its job was settled, or begun anew, while it was decoded.
        if (slot.isWanted) slot.fill(image);
        else this.#giveBack(slot);
        this.#pump();
      },
      (error: unknown) => {
        slot.state = 'decoded';
        if (slot.isWanted) this.#settle(job, () => job.reject(error));
        this.#giveBack(slot);
      },
    );
  }

  /** Takes a job through a lane. Its lane is idle again afterwards, whatever happened. */
  async #serve(job: Job, index: number): Promise<void> {
    const { slots, plan } = job;
    try {
      const lane = await this.#livingLane(index);
      for (const [place, slot] of slots.entries()) {
        await slot.filled;
        // An abort or a bad picture among those of a batch; an abort after the last is left to run out.
        if (job.settled) {
          lane.drop();
          return;
        }
        slot.packBegan = performance.now();
        slot.letterboxMs = await lane.pack(slot.image!, place, slots.length, plan);
        this.#giveBack(slot);
      }
      const { results, inferenceMs } = await lane.result();
      this.#completed += slots.length;
      this.#settle(job, () =>
        job.resolve(results.map((result, place) => finish(result, slots[place]!, job, inferenceMs))),
      );
    } catch (error) {
      this.lanes[index]!.drop();
      if (error instanceof LaneDied && !job.settled && !job.isRetry) this.#retry(job);
      else this.#settle(job, () => job.reject(error instanceof LaneDied ? laneFailed(job, error) : error));
    } finally {
      for (const slot of slots) this.#giveBack(slot);
      this.#idle.push(index);
      this.#pump();
    }
  }

  async #livingLane(index: number): Promise<L> {
    if (!this.lanes[index]!.alive) {
      this.lanes[index] = await this.#restart();
      this.#lanesReplaced++;
    }
    return this.lanes[index]!;
  }

  /** Once more, decoded anew and behind all others: in front it could wait for tickets of jobs that wait for it. */
  #retry(job: Job): void {
    const { slots } = job;
    job.isRetry = true;
    job.slots = slotsOf(job);
    for (const slot of slots) this.#discard(slot);
    this.#enqueue(job);
  }

  #settle(job: Job, settle: () => void): void {
    if (job.settled) return;
    job.settled = true;
    this.#unsettled--;
    settle();
    for (const slot of job.slots) this.#discard(slot);
    job.forget();
    this.#pump();
  }

  /** Nobody will take this picture to a lane any more. */
  #discard(slot: Slot): void {
    slot.isWanted = false;
    if (slot.state === 'waiting') {
      slot.state = 'gone';
      this.#queued--;
    }
    slot.fill(undefined);
    // One that a lane is reading is given back when the lane has done with it.
    if (slot.packBegan === 0) this.#giveBack(slot);
  }

  /** The picture's pixels are no longer needed. */
  #giveBack(slot: Slot): void {
    if (slot.state !== 'decoded') return;
    slot.state = 'gone';
    slot.image = undefined;
    this.#decoded--;
    this.#pump();
  }

  #checkDrained(): void {
    if (this.#unsettled === 0 && this.#idle.length === this.lanes.length) this.#drained?.();
  }
}

/** A picture of a job. It holds a ticket while it is being decoded and decoded, and pixels no longer than the ticket. */
class Slot {
  state: 'waiting' | 'decoding' | 'decoded' | 'gone' = 'waiting';
  isWanted = true;
  decodeBegan = 0;
  decodeEnded = 0;
  packBegan = 0;
  letterboxMs = 0;
  image: RgbImage | undefined;
  /** Resolves when the picture is there, or never will be. */
  readonly filled: Promise<void>;
  #resolve!: () => void;

  constructor(
    readonly job: Job,
    readonly place: number,
  ) {
    this.filled = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  fill(image: RgbImage | undefined): void {
    this.image ??= image;
    this.#resolve();
  }
}

class Job {
  readonly submitted = performance.now();
  readonly results: Promise<LaneResult[]>;
  slots: readonly Slot[];
  settled = false;
  /** Whether a lane has died with it already. */
  isRetry = false;
  resolve!: (results: LaneResult[]) => void;
  reject!: (error: unknown) => void;

  constructor(
    public pictures: readonly PictureSource[],
    readonly plan: LanePlan,
  ) {
    this.slots = slotsOf(this);
    this.results = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** A settled job may stay in the queue until its turn: without what it was given. */
  forget(): void {
    this.pictures = [];
    this.slots = [];
  }
}

function slotsOf(job: Job): readonly Slot[] {
  return job.pictures.map((_, place) => new Slot(job, place));
}

function finish(result: BatchResult['results'][number], slot: Slot, job: Job, inferenceMs: number): LaneResult {
  const { postprocessMs, ...columns } = result;
  const { decodeBegan, decodeEnded, packBegan, letterboxMs } = slot;
  return {
    ...columns,
    timings: {
      queueMs: decodeBegan - job.submitted + (packBegan - decodeEnded),
      decodeMs: decodeEnded - decodeBegan,
      letterboxMs,
      inferenceMs,
      postprocessMs,
      totalMs: performance.now() - job.submitted,
    },
  };
}

function laneFailed(job: Job, cause: LaneDied): YoloError {
  const pictures = job.pictures.map(({ name }) => name);
  return new YoloError(
    'ERR_YOLO_LANE_FAILED',
    `The worker died twice with ${pictures.join(', ')} (${cause.message}). The detector can still be used`,
    {
      phase: 'run',
      detail: { pictures },
      cause,
    },
  );
}
