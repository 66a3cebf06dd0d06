import { ANCHOR_SETS } from './core/heads/anchor-maps.js';
import type { Anchors } from './core/heads/head.js';
import { type Candidate, recogniseModel } from './core/heads/recognise.js';
import type { InputFormat } from './core/input-format.js';
import { YoloError } from './errors.js';
import { labelsFor, labelsFromMetadata } from './labels.js';
import { DEFAULT_MODEL_FORMAT } from './model/default-model.js';
import { isDeclaredOpen, otherSizes, type Size, sizeBeside, strideOf } from './model/open-size.js';
import { modelSignature, type PictureInput, pictureInput, readModelFile } from './model/signature.js';
import { resolveModel } from './model/source.js';
import { DEFAULTS, type DetectorOptions, type InputFormatOptions } from './options.js';
import { loadProofPictures } from './proof-photo.js';
import type { Backend, LanePlan } from './runtime/backend.js';
import { createOnnxRuntimeBackend } from './runtime/onnxruntime.js';
import { selectDevice } from './runtime/select.js';
import type { TensorInfo } from './types.js';
import { invalid } from './validation.js';

/** What a detector's model is and how it was understood. */
export interface ModelInfo {
  /** The file's name, or "model of 1234 bytes". */
  readonly name: string;
  /** Absolute; undefined for bytes. */
  readonly path: string | undefined;
  /** Whether it is the one that is used when none is given. */
  readonly isDefault: boolean;
  readonly inputs: readonly TensorInfo[];
  /** In the graph's order, as the file declares them. */
  readonly outputs: readonly TensorInfo[];
  /** Size that pictures are laid into, in pixels. */
  readonly inputWidth: number;
  readonly inputHeight: number;
  /**
   * Whether the model takes pictures of other sizes: false where the file fixes the size or runs have shown that it is fixed,
   * true where a run at a second size (made for `rectangle`) has succeeded; undefined where only the file says that it does.
   */
  readonly isSizeOpen: boolean | undefined;
  /** Pictures of one run; 'dynamic' where the file leaves it open. */
  readonly batch: number | 'dynamic';
  /** Name of the head that reads the outputs; null with a custom postprocessor. */
  readonly head: string | null;
  /** Family of models that decides pre-processing and IoU threshold, e.g. 'YOLOX'; null with a custom postprocessor. */
  readonly family: string | null;
  readonly inputFormat: InputFormat;
  /** Class names in class order; empty where nothing gives them. */
  readonly labels: readonly string[];
  /** The file's own metadata, undecoded. */
  readonly metadata: Readonly<Record<string, string>>;
  /** What speaks for head and input format, for people. */
  readonly evidence: readonly string[];
  /** What is the family's default, with no evidence for or against it in this model. */
  readonly assumed: readonly string[];
  /** Every layout that the shapes allow, and what speaks against those that were not taken; empty with a custom postprocessor. */
  readonly candidates: readonly Candidate[];
}

export interface LoadedModel {
  readonly info: ModelInfo;
  readonly backend: Backend;
  /** Input, head and the family's IoU threshold; the rest of the suppression is set for each call. */
  readonly plan: LanePlan;
  readonly fallbackReason: string | undefined;
}

type Recognised = Pick<
  ModelInfo,
  'head' | 'family' | 'inputFormat' | 'labels' | 'evidence' | 'assumed' | 'candidates'
> & {
  readonly layout: LanePlan['head'];
  readonly iouThreshold: number | null;
};

/** A model that runs, and what it is tried with. */
interface Trial {
  readonly backend: Backend;
  readonly input: PictureInput;
  readonly metadata: Readonly<Record<string, string>>;
  readonly proof: ReturnType<typeof loadProofPictures>;
  readonly signal?: AbortSignal;
}

