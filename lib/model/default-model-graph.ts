import { float16ToFloat32Array } from '../core/half.js';
import { YoloError } from '../errors.js';

/** One operator of a tfjs graph model. */
export interface GraphNode {
  readonly name: string;
  readonly op: string;
  /** Names of values: a node's name, or `name:1` for its second output. */
  readonly inputs: readonly string[];
  readonly attributes: Readonly<Record<string, GraphAttribute>>;
}

/** One weight: floats (stored as halves, widened here) or integers. */
export interface GraphConstant {
  readonly shape: readonly number[];
  readonly data: Float32Array | Int32Array;
}

/** A tfjs graph model in memory. */
export interface GraphModel {
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly constants: ReadonlyMap<string, GraphConstant>;
}

/** protobuf's JSON: 64-bit integers are strings of digits, byte strings are base64. */
interface GraphAttribute {
  readonly s?: string;
  readonly i?: string;
  readonly b?: boolean;
  readonly type?: string;
  readonly list?: { readonly s?: readonly string[]; readonly i?: readonly string[] };
  readonly shape?: { readonly dim?: readonly { readonly size: string }[] };
}

interface GraphFile {
  readonly modelTopology: {
    readonly node: readonly {
      readonly name: string;
      readonly op: string;
      readonly input?: readonly string[];
      readonly attr?: Readonly<Record<string, GraphAttribute>>;
    }[];
  };
  readonly weightsManifest: readonly {
    readonly weights: readonly {
      readonly name: string;
      readonly shape: readonly number[];
      readonly dtype: string;
      readonly quantization?: { readonly dtype: string };
    }[];
  }[];
}

/**
 * Reads a tfjs graph model: `topology` is its .json file, `weights` its .bin file.
 * Throws ERR_YOLO_MODEL_PARSE where a weight's type is not known or the two files do not fit each other.
 */
export function readGraphModel(topology: Uint8Array, weights: Uint8Array): GraphModel {
  const file = JSON.parse(new TextDecoder().decode(topology)) as GraphFile;
  const nodes = new Map<string, GraphNode>();
  for (const { name, op, input, attr } of file.modelTopology.node) {
    nodes.set(name, { name, op, inputs: input ?? [], attributes: attr ?? {} });
  }

  const constants = new Map<string, GraphConstant>();
  const view = new DataView(weights.buffer, weights.byteOffset, weights.byteLength);
  let offset = 0;
  for (const { name, shape, dtype, quantization } of file.weightsManifest.flatMap((group) => group.weights)) {
    const stored = quantization?.dtype ?? dtype;
    const read = READERS[stored];
    if (read === undefined)
      throw parseError(`Weight ${JSON.stringify(name)} is stored as ${stored}, which is not known`);
    const count = shape.reduce((product, size) => product * size, 1);
    if (offset + count * read.bytes > weights.byteLength) {
      throw parseError(
        `Weight ${JSON.stringify(name)} lies beyond the ${weights.byteLength} bytes of the weights file`,
      );
    }
    constants.set(name, { shape, data: read.read(view, offset, count) });
    offset += count * read.bytes;
  }
  if (offset !== weights.byteLength) {
    throw parseError(`The weights take ${offset} bytes but their file has ${weights.byteLength}`);
  }
  return { nodes, constants };
}

/** A text attribute, decoded; undefined where the node has none. */
export function textOf(node: GraphNode, attribute: string): string | undefined {
  const text = node.attributes[attribute]?.s;
  return text === undefined ? undefined : fromBase64(text);
}

/** A list of texts, decoded; empty where the node has none. */
export function textsOf(node: GraphNode, attribute: string): string[] {
  return (node.attributes[attribute]?.list?.s ?? []).map(fromBase64);
}

/** An integer attribute; 0, protobuf's default, where the node has none. */
export function intOf(node: GraphNode, attribute: string): number {
  return Number(node.attributes[attribute]?.i ?? 0);
}

/** A list of integers; empty where the node has none. */
export function intsOf(node: GraphNode, attribute: string): number[] {
  return (node.attributes[attribute]?.list?.i ?? []).map(Number);
}

export function flagOf(node: GraphNode, attribute: string): boolean {
  return node.attributes[attribute]?.b ?? false;
}

/** An element type such as DT_FLOAT; '' where the node has none. */
export function typeOf(node: GraphNode, attribute: string): string {
  return node.attributes[attribute]?.type ?? '';
}

/** The shape attribute of an input. */
export function shapeOf(node: GraphNode): number[] {
  return (node.attributes.shape?.shape?.dim ?? []).map(({ size }) => Number(size));
}

const READERS: Readonly<
  Record<
    string,
    { readonly bytes: number; readonly read: (view: DataView, offset: number, count: number) => GraphConstant['data'] }
  >
> = {
  float16: { bytes: 2, read: readHalves },
  float32: {
    bytes: 4,
    read: (view, offset, count) =>
      Float32Array.from({ length: count }, (_, i) => view.getFloat32(offset + 4 * i, true)),
  },
  int32: {
    bytes: 4,
    read: (view, offset, count) => Int32Array.from({ length: count }, (_, i) => view.getInt32(offset + 4 * i, true)),
  },
};

function readHalves(view: DataView, offset: number, count: number): Float32Array {
  const halves = new Uint16Array(count);
  for (let i = 0; i < count; i++) halves[i] = view.getUint16(offset + 2 * i, true);
  return float16ToFloat32Array(halves);
}

function fromBase64(text: string): string {
  return Buffer.from(text, 'base64').toString('latin1');
}

/** The error for an operator's use that the conversion does not know. */
export function notKnown(node: GraphNode, use: string): YoloError {
  return parseError(`Operator ${node.op} (node ${JSON.stringify(node.name)}) has ${use}, which is not known`, {
    node: node.name,
    op: node.op,
  });
}

export function parseError(message: string, detail: Record<string, unknown> = {}): YoloError {
  return new YoloError('ERR_YOLO_MODEL_PARSE', `${message}; is this the centernet model of @vladmandic/human 3.3.6?`, {
    phase: 'convert',
    detail,
  });
}
