import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { Detections } from '../../lib/detections.js';
import { assertImageInput, decodeImage, describeInput } from '../../lib/image/decode.js';
import { checkDetectorOptions } from '../../lib/options.js';

// Test runners and plug-in hosts run code in contexts of their own, whose typed arrays have other constructors.
const foreign = {
  bytes: runInNewContext('new Uint8Array([1, 2, 3])') as Uint8Array,
  buffer: runInNewContext('new ArrayBuffer(3)') as ArrayBuffer,
  pixels: runInNewContext('new Uint8Array(12).fill(7)') as Uint8Array,
  floats: runInNewContext('new Float32Array([0, 0, 1, 1])') as Float32Array,
  confidence: runInNewContext('new Float32Array([0.5])') as Float32Array,
  ids: runInNewContext('new Int32Array([0])') as Int32Array,
};

describe('typed arrays of another realm', () => {
  it('are no instances of ours', () => {
    expect(foreign.bytes).not.toBeInstanceOf(Uint8Array);
  });

  it('are pictures', async () => {
    for (const input of [foreign.bytes, foreign.buffer]) {
      expect(() => assertImageInput(input)).not.toThrow();
      expect(describeInput(input)).toContain('of 3 bytes');
    }
    const { data } = await decodeImage({ data: foreign.pixels, width: 2, height: 2, channels: 3 });
    expect([...data]).toEqual(Array(12).fill(7));
  });

  it('are models', () => {
    expect(() => checkDetectorOptions({ model: foreign.bytes })).not.toThrow();
    expect(() => checkDetectorOptions({ model: foreign.buffer })).not.toThrow();
  });

  it('are columns', () => {
    const columns = { xyxy: foreign.floats, confidence: foreign.confidence, classId: foreign.ids };
    const detections = Detections.from(columns, { labels: ['cat'], image: { width: 2, height: 2 } });
    expect([...detections]).toEqual([{ xyxy: [0, 0, 1, 1], confidence: 0.5, classId: 0, label: 'cat' }]);
  });
});