/** Starts a model on its device and finds out how it is fed and read. On failure nothing is left running. */
export async function loadModel(options: DetectorOptions, hasPostprocessor: boolean): Promise<LoadedModel> {
  const { signal, lanes, threads, maxQueue, workerFile } = options;
  const { device, fallbackReason } = selectDevice(options.device ?? 'auto');
  const { allowDownload, cacheFolder, onProgress } = options;
  const model = await resolveModel(options.model, { allowDownload, cacheFolder, onProgress, signal });
  const file = await readModelFile(model);
  const input = pictureInput(file.inputs);
  const wanted = inputSize(input, options.imageSize);
  if (options.rectangle && !isDeclaredOpen(input)) throw noRectangles(`its input is ${sidesOf(input)}`);
  signal?.throwIfAborted();
  // Decoded while the model is loaded. Whoever waits for it hears of its failure.
  const proof = loadProofPictures();
  proof.catch(() => {});
  // 'cpu' is the only device there is.
  const backend = await startBackend[device]({ model, lanes, threads, maxQueue, workerFile });
  const trial: Trial = { backend, input, metadata: file.properties, proof, signal };
  const known = model.isDefault
    ? { ...options, inputFormat: { ...DEFAULT_MODEL_FORMAT, ...options.inputFormat } }
    : options;
  try {
    const understand = (size: Size): Promise<Recognised> =>
      hasPostprocessor
        ? warmUp(trial, size, known)
        : recogniseOn(trial, modelSignature(file, input, size.width, size.height), known);
    let size = wanted;
    let found = await understand(size).catch(async (error: unknown) => {
      if (!isFailedRun(error) || (input.width !== undefined && input.height !== undefined)) throw error;
      const other = await sizeThatRuns(trial, size);
      if (other === undefined) throw error;
      if (options.imageSize !== undefined) throw wrongSize(size, other, error);
      size = other;
      return understand(other);
    });
    signal?.throwIfAborted();
    if (options.rectangle) found = await inRectangles(trial, size, found);
    const { layout, iouThreshold, ...understood } = found;
    const isPinned = size !== wanted || input.width !== undefined || input.height !== undefined;
    return {
      backend,
      fallbackReason,
      plan: planOf(size, input, understood.inputFormat, layout, iouThreshold),
      info: {
        name: model.name,
        path: model.path,
        isDefault: model.isDefault,
        inputs: backend.inputs,
        outputs: backend.outputs,
        inputWidth: size.width,
        inputHeight: size.height,
        isSizeOpen: isPinned ? false : options.rectangle ? true : undefined,
        batch: input.batch,
        metadata: file.properties,
        ...understood,
      },
    };
  } catch (error) {
    await backend.close();
    throw error;
  }
}

const startBackend = { cpu: createOnnxRuntimeBackend };

async function recogniseOn(
  { backend, input, proof, signal }: Trial,
  signature: ReturnType<typeof modelSignature>,
  options: DetectorOptions,
): Promise<Recognised> {
  const { upright, mirrored, isPhoto } = await proof;
  const { inputWidth: width, inputHeight: height } = signature;
  const recognition = await recogniseModel(
    signature,
    {
      picture: upright,
      head: options.head,
      inputFormat: options.inputFormat,
      labels: options.labels,
      anchors: anchorsOf(options.anchors),
    },
    async (format, isMirrored) => {
      const picture = { name: 'the proof photo', decode: async () => (isMirrored ? mirrored : upright) };
      const [result] = await backend.infer([picture], planOf({ width, height }, input, format, null, null), signal);
      return result!.outputs!;
    },
  );
  const { layout, family, format, iouThreshold, evidence, assumed, candidates } = recognition;
  return {
    layout,
    iouThreshold,
    head: layout.head,
    family: family.name,
    inputFormat: format,
    labels: labelsFor(layout.classCount, signature.metadata, options.labels),
    evidence,
    candidates,
    assumed: isPhoto ? assumed : [...assumed, 'the proof photo is not beside the library, so no boxes were compared'],
  };
}

function anchorsOf(anchors: DetectorOptions['anchors']): Anchors | undefined {
  return typeof anchors === 'string' ? ANCHOR_SETS[anchors] : anchors;
}

/** With a custom postprocessor nothing is recognised; the first run is made here all the same, so that a model that cannot run is an error of create(). */
async function warmUp(
  trial: Trial,
  size: Size,
  { inputFormat: given = {}, labels }: DetectorOptions,
): Promise<Recognised> {
  const inputFormat = plainFormat(trial.input, given);
  await runProof(trial, planOf(size, trial.input, inputFormat, null, null));
  return {
    layout: null,
    iouThreshold: null,
    head: null,
    family: null,
    inputFormat,
    labels: labels ?? labelsFromMetadata(trial.metadata) ?? [],
    evidence: [],
    candidates: [],
    assumed: ['channelOrder', 'divisor', 'letterbox']
      .filter((key) => !(key in given))
      .map((key) => `inputFormat.${key}, as YOLO exports have it`),
  };
}

