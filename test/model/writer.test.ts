import * as ort from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';
import { encodeOnnx, type OnnxModel, type OnnxTensor, onnxElementType } from '../../lib/onnx/writer.js';

const bytesOf = (data: Float32Array | BigInt64Array): Uint8Array => new Uint8Array(data.buffer);

const floats = (name: string, dims: number[], values: number[]): OnnxTensor => ({
  name,
  type: 'float32',
  dims,
  data: bytesOf(Float32Array.from(values)),
});

const integers = (name: string, values: bigint[]): OnnxTensor => ({
  name,
  type: 'int64',
  dims: [values.length],
  data: bytesOf(BigInt64Array.from(values)),
});

/** Every field of a protobuf message: number, and varint or bytes. An independent twin of what the writer does. */
function fieldsOf(bytes: Uint8Array): { field: number; value: bigint | Uint8Array }[] {
  const fields: { field: number; value: bigint | Uint8Array }[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = tag >> 3;
    if ((tag & 7) === 0) fields.push({ field, value: varint() });
    else {
      const length = (tag & 7) === 2 ? Number(varint()) : 4;
      fields.push({ field, value: bytes.subarray(at, at + length) });
      at += length;
    }
  }
  return fields;
}

const messages = (bytes: Uint8Array, field: number): Uint8Array[] =>
  fieldsOf(bytes).flatMap((entry) => (entry.field === field ? [entry.value as Uint8Array] : []));

const texts = (bytes: Uint8Array, field: number): string[] =>
  messages(bytes, field).map((value) => new TextDecoder().decode(value));

async function run(model: OnnxModel, feeds: Record<string, ort.Tensor>): Promise<ort.InferenceSession.ReturnType> {
  const session = await ort.InferenceSession.create(encodeOnnx(model), { logSeverityLevel: 3 });
  const results = await session.run(feeds);
  await session.release();
  return results;
}

const AFFINE: OnnxModel = {
  opsets: { '': 13 },
  producer: 'a test',
  metadata: { names: "{0: 'Wäscheklammer'}", empty: '' },
  graph: {
    name: 'affine',
    inputs: [{ name: 'x', type: 'float32', dims: ['batch', 2] }],
    outputs: [{ name: 'y', type: 'float32', dims: ['batch', -1] }],
    initializers: [floats('w', [3, 2], [1, 2, 3, 4, 5, 6]), floats('b', [3], [10, 20, 30])],
    nodes: [
      {
        op: 'Gemm',
        name: 'gemm',
        inputs: ['x', 'w', 'b'],
        outputs: ['y'],
        attributes: { transB: { int: 1 }, alpha: { float: 0.5 }, beta: { float: -1 } },
      },
    ],
  },
};

