import { encodeOnnx } from '../../lib/onnx/writer.js';
import { floatTensor } from '../support/float-tensor.js';

const SIDE = 352;
const CELLS = 22;
const ROWS = 85;
const DOG = 16;

/**
 * A model with FastestDet's output and one box whatever it sees: a dog of confidence 0.9, half as wide and high as the
 * picture, in its middle.
 *
 *   input.1 [1, 3, 352, 352] ─ReduceMean─▶ ─Mul 0─▶ ─Add map─▶ '758' [1, 85, 22, 22]
 */
export function fastestDetOfOneBox(): Uint8Array {
  const map = new Float32Array(ROWS * CELLS * CELLS);
  // Width and height are sigmoids: 0 is a half. The centre is a tanh from the corner of the cell: 0 is the corner.
  const middle = (CELLS / 2) * CELLS + CELLS / 2;
  map[middle] = 0.9;
  map[(5 + DOG) * CELLS * CELLS + middle] = 0.9;
  return encodeOnnx({
    opsets: { '': 13 },
    graph: {
      name: 'one-box',
      inputs: [{ name: 'input.1', type: 'float32', dims: [1, 3, SIDE, SIDE] }],
      outputs: [{ name: '758', type: 'float32', dims: [1, ROWS, CELLS, CELLS] }],
      nodes: [
        {
          op: 'ReduceMean',
          inputs: ['input.1'],
          outputs: ['mean'],
          attributes: { axes: { ints: [1, 2, 3] }, keepdims: { int: 1 } },
        },
        { op: 'Mul', inputs: ['mean', 'nothing'], outputs: ['empty'], attributes: {} },
        { op: 'Add', inputs: ['empty', 'map'], outputs: ['758'], attributes: {} },
      ],
      initializers: [
        floatTensor('nothing', [1], new Float32Array(1)),
        floatTensor('map', [1, ROWS, CELLS, CELLS], map),
      ],
    },
  });
}
