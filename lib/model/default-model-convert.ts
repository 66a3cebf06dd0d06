import { encodeOnnx, type OnnxAttribute, type OnnxNode, type OnnxTensor } from '../onnx/writer.js';
import type { TensorInfo, TensorType } from '../types.js';
import {
  type GraphConstant,
  type GraphModel,
  type GraphNode,
  notKnown,
  parseError,
  shapeOf,
} from './default-model-graph.js';
import { OPERATORS } from './default-model-operators.js';

/** The oldest that has every operator in the form used here, so that older runtimes load the file too. */
const OPSET = 13;

/**
 * Converts a tfjs graph model of one input and one output to the bytes of an ONNX file, operator by operator.
 * The graph stays as it is but for what its layouts need: pictures are planes ([n, c, h, w]) from the first convolution to the
 * last, where TensorFlow interleaves channels ([n, h, w, c]); a transpose stands only where an operator depends on the order.
 * Weights become float32, twice the bytes of the halves in the graph's file: a quantiser and a compiler then find them as they
 * are, where halves would stand behind a Cast each, and a session loads in two thirds of the time (33 ms against 51).
 *
 * `input` and `output` pair the graph's name with the file's. Operators that do not lead to the output are left out.
 * Throws ERR_YOLO_MODEL_PARSE naming the node where an operator, or a use of one, is not known.
 */
export function convertGraphModel(
  graph: GraphModel,
  options: {
    readonly input: readonly [inGraph: string, inFile: string];
    readonly output: readonly [inGraph: string, inFile: string];
    readonly name: string;
    readonly metadata: Readonly<Record<string, string>>;
  },
): Uint8Array {
  const conversion = new Conversion(graph, options.input);
  const result = conversion.plain(conversion.value(options.output[0]));
  const [, output] = options.output;
  conversion.nodes.push({ op: 'Identity', name: output, inputs: [result.name], outputs: [output] });
  return encodeOnnx({
    producer: 'migraphx-yolo',
    opsets: { '': OPSET },
    metadata: options.metadata,
    graph: {
      name: options.name,
      nodes: conversion.nodes,
      inputs: conversion.inputs,
      outputs: [{ name: output, type: result.type, dims: result.shape }],
      initializers: conversion.initializers,
    },
  });
}

/** A value of the ONNX graph, known by what it is in the tfjs graph. */
export interface Value {
  readonly name: string;
  /** In the tfjs graph's order, [n, h, w, c] for pictures. */
  readonly shape: readonly number[];
  readonly type: TensorType;
  /** Stored as [n, c, h, w]; only values of four dimensions are. */
  readonly planar: boolean;
}

/** A conversion under way: the ONNX graph so far, and the way from a name to its value. */
export class Conversion {
  readonly nodes: OnnxNode[] = [];
  readonly inputs: TensorInfo[] = [];
  readonly initializers: OnnxTensor[] = [];
  readonly #graph: GraphModel;
  readonly #input: readonly [string, string];
  readonly #values = new Map<string, Value[]>();
  readonly #reordered = new Map<string, Value>();

  constructor(graph: GraphModel, input: readonly [string, string]) {
    this.#graph = graph;
    this.#input = input;
  }

  /** The value that `reference` (`name`, or `name:1`) stands for; converts what it needs first. */
  value(reference: string): Value {
    const [name, index] = reference.split(':') as [string, string?];
    let values = this.#values.get(name);
    if (values === undefined) {
      values = this.#convert(name);
      this.#values.set(name, values);
    }
    return values[Number(index ?? 0)]!;
  }

  /** The node's input number `index`, as it happens to be stored. */
  input(node: GraphNode, index: number): Value {
    return this.value(this.#reference(node, index));
  }

  /** The weights behind the node's input number `index`. */
  constant(node: GraphNode, index: number): GraphConstant {
    const constant = this.#graph.constants.get(this.#reference(node, index));
    if (constant === undefined) throw notKnown(node, `an input number ${index} that is not a constant`);
    return constant;
  }

  /** The numbers of a constant input. */
  numbers(node: GraphNode, index: number): number[] {
    return Array.from(this.constant(node, index).data);
  }

  /** The picture stored as [n, c, h, w]. */
  planar(value: Value): Value {
    return value.planar ? value : this.#reorder(value, [0, 3, 1, 2]);
  }

  /** The value stored in the tfjs graph's order. */
  plain(value: Value): Value {
    return value.planar ? this.#reorder(value, [0, 2, 3, 1]) : value;
  }

  /** Adds a node with one output that is named as the tfjs node is. */
  emit(
    node: GraphNode,
    op: string,
    inputs: readonly string[],
    value: Omit<Value, 'name'>,
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
    name = node.name,
  ): Value {
    this.nodes.push({ op, name, inputs, outputs: [name], attributes });
    return { ...value, name };
  }

  floats(name: string, dims: readonly number[], data: Float32Array): string {
    this.initializers.push({ name, type: 'float32', dims, data: bytesOf(data) });
    return name;
  }

  /** A number that many nodes share. */
  scalar(number: number): string {
    const name = `scalar/${number}`;
    return this.initializers.some((tensor) => tensor.name === name)
      ? name
      : this.floats(name, [], Float32Array.of(number));
  }

  /** The integers of the graph are int64, as ONNX's indices and shapes are. */
  integers(name: string, dims: readonly number[], data: readonly number[]): string {
    this.initializers.push({ name, type: 'int64', dims, data: bytesOf(BigInt64Array.from(data, BigInt)) });
    return name;
  }

  addInput(node: GraphNode): Value {
    const [expected, name] = this.#input;
    if (node.name !== expected) throw notKnown(node, 'an input of the graph that was not asked for');
    const shape = shapeOf(node);
    this.inputs.push({ name, type: 'float32', dims: shape });
    return { name, shape, type: 'float32', planar: false };
  }

  #reference(node: GraphNode, index: number): string {
    const reference = node.inputs[index];
    if (reference === undefined) throw notKnown(node, `${node.inputs.length} inputs`);
    return reference;
  }

  #convert(name: string): Value[] {
    const constant = this.#graph.constants.get(name);
    if (constant !== undefined) return [this.#addConstant(name, constant)];
    const node = this.#graph.nodes.get(name);
    if (node === undefined) throw parseError(`The graph has no node ${JSON.stringify(name)}`);
    const operator = OPERATORS[node.op];
    if (operator === undefined) {
      throw parseError(
        `Operator ${node.op} (node ${JSON.stringify(name)}) is not known; known are ${Object.keys(OPERATORS).join(', ')}`,
        { node: name, op: node.op },
      );
    }
    return operator(node, this);
  }

  #addConstant(name: string, { shape, data }: GraphConstant): Value {
    if (data instanceof Float32Array) {
      return { name: this.floats(name, shape, data), shape, type: 'float32', planar: false };
    }
    return { name: this.integers(name, shape, Array.from(data)), shape, type: 'int64', planar: false };
  }

  #reorder(value: Value, order: readonly number[]): Value {
    let reordered = this.#reordered.get(value.name);
    if (reordered === undefined) {
      const name = `${value.name}/${value.planar ? 'interleaved' : 'planar'}`;
      this.nodes.push({
        op: 'Transpose',
        name,
        inputs: [value.name],
        outputs: [name],
        attributes: { perm: { ints: order } },
      });
      reordered = { ...value, name, planar: !value.planar };
      this.#reordered.set(value.name, reordered);
    }
    return reordered;
  }
}

function bytesOf(data: Float32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
