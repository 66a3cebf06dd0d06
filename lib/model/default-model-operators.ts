import { onnxElementType } from '../onnx/writer.js';
import type { TensorType } from '../types.js';
import type { Conversion, Value } from './default-model-convert.js';
import {
  flagOf,
  type GraphConstant,
  type GraphNode,
  intOf,
  intsOf,
  notKnown,
  textOf,
  textsOf,
  typeOf,
} from './default-model-graph.js';

/** Converts one node and gives its outputs, in order. */
type Operator = (node: GraphNode, conversion: Conversion) => Value[];

/** The operators that are known, by their names in TensorFlow. */
export const OPERATORS: Readonly<Record<string, Operator>> = {
  Placeholder: (node, c) => [c.addInput(node)],
  Identity: (node, c) => [c.input(node, 0)],

  Conv2D: (node, c) => [convolution(node, c, false)],
  _FusedConv2D: (node, c) => [convolution(node, c, false)],
  DepthwiseConv2dNative: (node, c) => [convolution(node, c, true)],
  FusedDepthwiseConv2dNative: (node, c) => [convolution(node, c, true)],

  MaxPool: (node, c) => {
    const window = onImage(node, 'ksize');
    const x = c.planar(c.input(node, 0));
    const { sizes, pads, strides } = slide(node, x, window);
    return [
      c.emit(
        node,
        'MaxPool',
        [x.name],
        { ...x, shape: [x.shape[0]!, ...sizes, x.shape[3]!] },
        { kernel_shape: { ints: window }, strides: { ints: strides }, pads: { ints: pads } },
      ),
    ];
  },

  ResizeBilinear: (node, c) => {
    if (flagOf(node, 'align_corners') || flagOf(node, 'half_pixel_centers'))
      throw notKnown(node, 'aligned corners or half pixels');
    const x = c.planar(c.input(node, 0));
    const [n, h, w, channels] = x.shape as [number, number, number, number];
    const [toH, toW] = c.numbers(node, 1) as [number, number];
    const scales = c.floats(`${node.name}/scales`, [4], Float32Array.of(1, 1, toH / h, toW / w));
    return [
      c.emit(
        node,
        'Resize',
        [x.name, '', scales],
        { ...x, shape: [n, toH, toW, channels] },
        { mode: { string: 'linear' }, coordinate_transformation_mode: { string: 'asymmetric' } },
      ),
    ];
  },

  Mean: (node, c) => {
    if (c.numbers(node, 1).join() !== '1,2' || !flagOf(node, 'keep_dims')) {
      throw notKnown(node, 'other axes than the image, or without keeping them');
    }
    const x = c.planar(c.input(node, 0));
    // Not GlobalAveragePool, which adds up in another order: that alone moves boxes by up to 0.004 pixels, at the same speed.
    const attributes = { axes: { ints: [2, 3] }, keepdims: { int: 1 } };
    return [c.emit(node, 'ReduceMean', [x.name], { ...x, shape: [x.shape[0]!, 1, 1, x.shape[3]!] }, attributes)];
  },

  Relu: (node, c) => [activate(node, c, 'Relu', c.input(node, 0))],
  Relu6: (node, c) => [activate(node, c, 'Relu6', c.input(node, 0))],
  Sigmoid: (node, c) => [activate(node, c, 'Sigmoid', c.input(node, 0))],

  Add: (node, c) => [binary(node, c, 'Add')],
  Sub: (node, c) => [binary(node, c, 'Sub')],
  Mul: (node, c) => [binary(node, c, 'Mul')],
  // Both divide positions in the heat map, never negative, where ONNX's Div (toward zero) is a floor as well.
  FloorDiv: (node, c) => [binary(node, c, 'Div')],
  FloorMod: (node, c) => [binary(node, c, 'Mod')],
  Equal: (node, c) => [binary(node, c, 'Equal', 'bool')],

  Cast: (node, c) => {
    if (typeOf(node, 'DstT') !== 'DT_FLOAT') throw notKnown(node, `a cast to ${typeOf(node, 'DstT')}`);
    const x = c.input(node, 0);
    return [c.emit(node, 'Cast', [x.name], { ...x, type: 'float32' }, { to: { int: onnxElementType('float32') } })];
  },

  ConcatV2: (node, c) => {
    const count = node.inputs.length - 1;
    const parts = Array.from({ length: count }, (_, i) => c.input(node, i));
    const planar = parts.some((part) => part.planar);
    const inputs = parts.map((part) => (planar ? c.planar(part) : part));
    const first = inputs[0]!;
    const axis = axisOf(c.numbers(node, count)[0]!, first.shape.length);
    const shape = first.shape.map((size, i) => (i === axis ? sum(inputs.map((part) => part.shape[i]!)) : size));
    const stored = planar ? PLANAR_AXIS[axis]! : axis;
    return [
      c.emit(
        node,
        'Concat',
        inputs.map(({ name }) => name),
        { ...first, shape },
        { axis: { int: stored } },
      ),
    ];
  },

  Reshape: (node, c) => {
    const x = c.plain(c.input(node, 0));
    const wanted = c.numbers(node, 1);
    const known = wanted.reduce((product, size) => (size < 0 ? product : product * size), 1);
    const shape = wanted.map((size) => (size < 0 ? elements(x) / known : size));
    const dims = c.integers(`${node.name}/shape`, [shape.length], shape);
    return [c.emit(node, 'Reshape', [x.name, dims], { ...x, shape })];
  },

  ExpandDims: (node, c) => {
    const x = c.plain(c.input(node, 0));
    const axis = axisOf(c.numbers(node, 1)[0]!, x.shape.length + 1);
    const axes = c.integers(`${node.name}/axes`, [1], [axis]);
    return [c.emit(node, 'Unsqueeze', [x.name, axes], { ...x, shape: x.shape.toSpliced(axis, 0, 1) })];
  },

  TopKV2: (node, c) => {
    const x = c.plain(c.input(node, 0));
    const count = c.numbers(node, 1)[0]!;
    const k = c.integers(`${node.name}/k`, [1], [count]);
    const shape = x.shape.with(-1, count);
    const values = { ...x, name: node.name, shape };
    const indices: Value = { ...values, name: `${node.name}:1`, type: 'int64' };
    c.nodes.push({
      op: 'TopK',
      name: node.name,
      inputs: [x.name, k],
      outputs: [values.name, indices.name],
      attributes: { axis: { int: -1 }, largest: { int: 1 }, sorted: { int: 1 } },
    });
    return [values, indices];
  },

  GatherV2: (node, c) => {
    const x = c.plain(c.input(node, 0));
    const indices = c.plain(c.input(node, 1));
    const axis = axisOf(c.numbers(node, 2)[0]!, x.shape.length);
    if (intOf(node, 'batch_dims') !== 0) throw notKnown(node, 'batch dimensions');
    const shape = x.shape.toSpliced(axis, 1, ...indices.shape);
    return [c.emit(node, 'Gather', [x.name, indices.name], { ...x, shape }, { axis: { int: axis } })];
  },

  StridedSlice: (node, c) => {
    for (const mask of ['ellipsis_mask', 'new_axis_mask', 'shrink_axis_mask']) {
      if (intOf(node, mask) !== 0) throw notKnown(node, `a ${mask}`);
    }
    const x = c.plain(c.input(node, 0));
    const bound = (index: number, mask: string, open: (size: number) => number) =>
      c.numbers(node, index).map((at, i) => {
        const size = x.shape[i]!;
        return (intOf(node, mask) >> i) & 1 ? open(size) : Math.min(at < 0 ? at + size : at, size);
      });
    const starts = bound(1, 'begin_mask', () => 0);
    const ends = bound(2, 'end_mask', (size) => size);
    if (c.numbers(node, 3).some((step) => step !== 1)) throw notKnown(node, 'steps other than 1');
    const axes = starts.map((_, i) => i);
    const shape = x.shape.map((size, i) => (i < starts.length ? ends[i]! - starts[i]! : size));
    const inputs = Object.entries({ starts, ends, axes }).map(([name, data]) =>
      c.integers(`${node.name}/${name}`, [data.length], data),
    );
    return [c.emit(node, 'Slice', [x.name, ...inputs], { ...x, shape })];
  },
};

