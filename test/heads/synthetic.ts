import type { HeadLayout, HeadOutputs, ModelSignature } from '../../lib/core/heads/head.js';

/** One output as a head sees it. */
export function outputOf(dims: readonly number[], data: ArrayLike<number>, name = 'out'): HeadOutputs {
  return new Map([[name, { dims, data: Float32Array.from(data) }]]);
}

export function layoutOf(head: string, classCount: number, inputWidth = 32, inputHeight = 32): HeadLayout {
  return { head, outputs: ['out'], classCount, inputWidth, inputHeight };
}

/** A signature of float outputs with these shapes, named out, out1 …, for pictures of 96 x 96. */
export function signatureOf(
  shapes: readonly (readonly number[])[],
  more: Partial<ModelSignature> = {},
): ModelSignature {
  return {
    inputs: [{ name: 'images', type: 'float32', dims: [1, 3, 96, 96] }],
    outputs: shapes.map((dims, i) => ({ name: i === 0 ? 'out' : `out${i}`, type: 'float32', dims })),
    metadata: {},
    inputWidth: 96,
    inputHeight: 96,
    inputLayout: 'nchw',
    inputType: 'float32',
    ...more,
  };
}

/** Cells of strides 8, 16, 32 at 32 x 32, where `layoutOf` has its input. */
export const CELLS = 16 + 4 + 1;

/** [rows, columns] as [columns, rows]. */
export function transposed(data: ArrayLike<number>, rows: number, columns: number): Float32Array {
  return Float32Array.from({ length: rows * columns }, (_, i) => data[(i % rows) * columns + Math.floor(i / rows)]);
}
