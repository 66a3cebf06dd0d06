import { encodeOnnx } from '../../lib/onnx/writer.js';

const CHANNELS = 64;
const SIDE = 64;

/**
 * A model that computes for some tens of milliseconds and loads in a few: a row of convolutions, so that a test meets it in
 * mid-run. Its outputs are named by numbers that fall, and numbers come first and rising in a JavaScript object.
 *
 *   images [1, 3, 64, 64] ─Conv─▶ … ─Conv─▶ ReduceMean ─▶ '20' [1, 64], '10' [1, 64]
 */
export function slowModel(convolutions = 6): Uint8Array {
  const weights = (name: string, inputs: number) => ({
    name,
    type: 'float32' as const,
    dims: [CHANNELS, inputs, 3, 3],
    data: new Uint8Array(new Float32Array(CHANNELS * inputs * 9).fill(1 / (inputs * 9)).buffer),
  });
  const pads = { pads: { ints: [1, 1, 1, 1] } };
  const nodes = Array.from({ length: convolutions }, (_, index) => ({
    op: 'Conv',
    inputs: [index === 0 ? 'images' : `after${index - 1}`, index === 0 ? 'first' : 'others'],
    outputs: [`after${index}`],
    attributes: pads,
  }));
  const mean = { axes: { ints: [2, 3] }, keepdims: { int: 0 } };
  const last = `after${convolutions - 1}`;
  return encodeOnnx({
    opsets: { '': 13 },
    graph: {
      name: 'slow',
      inputs: [{ name: 'images', type: 'float32', dims: [1, 3, SIDE, SIDE] }],
      outputs: ['20', '10'].map((name) => ({ name, type: 'float32', dims: [1, CHANNELS] })),
      nodes: [
        ...nodes,
        { op: 'ReduceMean', inputs: [last], outputs: ['20'], attributes: mean },
        { op: 'ReduceMax', inputs: [last], outputs: ['10'], attributes: mean },
      ],
      initializers: [weights('first', 3), weights('others', CHANNELS)],
    },
  });
}