/** Where an axis of [n, h, w, c] lies in [n, c, h, w]. */
const PLANAR_AXIS = [0, 2, 3, 1];

/**
 * ```
 *   tfjs weights            [kh, kw, in, out]     depthwise  [kh, kw, in, multiplier]
 *   ONNX weights            [out, in, kh, kw]                [in * multiplier, 1, kh, kw], group = in
 * ```
 */
function convolution(node: GraphNode, c: Conversion, depthwise: boolean): Value {
  if (textOf(node, 'data_format') !== 'NHWC') throw notKnown(node, `data format ${textOf(node, 'data_format')}`);
  const [bias, activation = '', ...more] = textsOf(node, 'fused_ops');
  if ((bias ?? 'BiasAdd') !== 'BiasAdd' || !['', 'Relu', 'Relu6'].includes(activation) || more.length > 0) {
    throw notKnown(node, `fused operators ${textsOf(node, 'fused_ops').join(', ')}`);
  }

  const x = c.planar(c.input(node, 0));
  const weights = c.constant(node, 1);
  const [kernelH, kernelW, channels, last] = weights.shape as [number, number, number, number];
  const dilations = onImage(node, 'dilations');
  const { sizes, pads, strides } = slide(node, x, [
    (kernelH - 1) * dilations[0]! + 1,
    (kernelW - 1) * dilations[1]! + 1,
  ]);
  const outChannels = depthwise ? channels * last : last;

  const dims = [outChannels, depthwise ? 1 : channels, kernelH, kernelW];
  const name = node.inputs[1]!;
  const inputs = [x.name, c.floats(name, dims, transposeWeights(weights, depthwise))];
  if (bias !== undefined) inputs.push(c.input(node, 2).name);

  const value = { ...x, shape: [x.shape[0]!, ...sizes, outChannels] };
  const attributes = {
    kernel_shape: { ints: [kernelH, kernelW] },
    strides: { ints: strides },
    dilations: { ints: dilations },
    pads: { ints: pads },
    group: { int: depthwise ? channels : 1 },
  };
  if (activation === '') return c.emit(node, 'Conv', inputs, value, attributes);
  const before = c.emit(node, 'Conv', inputs, value, attributes, `${node.name}/Conv`);
  return activate(node, c, activation, before);
}

