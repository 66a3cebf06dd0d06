import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOnnxMetadata } from '../../lib/onnx/metadata.js';
import type { ByteSource } from '../../lib/onnx/wire-reader.js';
import { encodeOnnx } from '../../lib/onnx/writer.js';

function sourceOf(bytes: Uint8Array): ByteSource {
  return { size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) };
}

const read = (bytes: Uint8Array) => readOnnxMetadata(sourceOf(bytes), 'some.onnx');
const parseError = expect.objectContaining({ code: 'ERR_YOLO_MODEL_PARSE' });

// Protobuf by hand, for what the writer does not write.
function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return [...bytes, Number(rest)];
}
const number = (field: number, value: number | bigint) => [...varint(field * 8), ...varint(value)];
const nested = (field: number, bytes: number[]) => [...varint(field * 8 + 2), ...varint(bytes.length), ...bytes];
const text = (field: number, value: string) => nested(field, [...new TextEncoder().encode(value)]);
const valueInfo = (name: string, elementType: number, dims: number[][]) => [
  ...text(1, name),
  ...nested(
    2,
    nested(1, [
      ...number(1, elementType),
      ...nested(
        2,
        dims.flatMap((dim) => nested(1, dim)),
      ),
    ]),
  ),
];

const model = encodeOnnx({
  graph: {
    name: 'small',
    nodes: [{ op: 'Add', inputs: ['images', 'weight'], outputs: ['out'] }],
    inputs: [{ name: 'images', type: 'float16', dims: ['batch', 3, 'height', -1] }],
    outputs: [
      { name: '350', type: 'float32', dims: [1, 84, 8400] },
      { name: '21', type: 'int64', dims: [] },
    ],
    initializers: [{ name: 'weight', type: 'float32', dims: [40_000], data: new Uint8Array(160_000) }],
  },
  opsets: { '': 17, 'com.microsoft': 1 },
  producer: 'a test',
  metadata: { names: "{0: 'né'}", stride: '32', __proto__x: 'y' },
});

