import { encodeOnnx, type OnnxNode, onnxElementType } from '../../lib/onnx/writer.js';

/**
 * An end-to-end model whose float16 arithmetic overflows for bright pictures: the mean level of red, 0..1, times 80,000 is beyond
 * float16 from 0.82 on, and infinity less infinity is no number. For others it finds one box.
 *
 *   images ─ReduceMean─▶ × 80000 ─to float16─▶ a ─a - a─▶ 0 or NaN ─▶ + row ─▶ output0 [1, 1, 6] float16
 */
export function overflowingModel(): Uint8Array {
  const to = (type: 'float16' | 'float32') => ({ to: { int: onnxElementType(type) } });
  const node = (op: string, inputs: string[], output: string, attributes: OnnxNode['attributes'] = {}): OnnxNode => ({
    op,
    inputs,
    outputs: [output],
    attributes,
  });
  const floats = (name: string, dims: number[], values: number[]) => ({
    name,
    type: 'float32' as const,
    dims,
    data: new Uint8Array(Float32Array.from(values).buffer),
  });
  return encodeOnnx({
    opsets: { '': 13 },
    metadata: { names: "{0: 'thing'}", task: 'detect', stride: '32' },
    graph: {
      name: 'overflowing',
      inputs: [{ name: 'images', type: 'float32', dims: [1, 3, 64, 64] }],
      outputs: [{ name: 'output0', type: 'float16', dims: [1, 1, 6] }],
      nodes: [
        node('ReduceMean', ['images'], 'mean', { axes: { ints: [1, 2, 3] }, keepdims: { int: 0 } }),
        node('Mul', ['mean', 'gain'], 'loud'),
        node('Cast', ['loud'], 'half', to('float16')),
        node('Cast', ['half'], 'again', to('float32')),
        node('Sub', ['again', 'again'], 'nothing'),
        node('Add', ['row', 'nothing'], 'found'),
        node('Cast', ['found'], 'output0', to('float16')),
      ],
      initializers: [floats('gain', [], [80_000]), floats('row', [1, 1, 6], [8, 8, 40, 40, 0.75, 0])],
    },
  });
}
