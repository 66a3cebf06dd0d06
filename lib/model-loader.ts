import { ANCHOR_SETS } from './core/heads/anchor-maps.js';
import type { Anchors } from './core/heads/head.js';
import { type Candidate, recogniseModel } from './core/heads/recognise.js';
import type { InputFormat } from './core/input-format.js';
import { labelsFor, labelsFromMetadata } from './labels.js';
import { DEFAULT_MODEL_FORMAT } from './model/default-model.js';
import { modelSignature, type PictureInput, pictureInput, readModelFile } from './model/signature.js';
import { resolveModel } from './model/source.js';
import { DEFAULTS, type DetectorOptions } from './options.js';
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

/** Starts a model on its device and finds out how it is fed and read. On failure nothing is left running. */
export async function loadModel(options: DetectorOptions, hasPostprocessor: boolean): Promise<LoadedModel> {
  const { signal, lanes, threads, maxQueue, workerFile } = options;
  const { device, fallbackReason } = selectDevice(options.device ?? 'auto');
  const { allowDownload, cacheFolder, onProgress } = options;
  const model = await resolveModel(options.model, { allowDownload, cacheFolder, onProgress, signal });
  const file = await readModelFile(model);
  const input = pictureInput(file.inputs);
  const size = inputSize(input, options.imageSize);
  signal?.throwIfAborted();
  // 'cpu' is the only device there is.
  const backend = await startBackend[device]({ model, lanes, threads, maxQueue, workerFile });
  const known = model.isDefault ? { ...DEFAULT_MODEL_FORMAT, ...options.inputFormat } : options.inputFormat;
  try {
    const signature = modelSignature(file, input, size.width, size.height);
    const found = hasPostprocessor
      ? await warmUp(backend, input, size, { ...options, inputFormat: known }, file.properties)
      : await recogniseOn(backend, input, signature, { ...options, inputFormat: known });
    signal?.throwIfAborted();
    const { layout, iouThreshold, ...understood } = found;
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
  backend: Backend,
  input: PictureInput,
  signature: ReturnType<typeof modelSignature>,
  options: DetectorOptions,
): Promise<Recognised> {
  const { upright, mirrored, isPhoto } = await loadProofPictures();
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
      const [result] = await backend.infer(
        [picture],
        planOf({ width, height }, input, format, null, null),
        options.signal,
      );
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
  backend: Backend,
  input: PictureInput,
  size: Size,
  { inputFormat: given = {}, labels, signal }: DetectorOptions,
  metadata: Readonly<Record<string, string>>,
): Promise<Recognised> {
  const { letterbox, ...levels } = given;
  const { layout, type } = input;
  const inputFormat: InputFormat = {
    layout,
    type,
    channelOrder: 'rgb',
    divisor: type === 'uint8' ? 1 : 255,
    ...levels,
    letterbox: { placement: 'centre', ...letterbox },
  };
  const { upright } = await loadProofPictures();
  await backend.infer(
    [{ name: 'the proof photo', decode: async () => upright }],
    planOf(size, input, inputFormat, null, null),
    signal,
  );
  return {
    layout: null,
    iouThreshold: null,
    head: null,
    family: null,
    inputFormat,
    labels: labels ?? labelsFromMetadata(metadata) ?? [],
    evidence: [],
    candidates: [],
    assumed: ['channelOrder', 'divisor', 'letterbox']
      .filter((key) => !(key in given))
      .map((key) => `inputFormat.${key}, as YOLO exports have it`),
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

interface Size {
  readonly width: number;
  readonly height: number;
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
      `The model takes ${input.width ?? 'any'}×${input.height ?? 'any'} pixels only, but imageSize asks for ${width}×${height}; leave imageSize out`,
      { option: 'imageSize', value: asked },
    );
  return size;
}