describe('encodeOnnx', () => {
  it('writes weights, attributes and an open batch dimension that a runtime reads back', async () => {
    const x = new ort.Tensor('float32', Float32Array.of(2, 4, 6, 8), [2, 2]);
    const { y } = await run(AFFINE, { x });
    expect(y!.dims).toEqual([2, 3]);
    expect(Array.from(y!.data as Float32Array)).toEqual([-5, -9, -13, 1, 5, 9]);
  });

  it('declares inputs and outputs with their types, names and sizes of dimensions', async () => {
    const session = await ort.InferenceSession.create(encodeOnnx(AFFINE));
    expect(session.inputMetadata[0]).toMatchObject({ name: 'x', type: 'float32', shape: ['batch', 2] });
    expect(session.outputMetadata[0]).toMatchObject({ name: 'y', type: 'float32' });
    await session.release();
  });

  it('writes every kind of attribute: numbers, lists, texts, tensors and graphs', async () => {
    const constant = (name: string): OnnxModel['graph'] => ({
      name,
      inputs: [],
      outputs: [{ name: `${name}_out`, type: 'float32', dims: [2] }],
      initializers: [],
      nodes: [
        name === 'then'
          ? {
              op: 'Constant',
              inputs: [],
              outputs: ['then_out'],
              attributes: { value: { tensor: floats('t', [2], [1, 2]) } },
            }
          : { op: 'Constant', inputs: [], outputs: ['else_out'], attributes: { value_floats: { floats: [0.5, -3] } } },
      ],
    });
    const model: OnnxModel = {
      opsets: { '': 13 },
      graph: {
        name: 'attributes',
        inputs: [{ name: 'yes', type: 'bool', dims: [] }],
        outputs: [
          { name: 'chosen', type: 'float32', dims: [2] },
          { name: 'range', type: 'int64', dims: [3] },
          { name: 'length', type: 'int64', dims: [1] },
        ],
        initializers: [],
        nodes: [
          {
            op: 'If',
            inputs: ['yes'],
            outputs: ['chosen'],
            attributes: { then_branch: { graph: constant('then') }, else_branch: { graph: constant('else') } },
          },
          {
            op: 'Constant',
            inputs: [],
            outputs: ['range'],
            attributes: { value_ints: { ints: [-1, 300, -(2n ** 63n)] } },
          },
          {
            op: 'Constant',
            inputs: [],
            outputs: ['words'],
            attributes: { value_strings: { strings: ['a', 'bc', 'é'] } },
          },
          { op: 'Shape', inputs: ['words'], outputs: ['length'] },
        ],
      },
    };
    const scalar = (value: boolean) => new ort.Tensor('bool', Uint8Array.of(Number(value)), []);
    const first = await run(model, { yes: scalar(true) });
    expect(Array.from(first.chosen!.data as Float32Array)).toEqual([1, 2]);
    expect(Array.from(first.range!.data as BigInt64Array)).toEqual([-1n, 300n, -(2n ** 63n)]);
    expect(Array.from(first.length!.data as BigInt64Array)).toEqual([3n]);
    const second = await run(model, { yes: scalar(false) });
    expect(Array.from(second.chosen!.data as Float32Array)).toEqual([0.5, -3]);
  });

  it('leaves out optional inputs that are named with an empty text', async () => {
    const { y } = await run(
      {
        opsets: { '': 13 },
        graph: {
          name: 'clip',
          inputs: [{ name: 'x', type: 'float32', dims: [3] }],
          outputs: [{ name: 'y', type: 'float32', dims: [3] }],
          initializers: [floats('most', [], [1])],
          nodes: [{ op: 'Clip', inputs: ['x', '', 'most'], outputs: ['y'] }],
        },
      },
      { x: new ort.Tensor('float32', Float32Array.of(-5, 0, 5), [3]) },
    );
    expect(Array.from(y!.data as Float32Array)).toEqual([-5, 0, 1]);
  });

  it('writes producer, operator sets of several domains and metadata, also beyond ASCII', () => {
    const bytes = encodeOnnx({ ...AFFINE, opsets: { '': 13, 'com.microsoft': 1 } });
    expect(texts(bytes, 2)).toEqual(['a test']);
    expect(messages(bytes, 8).map((set) => [texts(set, 1)[0], fieldsOf(set).at(-1)!.value])).toEqual([
      ['', 13n],
      ['com.microsoft', 1n],
    ]);
    expect(messages(bytes, 14).map((entry) => [texts(entry, 1)[0], texts(entry, 2)[0]])).toEqual([
      ['names', "{0: 'Wäscheklammer'}"],
      ['empty', ''],
    ]);
  });

  it('writes the types of values in between and the domain of a node', () => {
    const bytes = encodeOnnx({
      ...AFFINE,
      graph: {
        ...AFFINE.graph,
        values: [{ name: 'between', type: 'float16', dims: [1, 'n', -1] }],
        nodes: [{ op: 'Thing', domain: 'com.example', inputs: [], outputs: ['between'] }],
      },
    });
    const graph = messages(bytes, 7)[0]!;
    expect(texts(messages(graph, 1)[0]!, 7)).toEqual(['com.example']);
    const value = messages(graph, 13)[0]!;
    expect(texts(value, 1)).toEqual(['between']);
    const type = messages(messages(value, 2)[0]!, 1)[0]!;
    expect(fieldsOf(type)[0]).toEqual({ field: 1, value: BigInt(onnxElementType('float16')) });
    const dims = messages(messages(type, 2)[0]!, 1);
    expect(dims.map((dim) => fieldsOf(dim).map(({ field }) => field))).toEqual([[1], [2], []]);
  });

  it('gives the same bytes for the same model', () => {
    expect(encodeOnnx(AFFINE)).toEqual(encodeOnnx(AFFINE));
  });

  it('refuses a tensor whose data do not fill its shape, with both sizes', () => {
    const initializers = [{ ...integers('shape', [1n, 2n]), dims: [3] }];
    expect(() => encodeOnnx({ ...AFFINE, graph: { ...AFFINE.graph, initializers } })).toThrow(
      'Tensor "shape" of int64 [3] needs 24 bytes but has 16',
    );
  });
});
