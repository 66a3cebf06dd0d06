import { YoloError } from '../errors.js';
import type { TensorInfo, TensorType } from '../types.js';
import { KIND_BYTES, otherFileKind } from './file-kind.js';
import { type ByteSource, type Field, WireReader } from './wire-reader.js';

/** What an ONNX file says of itself, its weights and operators left out. */
export interface OnnxMetadata {
  /** The exporter, e.g. 'pytorch'; '' when the file does not say. */
  readonly producerName: string;
  readonly producerVersion: string;
  readonly irVersion: number;
  /** Version of each operator set by domain; '' is ONNX's own. */
  readonly opsets: Readonly<Record<string, number>>;
  /** The file's metadata_props, undecoded. */
  readonly properties: Readonly<Record<string, string>>;
  /** What a caller has to feed: graph inputs that are not weights, in the graph's order. */
  readonly inputs: readonly OnnxValueInfo[];
  readonly outputs: readonly OnnxValueInfo[];
}

/** As TensorInfo; `type` may also be one that no detector has, as ONNX names it ('string', 'complex64' …), or 'unknown'. */
export interface OnnxValueInfo extends Omit<TensorInfo, 'type'> {
  readonly type: TensorType | (string & {});
}

// Numbers of fields in onnx.proto.
const MODEL = { irVersion: 1, producerName: 2, producerVersion: 3, graph: 7, opsetImport: 8, metadataProps: 14 };
const OPSET = { domain: 1, version: 2 };
const ENTRY = { key: 1, value: 2 };
const GRAPH = { initializer: 5, input: 11, output: 12 };
const TENSOR = { name: 8 };
const VALUE_INFO = { name: 1, type: 2 };
const TYPE = { tensor: 1 };
const TENSOR_TYPE = { elementType: 1, shape: 2 };
const SHAPE = { dimension: 1 };
const DIMENSION = { value: 1, parameter: 2 };

// TensorProto.DataType
const ELEMENT_TYPES: readonly string[] = [
  ...['unknown', 'float32', 'uint8', 'int8', 'uint16', 'int16', 'int32', 'int64', 'string'],
  ...['bool', 'float16', 'float64', 'uint32', 'uint64', 'complex64', 'complex128', 'bfloat16'],
];

/**
 * Reads what an ONNX file says of itself; weights are skipped, not read.
 * @param name for messages: the file's path, or what its bytes are.
 * @throws ERR_YOLO_MODEL_PARSE for a file that is cut short, damaged or no ONNX model, with what it is where its first bytes tell.
 */
export async function readOnnxMetadata(source: ByteSource, name: string): Promise<OnnxMetadata> {
  const leading = await source.read(0, Math.min(KIND_BYTES, source.size));
  const kind = source.size === 0 ? 'empty' : otherFileKind(leading);
  if (kind !== undefined) throw notOnnx(name, `it is ${kind}`);
  try {
    return await readModel(new WireReader(source), source.size);
  } catch (error) {
    if (!YoloError.is(error, 'ERR_YOLO_MODEL_PARSE')) throw error;
    throw notOnnx(name, `${error.message} (it has ${source.size} bytes and begins with ${hex(leading)})`, error);
  }
}

async function readModel(reader: WireReader, size: number): Promise<OnnxMetadata> {
  let graph: { inputs: OnnxValueInfo[]; outputs: OnnxValueInfo[] } | undefined;
  let irVersion = 0;
  let producerName = '';
  let producerVersion = '';
  const opsets: Record<string, number> = {};
  // Without a prototype, so that no key of a file can be taken for an inherited one.
  const properties: Record<string, string> = Object.create(null);
  for await (const field of reader.fields(0, size)) {
    if (field.number === MODEL.irVersion) irVersion = field.value;
    else if (field.number === MODEL.producerName) producerName = await reader.string(field);
    else if (field.number === MODEL.producerVersion) producerVersion = await reader.string(field);
    else if (field.number === MODEL.graph) graph = await readGraph(reader, message(field));
    else if (field.number === MODEL.opsetImport) Object.assign(opsets, await readOpset(reader, message(field)));
    else if (field.number === MODEL.metadataProps) {
      const [key, value] = await readEntry(reader, message(field));
      properties[key] = value;
    }
  }
  if (graph === undefined || irVersion === 0)
    throw new YoloError('ERR_YOLO_MODEL_PARSE', `it has no ${graph === undefined ? 'graph' : 'IR version'}`);
  return { producerName, producerVersion, irVersion, opsets, properties, ...graph };
}