function transposeWeights({ shape, data }: GraphConstant, depthwise: boolean): Float32Array {
  const [kernelH, kernelW, channels, last] = shape as [number, number, number, number];
  const area = kernelH * kernelW;
  const out = new Float32Array(data.length);
  let from = 0;
  for (let k = 0; k < area; k++) {
    for (let i = 0; i < channels; i++) {
      for (let o = 0; o < last; o++) {
        const row = depthwise ? i * last + o : o * channels + i;
        out[row * area + k] = data[from++]!;
      }
    }
  }
  return out;
}

/** What a window of `window` pixels that slides over a picture gives: output height and width, and ONNX's pads. */
function slide(node: GraphNode, x: Value, window: readonly number[]) {
  const padding = textOf(node, 'padding');
  if (padding !== 'SAME' && padding !== 'VALID') throw notKnown(node, `padding ${padding}`);
  const strides = onImage(node, 'strides');
  const axes = [0, 1].map((axis) => {
    const size = x.shape[1 + axis]!;
    const stride = strides[axis]!;
    if (padding === 'VALID') return { size: Math.floor((size - window[axis]!) / stride) + 1, before: 0, after: 0 };
    // TensorFlow's SAME: just enough border for size / stride positions, the odd pixel at the end.
    const positions = Math.ceil(size / stride);
    const border = Math.max((positions - 1) * stride + window[axis]! - size, 0);
    return { size: positions, before: Math.floor(border / 2), after: Math.ceil(border / 2) };
  });
  return {
    sizes: axes.map(({ size }) => size),
    pads: [...axes.map(({ before }) => before), ...axes.map(({ after }) => after)],
    strides,
  };
}

/** Height and width of a list that TensorFlow gives for [n, h, w, c]. */
function onImage(node: GraphNode, attribute: string): number[] {
  const list = intsOf(node, attribute);
  if (list.length !== 4 || list[0] !== 1 || list[3] !== 1) throw notKnown(node, `${attribute} of [${list.join(', ')}]`);
  return list.slice(1, 3);
}

function activate(node: GraphNode, c: Conversion, activation: string, x: Value): Value {
  if (activation === 'Relu6') return c.emit(node, 'Clip', [x.name, c.scalar(0), c.scalar(6)], x);
  return c.emit(node, activation, [x.name], x);
}

function binary(node: GraphNode, c: Conversion, op: string, type?: TensorType): Value {
  let [a, b] = [c.input(node, 0), c.input(node, 1)];
  if (a.planar || b.planar) {
    // A scalar goes with any order; anything else must be a picture, to be reordered.
    [a, b] = [a, b].map((value) => {
      if (value.shape.length === 0) return value;
      if (value.shape.length !== 4) throw notKnown(node, `a picture with a value of shape [${value.shape.join(', ')}]`);
      return c.planar(value);
    }) as [Value, Value];
  }
  const rank = Math.max(a.shape.length, b.shape.length);
  const size = ({ shape }: Value, i: number) => shape[shape.length - rank + i] ?? 1;
  const shape = Array.from({ length: rank }, (_, i) => Math.max(size(a, i), size(b, i)));
  return c.emit(node, op, [a.name, b.name], { shape, type: type ?? a.type, planar: a.planar || b.planar });
}

function axisOf(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

function elements(value: Value): number {
  return value.shape.reduce((product, size) => product * size, 1);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
