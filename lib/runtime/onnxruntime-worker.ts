/**
 * The thread of a lane: owns one ONNX Runtime session and takes pictures to boxes.
 * ONNX Runtime's run() holds its thread, which is why it has one to itself.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node';
import { Candidates } from '../core/candidates.js';
import type { Letterbox } from '../core/letterbox.js';
import { TensorPacker } from '../core/pack.js';
import { headOutputs, postprocess } from '../core/postprocess.js';
import { YoloError } from '../errors.js';
import type { SideInput } from '../model/signature.js';
import type { Tensor, TensorInfo, TensorType } from '../types.js';
import type { LanePlan } from './backend.js';
import {
  BUSY,
  type FromWorker,
  type LaneStart,
  STOP,
  type ToWorker,
  toPlainError,
  type WorkerResult,
} from './lane-protocol.js';

type Ort = typeof import('onnxruntime-node');
type Picture = Extract<ToWorker, { kind: 'picture' }>;

const port = parentPort!;
const { model, threads, spins, flags } = workerData as LaneStart;
const packer = new TensorPacker();
const candidates = new Candidates();
/** Holds the input of the largest batch so far; each run takes a view of it. */
let input = new ArrayBuffer(0);
let letterboxes: Letterbox[] = [];

/**
 * Runs native code with the busy flag up. Process exit waits for the flag: a thread that is torn down inside ONNX
 * Runtime aborts the process. Once the stop flag is up nothing native begins: the promise stays open until the end.
 */
async function native<T>(work: () => Promise<T>): Promise<T> {
  Atomics.store(flags, BUSY, 1);
  try {
    if (Atomics.load(flags, STOP) === 1) {
      idle();
      return await new Promise<never>(() => {});
    }
    return await work();
  } finally {
    idle();
  }
}

function idle(): void {
  Atomics.store(flags, BUSY, 0);
  Atomics.notify(flags, BUSY);
}

function send(message: FromWorker): void {
  port.postMessage(message);
}

async function importOnnxRuntime(): Promise<Ort> {
  // Where there is a Float16Array its JavaScript part insists on it, and its native part then finds no data in it. This
  // thread is ours alone: without the class both keep to bits in a Uint16Array, as on Node 20.
  Reflect.deleteProperty(globalThis, 'Float16Array');
  try {
    return await import('onnxruntime-node');
  } catch (cause) {
    if (process.platform === 'darwin' && process.arch === 'x64')
      throw new YoloError(
        'ERR_YOLO_UNSUPPORTED_PLATFORM',
        'onnxruntime-node has no binary for Intel Macs, so models cannot run here; migraphx-yolo/core works',
        { phase: 'load', cause },
      );
    const prefix = process.platform === 'linux' && process.arch === 'x64' ? 'ONNXRUNTIME_NODE_INSTALL=skip ' : '';
    throw new YoloError(
      'ERR_YOLO_BINDING_NOT_FOUND',
      `The package onnxruntime-node, which runs models on the CPU, cannot be loaded (${firstLine(cause)}). Install it: ${prefix}npm i onnxruntime-node`,
      { phase: 'load', detail: { package: 'onnxruntime-node' }, cause },
    );
  }
}

async function createSession(ort: Ort): Promise<InferenceSession> {
  const options: InferenceSession.SessionOptions = {
    executionProviders: ['cpu'],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    logSeverityLevel: 3,
    extra: {
      // It folds a Pad of zeros into the MaxPool behind it, which pads with -infinity: YOLOv3-tiny then gives other boxes.
      // Models run as fast without it.
      optimization: { disable_specified_optimizers: 'Pad_Fusion' },
      session: { intra_op: { allow_spinning: spins ? '1' : '0' } },
    },
  };
  try {
    return await (model.path === undefined
      ? // It takes no shared memory; the copy lasts as long as it reads.
        ort.InferenceSession.create(new Uint8Array(model.bytes!).slice(), options)
      : ort.InferenceSession.create(model.path, options));
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_MODEL_PARSE',
      `ONNX Runtime cannot load ${model.path ?? 'the model'}: ${firstLine(cause)}. Check that the file is whole, and that it has no operators of another runtime (such as TensorRT plugins); export it again if so`,
      { phase: 'parse', detail: { path: model.path }, cause },
    );
  }
}