async function readGraph(
  reader: WireReader,
  graph: Field,
): Promise<{ inputs: OnnxValueInfo[]; outputs: OnnxValueInfo[] }> {
  const inputs: OnnxValueInfo[] = [];
  const outputs: OnnxValueInfo[] = [];
  // Files of IR version 3 and older list weights among the inputs too.
  const weights = new Set<string>();
  for await (const field of reader.fields(graph.start, graph.end)) {
    if (field.number === GRAPH.initializer) weights.add(await readTensorName(reader, message(field)));
    else if (field.number === GRAPH.input) inputs.push(await readValueInfo(reader, message(field)));
    else if (field.number === GRAPH.output) outputs.push(await readValueInfo(reader, message(field)));
  }
  return { inputs: inputs.filter((input) => !weights.has(input.name)), outputs };
}

async function readTensorName(reader: WireReader, tensor: Field): Promise<string> {
  for await (const field of reader.fields(tensor.start, tensor.end)) {
    if (field.number === TENSOR.name) return reader.string(field);
  }
  return '';
}

async function readOpset(reader: WireReader, opset: Field): Promise<Record<string, number>> {
  let domain = '';
  let version = 0;
  for await (const field of reader.fields(opset.start, opset.end)) {
    if (field.number === OPSET.domain) domain = await reader.string(field);
    else if (field.number === OPSET.version) version = field.value;
  }
  return { [domain]: version };
}

async function readEntry(reader: WireReader, entry: Field): Promise<[key: string, value: string]> {
  let key = '';
  let value = '';
  for await (const field of reader.fields(entry.start, entry.end)) {
    if (field.number === ENTRY.key) key = await reader.string(field);
    else if (field.number === ENTRY.value) value = await reader.string(field);
  }
  return [key, value];
}

async function readValueInfo(reader: WireReader, valueInfo: Field): Promise<OnnxValueInfo> {
  let name = '';
  let elementType = 0;
  const dims: (number | string)[] = [];
  for await (const field of reader.fields(valueInfo.start, valueInfo.end)) {
    if (field.number === VALUE_INFO.name) name = await reader.string(field);
    if (field.number !== VALUE_INFO.type) continue;
    for await (const type of reader.fields(message(field).start, field.end)) {
      if (type.number !== TYPE.tensor) continue;
      for await (const part of reader.fields(message(type).start, type.end)) {
        if (part.number === TENSOR_TYPE.elementType) elementType = part.value;
        else if (part.number === TENSOR_TYPE.shape) dims.push(...(await readShape(reader, message(part))));
      }
    }
  }
  return { name, type: ELEMENT_TYPES[elementType] ?? 'unknown', dims };
}

async function readShape(reader: WireReader, shape: Field): Promise<(number | string)[]> {
  const dims: (number | string)[] = [];
  for await (const field of reader.fields(shape.start, shape.end)) {
    if (field.number !== SHAPE.dimension) continue;
    let dim: number | string = -1;
    for await (const part of reader.fields(message(field).start, field.end)) {
      // A negative number, which some exporters write for an open dimension, is a varint near 2^64.
      if (part.number === DIMENSION.value) dim = part.value < 2 ** 53 ? part.value : -1;
      else if (part.number === DIMENSION.parameter) dim = (await reader.string(part)) || -1;
    }
    dims.push(dim);
  }
  return dims;
}

function message(field: Field): Field {
  if (field.wireType === 2) return field;
  throw new YoloError('ERR_YOLO_MODEL_PARSE', `at byte ${field.start}: field ${field.number} is no message`);
}

function notOnnx(name: string, seen: string, cause?: YoloError): YoloError {
  return new YoloError(
    'ERR_YOLO_MODEL_PARSE',
    `${name} is no ONNX model that can be read: ${seen}. Export the model to ONNX again, or copy the file again.`,
    { phase: 'parse', detail: { name, ...cause?.detail }, cause },
  );
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
}
