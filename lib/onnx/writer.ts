import { YoloError } from '../errors.js';
import type { TensorInfo, TensorType } from '../types.js';

/** A tensor stored in the file. */
export interface OnnxTensor {
  readonly name: string;
  readonly type: TensorType;
  readonly dims: readonly number[];
  /** Row-major and little-endian, as ONNX's `raw_data`; not copied before encodeOnnx() returns. */
  readonly data: Uint8Array;
}

/** One attribute value. The key says the ONNX type, because a JavaScript number does not tell an int from a float; bigint is for what exceeds 2^53. */
export type OnnxAttribute =
  | { readonly int: number | bigint }
  | { readonly ints: readonly (number | bigint)[] }
  | { readonly float: number }
  | { readonly floats: readonly number[] }
  | { readonly string: string }
  | { readonly strings: readonly string[] }
  | { readonly tensor: OnnxTensor }
  | { readonly graph: OnnxGraph };

export interface OnnxNode {
  readonly op: string;
  /** Defaults to '' (the ONNX operators). */
  readonly domain?: string;
  readonly name?: string;
  /** Value names; '' is an optional input that is left out. */
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
}

export interface OnnxGraph {
  readonly name: string;
  /** In an order in which every value is made before it is used. */
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly TensorInfo[];
  readonly outputs: readonly TensorInfo[];
  readonly initializers: readonly OnnxTensor[];
  /** Types and shapes of values in between. Defaults to none. */
  readonly values?: readonly TensorInfo[];
}

export interface OnnxModel {
  readonly graph: OnnxGraph;
  /** Version of each operator set by domain; '' holds the ONNX operators. */
  readonly opsets: Readonly<Record<string, number>>;
  /** Version of the file format. Defaults to 8 (ONNX 1.10), which every runtime of the last years reads. */
  readonly irVersion?: number;
  readonly producer?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

const ELEMENT_TYPE: Readonly<Record<TensorType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
};

const BYTES_PER_ELEMENT: Readonly<Record<TensorType, number>> = {
  float32: 4,
  uint8: 1,
  int8: 1,
  int32: 4,
  int64: 8,
  bool: 1,
  float16: 2,
  float64: 8,
};

/** The number that ONNX gives an element type, as Cast's attribute `to` takes it. */
export function onnxElementType(type: TensorType): number {
  return ELEMENT_TYPE[type];
}

/**
 * The bytes of an ONNX file. Equal models give equal bytes.
 * Throws ERR_YOLO_INTERNAL where a tensor's data do not fill its shape.
 */
export function encodeOnnx(model: OnnxModel): Uint8Array {
  const message = new Message().int(1, model.irVersion ?? 8);
  if (model.producer !== undefined) message.text(2, model.producer);
  message.message(7, graphMessage(model.graph));
  for (const [domain, version] of Object.entries(model.opsets)) {
    message.message(8, new Message().text(1, domain).int(2, version));
  }
  for (const [key, value] of Object.entries(model.metadata ?? {})) {
    message.message(14, new Message().text(1, key).text(2, value));
  }
  return message.toBytes();
}

function graphMessage(graph: OnnxGraph): Message {
  const message = new Message();
  for (const node of graph.nodes) message.message(1, nodeMessage(node));
  message.text(2, graph.name);
  for (const tensor of graph.initializers) message.message(5, tensorMessage(tensor));
  for (const info of graph.inputs) message.message(11, valueMessage(info));
  for (const info of graph.outputs) message.message(12, valueMessage(info));
  for (const info of graph.values ?? []) message.message(13, valueMessage(info));
  return message;
}

function nodeMessage(node: OnnxNode): Message {
  const message = new Message();
  for (const name of node.inputs) message.text(1, name);
  for (const name of node.outputs) message.text(2, name);
  if (node.name !== undefined) message.text(3, node.name);
  message.text(4, node.op);
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    message.message(5, attributeMessage(name, value));
  }
  if (node.domain !== undefined) message.text(7, node.domain);
  return message;
}