function describe(values: readonly InferenceSession.ValueMetadata[]): TensorInfo[] {
  return values.map((value) => {
    if (!value.isTensor) return { name: value.name, type: 'float32', dims: [] };
    return { name: value.name, type: value.type as TensorType, dims: value.shape };
  });
}

function pack({ pixels, width, height, letterbox, plan, slot, count }: Picture): number {
  const started = performance.now();
  const { inputWidth, inputHeight } = letterbox;
  const image = { data: new Uint8Array(pixels, 0, width * height * 3), width, height };
  // Where a picture lies in the input does not depend on the size at which it was decoded.
  const placement = { ...letterbox, imageWidth: width, imageHeight: height };
  packer.pack(image, placement, plan.format, inputView(plan, count), slot * 3 * inputWidth * inputHeight);
  letterboxes[slot] = letterbox;
  return performance.now() - started;
}

function inputView(
  { format, inputWidth, inputHeight }: LanePlan,
  count: number,
): Float32Array | Uint16Array | Uint8Array {
  const View = { float32: Float32Array, float16: Uint16Array, uint8: Uint8Array }[format.type];
  const length = count * 3 * inputWidth * inputHeight;
  const bytes = length * View.BYTES_PER_ELEMENT;
  if (input.byteLength < bytes) input = allocate(bytes, `${count} × ${inputWidth}×${inputHeight}`);
  return new View(input, 0, length);
}

function allocate(bytes: number, what: string): ArrayBuffer {
  try {
    return new ArrayBuffer(bytes);
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_OUT_OF_MEMORY',
      `No memory for an input of ${what} (${bytes} bytes); use a smaller maxBatch or imageSize`,
      {
        phase: 'run',
        detail: { bytes },
        cause,
      },
    );
  }
}

function inputTensor(ort: Ort, plan: LanePlan, count: number): OrtTensor {
  const { format, inputWidth: width, inputHeight: height } = plan;
  const dims = format.layout === 'nchw' ? [count, 3, height, width] : [count, height, width, 3];
  return new ort.Tensor(format.type, inputView(plan, count) as Float32Array, dims);
}

function fromOrt(name: string, { type, dims, data }: OrtTensor): Tensor {
  const isFloat16 = type === 'float16' && !(data instanceof Uint16Array);
  const view = data as unknown as Uint16Array;
  return {
    name,
    type,
    dims,
    data: isFloat16 ? new Uint16Array(view.buffer, view.byteOffset, view.length) : data,
  } as Tensor;
}

/** One picture's part of an output of a batch. A copy: a view would travel with the whole batch behind it. */
function partOf(tensor: Tensor, index: number, count: number): Tensor {
  if (count === 1) return tensor;
  const length = tensor.data.length / count;
  return {
    ...tensor,
    dims: [1, ...tensor.dims.slice(1)],
    data: tensor.data.slice(index * length, (index + 1) * length),
  } as Tensor;
}

function feedsOf(ort: Ort, session: InferenceSession, plan: LanePlan, count: number): Record<string, OrtTensor> {
  const sides = plan.sideInputs ?? [];
  const picture = session.inputNames.find((name) => sides.every((side) => side.name !== name))!;
  const feeds = { [picture]: inputTensor(ort, plan, count) };
  for (const side of sides) feeds[side.name] = sideTensor(ort, plan, side, count);
  return feeds;
}

function sideTensor(ort: Ort, plan: LanePlan, { type, holds }: SideInput, count: number): OrtTensor {
  const { inputWidth: width, inputHeight: height } = plan;
  const pair = { ones: [1, 1], 'width-height': [width, height], 'height-width': [height, width] }[holds];
  const values = Array.from({ length: 2 * count }, (_, i) => pair[i % 2]!);
  const dims = [count, 2];
  if (type === 'int64') return new ort.Tensor('int64', BigInt64Array.from(values, BigInt), dims);
  if (type === 'int32') return new ort.Tensor('int32', Int32Array.from(values), dims);
  return new ort.Tensor('float32', Float32Array.from(values), dims);
}

