import type { OnnxTensor } from '../../lib/onnx/writer.js';

/** Constants of a model that a test makes. */
export function floatTensor(name: string, dims: number[], values: Float32Array): OnnxTensor {
  return { name, type: 'float32', dims, data: new Uint8Array(values.buffer) };
}