/** As YOLO exports have it, but for what is given. */
function plainFormat({ layout, type }: PictureInput, given: InputFormatOptions = {}): InputFormat {
  const { letterbox, ...levels } = given;
  return {
    layout,
    type,
    channelOrder: 'rgb',
    divisor: type === 'uint8' ? 1 : 255,
    ...levels,
    letterbox: { placement: 'centre', ...letterbox },
  };
}

function planOf(
  { width, height }: Size,
  { sideInputs }: PictureInput,
  format: InputFormat,
  head: LanePlan['head'],
  iouThreshold: number | null,
): LanePlan {
  const { confidenceThreshold, classAgnostic, maxDetections } = DEFAULTS;
  const suppression = { confidenceThreshold, iouThreshold, classAgnostic, maxDetections };
  return { inputWidth: width, inputHeight: height, format, sideInputs, head, suppression };
}

/** The file's own size; where it leaves it open, the one asked for, else 640. */
function inputSize(input: PictureInput, asked: DetectorOptions['imageSize']): Size {
  const [width, height] = typeof asked === 'number' ? [asked, asked] : (asked ?? []);
  const size = {
    width: input.width ?? width ?? DEFAULTS.imageSize,
    height: input.height ?? height ?? DEFAULTS.imageSize,
  };
  if (asked !== undefined && (size.width !== width || size.height !== height))
    throw invalid(
      `The model takes ${sidesOf(input)} pixels only, but imageSize asks for ${width}×${height}; leave imageSize out`,
      { option: 'imageSize', value: asked },
    );
  return size;
}

function sidesOf({ width, height }: PictureInput): string {
  return `${width ?? 'any'}×${height ?? 'any'}`;
}

/** ONNX Runtime could not run the graph, as distinct from a model that ran and was not understood. */
function isFailedRun(error: unknown): boolean {
  return YoloError.is(error, 'ERR_YOLO_DEVICE') && error.phase === 'run';
}

/** The first size at which the model runs, where the file leaves it open and it did not run at `failed`. */
async function sizeThatRuns(trial: Trial, failed: Size): Promise<Size | undefined> {
  const { input, metadata } = trial;
  for (const size of otherSizes(failed, input, metadata)) {
    try {
      await runProof(trial, planOf(size, input, plainFormat(input), null, null));
      return size;
    } catch (error) {
      if (!isFailedRun(error)) throw error;
    }
  }
  return undefined;
}

/** The same, with a letterbox that leaves off the border, once a run at another size has shown that the model takes it. */
async function inRectangles(trial: Trial, size: Size, found: Recognised): Promise<Recognised> {
  const { inputFormat, layout } = found;
  if (inputFormat.letterbox.placement === 'stretch')
    throw noRectangles('its pictures are stretched over the whole input, without a border to leave off');
  const stride = strideOf(trial.metadata);
  const other = sizeBeside(size, stride);
  try {
    await runProof(trial, planOf(other, trial.input, inputFormat, layout, null));
  } catch (error) {
    if (!isFailedRun(error) && !YoloError.is(error, 'ERR_YOLO_SHAPE_MISMATCH')) throw error;
    throw noRectangles(
      `it runs at ${size.width}×${size.height} but not at ${other.width}×${other.height}, although its file leaves the size open`,
      error,
    );
  }
  return { ...found, inputFormat: { ...inputFormat, letterbox: { ...inputFormat.letterbox, stride } } };
}

async function runProof({ backend, proof, signal }: Trial, plan: LanePlan): Promise<void> {
  const { upright } = await proof;
  await backend.infer([{ name: 'the proof photo', decode: async () => upright }], plan, signal);
}

function wrongSize(asked: Size, other: Size, cause: unknown): YoloError {
  return new YoloError(
    'ERR_YOLO_INVALID_ARGUMENT',
    `The model does not run at the imageSize of ${asked.width}×${asked.height} pixels, although its file leaves the size open; ${other.width}×${other.height} works: set imageSize to [${other.width}, ${other.height}]`,
    {
      phase: 'validate',
      detail: { option: 'imageSize', value: [asked.width, asked.height], works: [other.width, other.height] },
      cause,
    },
  );
}

function noRectangles(reason: string, cause?: unknown): YoloError {
  return new YoloError(
    'ERR_YOLO_INVALID_ARGUMENT',
    `The model cannot be used with rectangle: ${reason}. Leave rectangle out, or export the model with open height and width`,
    { phase: 'validate', detail: { option: 'rectangle', value: true }, cause },
  );
}
