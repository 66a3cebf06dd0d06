import { open } from 'node:fs/promises';
import type { ModelSignature } from '../core/heads/head.js';
import type { InputFormat } from '../core/input-format.js';
import { YoloError } from '../errors.js';
import { labelsFromMetadata } from '../labels.js';
import { type OnnxMetadata, type OnnxValueInfo, readOnnxMetadata } from '../onnx/metadata.js';
import type { ByteSource } from '../onnx/wire-reader.js';

/** The input that takes pictures. A size that the file leaves open is undefined, an open batch 'dynamic'. */
export interface PictureInput {
  readonly name: string;
  readonly layout: InputFormat['layout'];
  readonly type: InputFormat['type'];
  /** In pixels. */
  readonly width?: number;
  readonly height?: number;
  readonly batch: number | 'dynamic';
  /** Inputs beside it that tell the model of sizes. */
  readonly sideInputs: readonly SideInput[];
}

/**
 * An input [N, 2] beside the picture, fed so that boxes come out in input pixels: as if the input were the picture.
 * 'ones': 1, 1; 'width-height' and 'height-width': the input's own size.
 */
export interface SideInput {
  readonly name: string;
  readonly type: 'float32' | 'int32' | 'int64';
  readonly holds: 'ones' | 'width-height' | 'height-width';
}

/** By the names that exporters give them. */
const SIDE_INPUTS: Readonly<Record<string, SideInput['holds']>> = {
  // DETR and its kin.
  orig_target_sizes: 'width-height',
  // PaddleDetection.
  scale_factor: 'ones',
  im_shape: 'height-width',
};

/** A model's file on disk, or its bytes; exactly one of them. `name` is for messages. */
export interface ModelFile {
  readonly name: string;
  readonly path?: string;
  readonly bytes?: Uint8Array;
}

/**
 * What an ONNX file says of itself. Of a file on disk only what surrounds the weights is read.
 * @throws ERR_YOLO_MODEL_NOT_FOUND when the file cannot be opened, ERR_YOLO_MODEL_PARSE when it is no ONNX model.
 */
export async function readModelFile({ name, path, bytes }: ModelFile): Promise<OnnxMetadata> {
  if (path === undefined) return readOnnxMetadata(bytesSource(bytes ?? new Uint8Array()), name);
  const file = await open(path, 'r').catch((cause: Error) => {
    throw new YoloError(
      'ERR_YOLO_MODEL_NOT_FOUND',
      `The model ${path} cannot be opened: ${cause.message}. Check the path and its permissions.`,
      {
        phase: 'load',
        detail: { path },
        cause,
      },
    );
  });
  try {
    const { size } = await file.stat();
    const source: ByteSource = {
      size,
      async read(offset, length) {
        const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, offset);
        return buffer.subarray(0, bytesRead);
      },
    };
    return await readOnnxMetadata(source, path);
  } finally {
    await file.close();
  }
}

function bytesSource(bytes: Uint8Array): ByteSource {
  return { size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) };
}

/**
 * The one input that takes pictures: rank 4, three channels, float32, float16 or uint8.
 * @throws ERR_YOLO_HEAD_UNKNOWN when there is none, or another input has to be fed too that is not known.
 */
export function pictureInput(inputs: readonly OnnxValueInfo[]): PictureInput {
  const sideInputs = inputs.flatMap((input) => asSideInput(input) ?? []);
  const others = inputs.filter(({ name }) => sideInputs.every((side) => side.name !== name));
  const pictures = others.flatMap((input) => asPicture(input) ?? []);
  const unknown = others.filter(({ name }) => name !== pictures[0]?.name);
  if (pictures.length === 1 && unknown.length === 0) return { ...pictures[0]!, sideInputs };
  const seen = inputs.map(show).join('; ') || 'none';
  const what =
    pictures.length === 0
      ? 'No input of the model takes a picture (rank 4, three channels, float32, float16 or uint8)'
      : `The model needs more than a picture: ${unknown.map(({ name }) => name).join(', ')}`;
  throw new YoloError(
    'ERR_YOLO_HEAD_UNKNOWN',
    `${what}. Its inputs: ${seen}. Export the model with a picture as its only input (besides it ${Object.keys(SIDE_INPUTS).join(', ')} are known).`,
    {
      phase: 'recognise',
      detail: { inputs },
    },
  );
}

function asPicture({ name, type, dims }: OnnxValueInfo): Omit<PictureInput, 'sideInputs'> | undefined {
  const layout = pictureLayout(dims);
  if (layout === undefined || !isPictureType(type)) return undefined;
  const [batch, height, width] = layout === 'nchw' ? [dims[0], dims[2], dims[3]] : dims;
  return { name, layout, type, width: fixed(width), height: fixed(height), batch: fixed(batch) ?? 'dynamic' };
}

function asSideInput({ name, type, dims }: OnnxValueInfo): SideInput | undefined {
  const holds = Object.hasOwn(SIDE_INPUTS, name) ? SIDE_INPUTS[name] : undefined;
  if (holds === undefined || dims.length !== 2 || dims[1] !== 2) return undefined;
  return isSideType(type) ? { name, type, holds } : undefined;
}

function isSideType(type: string): type is SideInput['type'] {
  return type === 'float32' || type === 'int32' || type === 'int64';
}

function pictureLayout(dims: OnnxValueInfo['dims']): PictureInput['layout'] | undefined {
  if (dims.length !== 4) return undefined;
  if (dims[1] === 3) return 'nchw';
  if (dims[3] === 3) return 'nhwc';
  // With every size left open, the order of almost all exporters.
  return fixed(dims[1]) === undefined && fixed(dims[3]) === undefined ? 'nchw' : undefined;
}

function isPictureType(type: string): type is PictureInput['type'] {
  return type === 'float32' || type === 'float16' || type === 'uint8';
}

function fixed(dim: number | string): number | undefined {
  return typeof dim === 'number' && dim > 0 ? dim : undefined;
}

function show({ name, type, dims }: OnnxValueInfo): string {
  return `${name} ${type} [${dims.map((dim) => (dim === -1 ? '?' : dim)).join(', ')}]`;
}

/**
 * All that is known of a model before it has run.
 * @param inputWidth and
 * @param inputHeight size that pictures are laid into, in pixels.
 */
export function modelSignature(
  file: OnnxMetadata,
  input: PictureInput,
  inputWidth: number,
  inputHeight: number,
): Omit<ModelSignature, 'outputs'> {
  return {
    inputs: file.inputs,
    metadata: file.properties,
    labels: labelsFromMetadata(file.properties),
    inputWidth,
    inputHeight,
    inputLayout: input.layout,
    inputType: input.type,
  };
}
