import { encodeOnnx, type OnnxNode, type OnnxTensor, onnxElementType } from '../../lib/onnx/writer.js';

/** Side of the meter's input in pixels. */
export const METER_SIDE = 64;

/** The one box that the meter gives three times, in pixels of its input. */
export const METER_BOX = [8, 16, 56, 48] as const;

export interface MeterOptions {
  readonly type?: 'float32' | 'float16' | 'uint8';
  readonly layout?: 'nchw' | 'nhwc';
  /** Whether the number of pictures is open. Defaults to false. */
  readonly openBatch?: boolean;
  /** Added to the file's own. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * A model that tells how its input looks: end-to-end rows whose class is a channel of the input, in the model's own order, and whose
 * score is the mean of that channel (of uint8 input, in 255ths). So what a picture of one colour gives is known to the bit.
 *
 *   images ─ReduceMean─▶ [n, 3] ─TopK─▶ scores, channels ─Concat with the box─▶ [n, 3, 6]
 */
export function channelMeter({
  type = 'float32',
  layout = 'nchw',
  openBatch = false,
  metadata = {},
}: MeterOptions = {}): Uint8Array {
  const batch = openBatch ? 'batch' : 1;
  const dims = layout === 'nchw' ? [batch, 3, METER_SIDE, METER_SIDE] : [batch, METER_SIDE, METER_SIDE, 3];
  const axes = layout === 'nchw' ? [2, 3] : [1, 2];
  const node = (
    op: string,
    inputs: string[],
    outputs: string[],
    attributes: OnnxNode['attributes'] = {},
  ): OnnxNode => ({
    op,
    inputs,
    outputs,
    attributes,
  });
  const toFloat = { to: { int: onnxElementType('float32') } };
  return encodeOnnx({
    opsets: { '': 13 },
    metadata: { names: "{0: 'first', 1: 'second', 2: 'third'}", task: 'detect', stride: '32', ...metadata },
    graph: {
      name: 'channel-meter',
      inputs: [{ name: 'images', type, dims }],
      outputs: [{ name: 'output0', type: 'float32', dims: [batch, 3, 6] }],
      nodes: [
        node('Cast', ['images'], ['levels'], toFloat),
        node('Mul', ['levels', 'scale'], ['values']),
        node('ReduceMean', ['values'], ['means'], { axes: { ints: axes }, keepdims: { int: 0 } }),
        node('TopK', ['means', 'three'], ['scores', 'channels']),
        node('Cast', ['channels'], ['classes'], toFloat),
        node('Unsqueeze', ['scores', 'two'], ['scoreColumn']),
        node('Unsqueeze', ['classes', 'two'], ['classColumn']),
        node('Mul', ['scoreColumn', 'nothing'], ['empty']),
        node('Add', ['empty', 'boxes'], ['boxColumns']),
        node('Concat', ['boxColumns', 'scoreColumn', 'classColumn'], ['output0'], { axis: { int: 2 } }),
      ],
      initializers: [
        floats('scale', [], [type === 'uint8' ? 1 / 255 : 1]),
        floats('nothing', [], [0]),
        floats('boxes', [1, 3, 4], [...METER_BOX, ...METER_BOX, ...METER_BOX]),
        integers('three', [3]),
        integers('two', [2]),
      ],
    },
  });
}

const floats = (name: string, dims: number[], values: number[]): OnnxTensor => ({
  name,
  type: 'float32',
  dims,
  data: new Uint8Array(Float32Array.from(values).buffer),
});

const integers = (name: string, values: number[]): OnnxTensor => ({
  name,
  type: 'int64',
  dims: [values.length],
  data: new Uint8Array(BigInt64Array.from(values.map(BigInt)).buffer),
});