describe('what an ONNX file says of itself', () => {
  it('is read: producer, operator sets, metadata, inputs and outputs in their order, names of open sizes', async () => {
    expect(await read(model)).toMatchObject({
      producerName: 'a test',
      irVersion: 8,
      opsets: { '': 17, 'com.microsoft': 1 },
      properties: { names: "{0: 'né'}", stride: '32', __proto__x: 'y' },
      inputs: [{ name: 'images', type: 'float16', dims: ['batch', 3, 'height', -1] }],
      outputs: [
        { name: '350', type: 'float32', dims: [1, 84, 8400] },
        { name: '21', type: 'int64', dims: [] },
      ],
    });
  });

  it('has no weights among the inputs, as old files list them', async () => {
    const graph = [
      ...nested(11, valueInfo('weight', 1, [number(1, 8)])),
      ...nested(11, valueInfo('images', 1, [number(1, 1), text(2, ''), number(1, -1n), []])),
      // The name after the data, and data in a field of packed numbers.
      ...nested(5, [...nested(4, [1, 2, 3, 4]), ...text(8, 'weight')]),
      ...nested(5, nested(9, [1, 2, 3, 4])),
      ...nested(12, valueInfo('out', 99, [])),
    ];
    const file = await read(Uint8Array.from([...number(1, 3), ...nested(7, graph), ...text(3, '1.2')]));
    expect(file).toMatchObject({ irVersion: 3, producerVersion: '1.2', opsets: {} });
    expect(file.inputs).toEqual([{ name: 'images', type: 'float32', dims: [1, -1, -1, -1] }]);
    expect(file.outputs).toEqual([{ name: 'out', type: 'unknown', dims: [] }]);
  });

  it('costs a few small reads of a file of 2 GB', async () => {
    const weights = 2_000_000_000;
    const weight = [...text(8, 'weight'), ...varint(9 * 8 + 2), ...varint(weights)];
    const input = nested(11, valueInfo('images', 1, [number(1, 1)]));
    const initializer = [...varint(5 * 8 + 2), ...varint(weight.length + weights), ...weight];
    const head = [
      ...number(1, 8),
      ...varint(7 * 8 + 2),
      ...varint(initializer.length + weights + input.length),
      ...initializer,
    ];
    const tail = Uint8Array.from([...input, ...nested(14, [...text(1, 'task'), ...text(2, 'detect')])]);
    const size = head.length + weights + tail.length;
    let bytesRead = 0;
    let reads = 0;
    const source: ByteSource = {
      size,
      async read(offset, length) {
        reads++;
        bytesRead += length;
        const out = new Uint8Array(length);
        out.set(Uint8Array.from(head).subarray(Math.min(offset, head.length), offset + length));
        const at = Math.max(0, offset - head.length - weights);
        if (offset + length > head.length + weights)
          out.set(tail.subarray(at), Math.max(0, head.length + weights - offset));
        return out;
      },
    };
    const file = await readOnnxMetadata(source, 'large.onnx');
    expect(file.properties).toEqual({ task: 'detect' });
    expect(file.inputs).toHaveLength(1);
    expect(reads).toBeLessThan(6);
    expect(bytesRead).toBeLessThan(100_000);
  });

  it('is refused where the file is cut short, wherever that is', async () => {
    for (const cut of [1, 2, 5, 10, 100, 1000, 160_000, model.length - 200])
      await expect(read(model.slice(0, cut))).rejects.toEqual(parseError);
    await expect(read(new Uint8Array(0))).rejects.toThrow(/some.onnx .* it is empty/);
    const shrunk: ByteSource = {
      size: 50_000,
      read: async (offset, length) => model.subarray(offset, offset + Math.min(length, 4096)),
    };
    await expect(readOnnxMetadata(shrunk, 'shrunk')).rejects.toThrow(/cut short/);
  });

  it('is a clear error or a result for any bytes, and never more memory than they take', async () => {
    const small = encodeOnnx({
      graph: {
        name: 'g',
        nodes: [],
        inputs: [{ name: 'i', type: 'float32', dims: [1, 'n'] }],
        outputs: [],
        initializers: [],
      },
      opsets: { '': 17 },
      metadata: { names: "['a']" },
    });
    const settle = async (bytes: Uint8Array): Promise<void> => {
      let longest = 0;
      const source: ByteSource = {
        size: bytes.length,
        read: async (offset, length) => {
          longest = Math.max(longest, length);
          return bytes.subarray(offset, offset + length);
        },
      };
      await readOnnxMetadata(source, 'x').catch((error) => expect(error).toEqual(parseError));
      expect(longest).toBeLessThanOrEqual(bytes.length);
    };
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), settle), { numRuns: 500 });
    const change = fc.tuple(fc.nat(small.length - 1), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const bytes = small.slice();
        for (const [at, value] of changes) bytes[at] = value;
        await settle(bytes);
      }),
      { numRuns: 1500 },
    );
    for (let cut = 0; cut < small.length; cut++) await settle(small.slice(0, cut));
  });

  it('is refused for damage that a reader could trip over', async () => {
    const tooLong = [...varint(2 * 8 + 2), ...varint(17 * 1024 * 1024)];
    const long = new Uint8Array(tooLong.length + 17 * 1024 * 1024);
    long.set(tooLong);
    const endless = new Uint8Array(5_000_000).map((_, at) => (at % 2 === 0 ? 8 : 1));
    const damaged: [bytes: Uint8Array, message: RegExp][] = [
      [Uint8Array.of(0x08, 8, 0x00, 1), /field number of 0/],
      [Uint8Array.of(0x08, 8, 0x0b), /wire type 3/],
      [Uint8Array.from([8, ...new Array(11).fill(0xff)]), /more than 10 bytes/],
      [Uint8Array.from([...number(1, 8), ...number(2, 5)]), /a text is expected/],
      [Uint8Array.from([...number(1, 8), 0x39, 1, 2, 3, 4, 5, 6, 7, 8]), /field 7 is no message/],
      [Uint8Array.from([...number(1, 8), ...number(7, 5)]), /field 7 is no message/],
      [Uint8Array.from(number(1, 8)), /no graph/],
      [Uint8Array.from(nested(7, [])), /no IR version/],
      [Uint8Array.of(0x08, 8, 0x0d, 1, 2), /cut short/],
      [endless, /more than 2000000 fields/],
      [long, /a text of 17825792 bytes/],
    ];
    for (const [bytes, message] of damaged) {
      await expect(read(bytes)).rejects.toThrow(message);
      await expect(read(bytes)).rejects.toEqual(parseError);
    }
    // A text longer than what is read at once.
    const producer = 'x'.repeat(50_000);
    const described = Uint8Array.from([...number(1, 8), ...text(2, producer), ...nested(7, [])]);
    await expect(read(described)).resolves.toMatchObject({ producerName: producer });
    // Fixed-size values of fields that are not read are passed over.
    const passed = Uint8Array.from([...number(1, 8), 0x61, 1, 2, 3, 4, 5, 6, 7, 8, 0x65, 1, 2, 3, 4, ...nested(7, [])]);
    await expect(read(passed)).resolves.toMatchObject({ irVersion: 8 });
  });

  it('is not looked for in files of other kinds, which are named', async () => {
    const ascii = (start: string) =>
      Uint8Array.from(`${start}${' '.repeat(100)}`, (character) => character.charCodeAt(0));
    const others: [bytes: Uint8Array, kind: RegExp][] = [
      [ascii('version https://git-lfs.github.com/spec/v1\noid sha256:1'), /Git LFS pointer.*git lfs pull/],
      [ascii('<!DOCTYPE html><html>'), /web page/],
      [ascii('\n <html lang="en">'), /web page/],
      [ascii('<?xml version="1.0"?><net name="yolo">'), /OpenVINO/],
      [ascii('{"format": "graph-model"}'), /JSON/],
      [ascii('PK\x03\x04archive/data.pkl'), /\.pt files/],
      [ascii('\x80\x02\x8a\nl\xfc'), /pickle/],
      [ascii('\x1c\0\0\0TFL3'), /TensorFlow Lite/],
      [ascii('\x1c\0\0\0ORTM'), /\.ort/],
      [ascii('\x85\xa7version\x07\xb0migraphx_version'), /MIGraphX.*\.mxr/],
      [ascii('ftrt'), /TensorRT/],
      [ascii('\x89HDF\r\n'), /Keras/],
      [gzipSync(model), /gzip.*unpack/],
      [ascii('7767517\n75 83'), /ncnn/],
      [ascii('GGUF'), /GGUF/],
      [ascii('\xff\xd8\xff\xe0'), /JPEG/],
      [ascii('\x89PNG\r\n'), /PNG/],
    ];
    for (const [bytes, kind] of others) {
      await expect(read(bytes)).rejects.toThrow(kind);
      await expect(read(bytes)).rejects.toEqual(parseError);
    }
  });

  it('lets errors of the disk through as they are', async () => {
    const failing: ByteSource = { size: 100, read: () => Promise.reject(new Error('EIO')) };
    await expect(readOnnxMetadata(failing, 'x')).rejects.toThrow('EIO');
    let reads = 0;
    const later: ByteSource = {
      size: model.length,
      read: async (offset, length) => {
        if (++reads > 2) throw new Error('EIO');
        return model.subarray(offset, offset + length);
      },
    };
    await expect(readOnnxMetadata(later, 'x')).rejects.toThrow(/^EIO$/);
  });
});
