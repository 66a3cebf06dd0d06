import { encodeOnnx } from '../../lib/onnx/writer.js';
import { floatTensor } from './float-tensor.js';

/** Side of the input in pixels, and the cells of strides 8, 16 and 32 in it. */
const SIDE = 640;
export const CROWD = 8400;

/**
 * A model that sees an object in each of its 8,400 cells, whatever the picture: boxes of 4×4 pixels that do not touch, of
 * rising confidence, in the layout of YOLOv8 with one class.
 *
 *   images ─ReduceMean─▶ [n] ─× 0─▶ + rows ─▶ output0 [n, 5, 8400]
 */
export function crowdedModel(): Uint8Array {
  const rows = new Float32Array(5 * CROWD);
  for (let cell = 0; cell < CROWD; cell++) {
    // 92 in a row, 6 pixels apart.
    rows[cell] = 6 * (cell % 92) + 10;
    rows[CROWD + cell] = 6 * Math.floor(cell / 92) + 10;
    rows[2 * CROWD + cell] = 4;
    rows[3 * CROWD + cell] = 4;
    rows[4 * CROWD + cell] = 0.1 + (0.8 * cell) / CROWD;
  }
  return encodeOnnx({
    opsets: { '': 13 },
    metadata: { names: "{0: 'grain'}", task: 'detect', stride: '32' },
    graph: {
      name: 'crowded',
      inputs: [{ name: 'images', type: 'float32', dims: ['batch', 3, SIDE, SIDE] }],
      outputs: [{ name: 'output0', type: 'float32', dims: ['batch', 5, CROWD] }],
      nodes: [
        {
          op: 'ReduceMean',
          inputs: ['images'],
          outputs: ['mean'],
          attributes: { axes: { ints: [1, 2] }, keepdims: { int: 1 } },
        },
        {
          op: 'ReduceMean',
          inputs: ['mean'],
          outputs: ['one'],
          attributes: { axes: { ints: [3] }, keepdims: { int: 0 } },
        },
        { op: 'Mul', inputs: ['one', 'nothing'], outputs: ['zero'] },
        { op: 'Add', inputs: ['zero', 'rows'], outputs: ['output0'] },
      ],
      initializers: [floatTensor('nothing', [], new Float32Array(1)), floatTensor('rows', [1, 5, CROWD], rows)],
    },
  });
}
