import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { parseNames } from '../../lib/labels.js';
import { modelSignature, pictureInput, readModelFile } from '../../lib/model/signature.js';
import { resolveModel } from '../../lib/model/source.js';
import { readOnnxMetadata } from '../../lib/onnx/metadata.js';
import { encodeOnnx } from '../../lib/onnx/writer.js';
import { checkDetectorOptions } from '../../lib/options.js';
import { channelMeter } from '../support/channel-meter.js';
import { anyValue, FUZZ_TIMEOUT_MS, fuzz, mutated, resultOrYoloError } from './fuzz.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const models = {
  meter: channelMeter({ openBatch: true }),
  nhwc: channelMeter({ type: 'uint8', layout: 'nhwc' }),
  // What surrounds the weights only, so that every change meets it.
  bare: encodeOnnx({
    opsets: { '': 17, 'ai.onnx.ml': 3 },
    producer: 'pytorch',
    metadata: { names: `{0: 'person', 1: "dog's"}`, task: 'detect', stride: '32', imgsz: '[64, 64]' },
    graph: {
      name: 'bare',
      nodes: [],
      inputs: [{ name: 'images', type: 'float16', dims: ['n', 3, -1, 'w'] }],
      outputs: [{ name: 'output0', type: 'float32', dims: [1, 6, 84] }],
      initializers: [{ name: 'weight', type: 'float32', dims: [2], data: new Uint8Array(8) }],
    },
  }),
};

/** As create() does it, up to the point where the runtime takes over. */
async function read(bytes: Uint8Array): Promise<void> {
  const file = await readModelFile({ name: 'mutated', bytes });
  const input = pictureInput(file.inputs);
  const { labels } = modelSignature(file, input, input.width ?? 640, input.height ?? 640);
  expect(labels === undefined || labels.length <= 100_000).toBe(true);
}

describe('an ONNX file with damage of any kind', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('is read, or refused with a YoloError', () =>
    fuzz(100_000, mutated(models), ({ bytes }) => resultOrYoloError(() => read(bytes))));

  it('is never asked for bytes beyond its end, nor for more than it has', () =>
    fuzz(5_000, mutated(models), ({ bytes }) => {
      const source = {
        size: bytes.length,
        read: async (offset: number, length: number) => {
          expect(offset >= 0 && length >= 0 && offset + length <= bytes.length).toBe(true);
          return bytes.subarray(offset, offset + length);
        },
      };
      return resultOrYoloError(() => readOnnxMetadata(source, 'mutated'));
    }));

  it('says the same from a path as from memory', () => {
    const path = join(folder, 'mutated.onnx');
    const outcome = async (attempt: () => Promise<unknown>) => {
      let code: unknown;
      const value = await resultOrYoloError(() =>
        attempt().catch((error) => {
          code = error.code;
          throw error;
        }),
      );
      return { value, code };
    };
    return fuzz(1_000, mutated(models), async ({ bytes }) => {
      writeFileSync(path, bytes);
      const [ofFile, ofBytes] = await Promise.all([
        outcome(() => readModelFile({ name: path, path })),
        outcome(() => readModelFile({ name: path, bytes })),
      ]);
      expect(ofFile).toEqual(ofBytes);
    });
  });
});

describe('what names a model', { timeout: FUZZ_TIMEOUT_MS }, () => {
  // A path that exists by chance would only be stat'ed.
  const texts = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.webUrl(),
    fc.string().map((text) => `file://${text}`),
    fc.string().map((text) => `${text}\0`),
  );
  const model = fc.oneof(
    texts,
    fc.webUrl().map((url) => new URL(url)),
    fc.uint8Array({ maxLength: 64 }),
    anyValue,
  );

  it('is found, or refused with a YoloError', () =>
    fuzz(20_000, model, (one) =>
      resultOrYoloError(async () => {
        // Of undefined the default model is made.
        if (one === undefined) return;
        checkDetectorOptions({ model: one });
        await resolveModel(one as string);
      }),
    ));
});

describe('class names of a model', { timeout: FUZZ_TIMEOUT_MS }, () => {
  const names = Buffer.from(`{0: 'person', 1: "dog\\'s", 7: u"\\u00e9\\x41\\n", '12': 'x', 3: '\\U0001F600'}`);

  it('are read, or left out, whatever their text', () =>
    fuzz(20_000, mutated({ names }), ({ bytes }) => {
      const found = parseNames(Buffer.from(bytes).toString());
      expect(found === undefined || found.every((name) => typeof name === 'string')).toBe(true);
    }));
});