function attributeMessage(name: string, value: OnnxAttribute): Message {
  const message = new Message().text(1, name);
  const type = (number: number) => message.int(20, number);
  if ('float' in value) return type(1).float(2, value.float);
  if ('int' in value) return type(2).int(3, value.int);
  if ('string' in value) return type(3).text(4, value.string);
  if ('tensor' in value) return type(4).message(5, tensorMessage(value.tensor));
  if ('graph' in value) return type(5).message(6, graphMessage(value.graph));
  if ('floats' in value) {
    for (const number of value.floats) message.float(7, number);
    return type(6);
  }
  if ('ints' in value) {
    for (const number of value.ints) message.int(8, number);
    return type(7);
  }
  for (const text of value.strings) message.text(9, text);
  return type(8);
}

function tensorMessage(tensor: OnnxTensor): Message {
  const { name, type, dims, data } = tensor;
  const expected = dims.reduce((product, size) => product * size, BYTES_PER_ELEMENT[type]);
  if (data.byteLength !== expected) {
    throw new YoloError(
      'ERR_YOLO_INTERNAL',
      `Tensor ${JSON.stringify(name)} of ${type} [${dims.join(', ')}] needs ${expected} bytes but has ${data.byteLength}`,
      { phase: 'convert', detail: { name, type, dims, bytes: data.byteLength } },
    );
  }
  const message = new Message();
  for (const size of dims) message.int(1, size);
  return message.int(2, ELEMENT_TYPE[type]).text(8, name).bytes(9, data);
}

function valueMessage(info: TensorInfo): Message {
  const shape = new Message();
  for (const size of info.dims) {
    const dimension = new Message();
    // A dimension with neither a value nor a name is how ONNX says "open".
    if (typeof size === 'string') dimension.text(2, size);
    else if (size >= 0) dimension.int(1, size);
    shape.message(1, dimension);
  }
  const tensorType = new Message().int(1, ELEMENT_TYPE[info.type]).message(2, shape);
  return new Message().text(1, info.name).message(2, new Message().message(1, tensorType));
}

const WIRE_VARINT = 0;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

const utf8 = new TextEncoder();

/** A protobuf message in the making: a list of chunks, so that weights are copied once, into the finished file. */
class Message {
  readonly #chunks: Uint8Array[] = [];
  #byteLength = 0;

  int(field: number, value: number | bigint): this {
    this.#varint(field * 8 + WIRE_VARINT);
    return this.#varint(value);
  }

  float(field: number, value: number): this {
    this.#varint(field * 8 + WIRE_FIXED32);
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#add(bytes);
  }

  text(field: number, value: string): this {
    return this.bytes(field, utf8.encode(value));
  }

  bytes(field: number, value: Uint8Array): this {
    this.#varint(field * 8 + WIRE_BYTES);
    this.#varint(value.byteLength);
    return this.#add(value);
  }

  message(field: number, value: Message): this {
    this.#varint(field * 8 + WIRE_BYTES);
    this.#varint(value.#byteLength);
    for (const chunk of value.#chunks) this.#chunks.push(chunk);
    this.#byteLength += value.#byteLength;
    return this;
  }

  toBytes(): Uint8Array {
    const bytes = new Uint8Array(this.#byteLength);
    let offset = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, offset);
      offset += chunk.byteLength;
    }
    return bytes;
  }

  #varint(value: number | bigint): this {
    // protobuf writes a negative int64 as its two's complement in ten bytes; bigint, for int64 exceeds 2^53.
    let rest = value < 0 ? BigInt.asUintN(64, BigInt(value)) : BigInt(value);
    const bytes: number[] = [];
    while (rest > 0x7fn) {
      bytes.push(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    bytes.push(Number(rest));
    return this.#add(Uint8Array.from(bytes));
  }

  #add(chunk: Uint8Array): this {
    this.#chunks.push(chunk);
    this.#byteLength += chunk.byteLength;
    return this;
  }
}