async function run(ort: Ort, session: InferenceSession, { job, plan, count }: Picture): Promise<void> {
  const feeds = feedsOf(ort, session, plan, count);
  const started = performance.now();
  let fetched: InferenceSession.OnnxValueMapType;
  try {
    fetched = await native(() => session.run(feeds, RUN_OPTIONS));
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_DEVICE',
      `ONNX Runtime failed in a run of ${count} × ${plan.inputWidth}×${plan.inputHeight}: ${firstLine(cause)}`,
      {
        phase: 'run',
        detail: { batch: count, inputWidth: plan.inputWidth, inputHeight: plan.inputHeight },
        cause,
      },
    );
  }
  const inferenceMs = performance.now() - started;
  const tensors = session.outputNames.map((name) => fromOrt(name, fetched[name] as OrtTensor));
  const stray = count === 1 ? undefined : tensors.find((tensor) => tensor.dims[0] !== count);
  if (stray !== undefined)
    throw new YoloError(
      'ERR_YOLO_SHAPE_MISMATCH',
      `Output ${JSON.stringify(stray.name)} of a batch of ${count} has shape [${stray.dims.join(', ')}]: the model does not take batches; set maxBatch to 1`,
      { phase: 'run', detail: { output: stray.name, dims: stray.dims, batch: count } },
    );
  const results: WorkerResult[] = [];
  for (let index = 0; index < count; index++) {
    const begun = performance.now();
    const letterbox = letterboxes[index]!;
    if (plan.head === null) {
      const outputs = tensors.map((tensor) => partOf(tensor, index, count));
      results.push({ ...NO_BOXES, letterbox, postprocessMs: 0, outputs });
    } else {
      const columns = postprocess(
        headOutputs(tensors, index, plan.head.outputs, count),
        plan.head,
        plan.suppression,
        letterbox,
        candidates,
      );
      const { extra } = plan.head;
      const masks = extra?.kind === 'mask' ? tensors.find(({ name }) => name === extra.prototypes) : undefined;
      const prototypes = masks && partOf(masks, index, count);
      results.push({ ...columns, prototypes, letterbox, postprocessMs: performance.now() - begun });
    }
  }
  send({ kind: 'done', job, results, inferenceMs });
}

/** An error comes as an exception; the words on stderr beside it are not ours to print, least of all when a size is tried. */
const RUN_OPTIONS: InferenceSession.RunOptions = { logSeverityLevel: 4 };

const NO_BOXES = { xyxy: new Float32Array(0), confidence: new Float32Array(0), classId: new Int32Array(0) };

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!;
}

async function serve(): Promise<void> {
  const { ort, session } = await native(async () => {
    const ort = await importOnnxRuntime();
    return { ort, session: await createSession(ort) };
  });
  // One message after the other: a picture that arrives during a run waits for its end.
  let last: Promise<void> = Promise.resolve();
  port.on('message', (message: ToWorker) => {
    last = last.then(() => handle(ort, session, message));
  });
  send({ kind: 'ready', inputs: describe(session.inputMetadata), outputs: describe(session.outputMetadata) });
}

async function handle(ort: Ort, session: InferenceSession, message: ToWorker): Promise<void> {
  if (message.kind === 'close') {
    await native(() => session.release());
    // Nothing keeps this thread then, and it ends by itself.
    port.close();
    return;
  }
  try {
    if (message.slot === 0) letterboxes = [];
    const letterboxMs = pack(message);
    send({ kind: 'packed', job: message.job, letterboxMs });
    if (message.slot === message.count - 1) await run(ort, session, message);
  } catch (error) {
    send({ kind: 'failed', job: message.job, error: toPlainError(error) });
  }
}

serve().catch((error: unknown) => {
  send({ kind: 'failed', error: toPlainError(error) });
  port.close();
});
