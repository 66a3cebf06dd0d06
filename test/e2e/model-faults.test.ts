import { afterEach, describe, expect, it } from 'vitest';
import { boxIou, nms } from '../../lib/core/index.js';
import { type Detections, Detector, type DetectorOptions, type RawImage } from '../../lib/index.js';
import { CROWD, crowdedModel } from '../support/crowded-model.js';
import { PHOTO } from '../support/default-detector.js';
import { overflowingModel } from '../support/overflowing-model.js';
import { describeShared, shared } from '../support/shared.js';

let opened: Detector[] = [];
async function open(options: DetectorOptions): Promise<Detector> {
  const detector = await Detector.create({ threads: 1, ...options });
  opened.push(detector);
  return detector;
}
afterEach(async () => {
  await Promise.all(opened.map((detector) => detector.close()));
  opened = [];
});

const plain = (level: number): RawImage => ({
  data: new Uint8Array(64 * 64 * 3).fill(level),
  width: 64,
  height: 64,
  channels: 3,
});

describe('thousands of objects in every picture', () => {
  it('are all found in each picture of a batch: no time limit, no limit of candidates', async () => {
    const detector = await open({ model: crowdedModel(), head: 'anchor-free', maxBatch: 3 });
    expect(detector.model.batch).toBe('dynamic');
    const pictures = Array.from({ length: 7 }, (_, index) => plain(30 * index));
    const options = { confidenceThreshold: 0.05, maxDetections: Number.POSITIVE_INFINITY };
    for (const found of await detector.detectBatch(pictures, options)) {
      expect(found.length).toBe(CROWD);
      expect(found.confidence.every((value, index) => index === 0 || value <= found.confidence[index - 1]!)).toBe(true);
    }
  });

  it('leave the best where a limit is asked for', async () => {
    const detector = await open({ model: crowdedModel(), head: 'anchor-free' });
    const all = await detector.detect(plain(9), { confidenceThreshold: 0.05, maxDetections: Number.POSITIVE_INFINITY });
    const best = await detector.detect(plain(9), { confidenceThreshold: 0.05 });
    expect(best.length).toBe(300);
    expect([...best]).toEqual([...all].slice(0, 300));
  });
});

describe('float16 arithmetic that overflows', () => {
  it('is an error that names the output and the precision, not a picture without objects; the next picture is served', async () => {
    const detector = await open({ model: overflowingModel() });
    expect([...(await detector.detect(plain(100)))]).toMatchObject([{ label: 'thing', confidence: 0.75 }]);
    await expect(detector.detect(plain(255))).rejects.toMatchObject({
      code: 'ERR_YOLO_DEVICE',
      message: expect.stringMatching(/output "output0" \(float16\) are NaN.*float32 model/),
      detail: { output: 'output0', type: 'float16' },
    });
    await expect(detector.detectBatch([plain(100), plain(255)])).rejects.toMatchObject({ code: 'ERR_YOLO_DEVICE' });
    expect(await detector.detect(plain(100))).toHaveLength(1);
  });
});

/** The boxes above 0.45 of one that no box of the other, each taken once, overlaps by at least 0.75. */
function withoutPartner(one: Detections, other: Detections): number[] {
  const free = new Set(other.classId.keys());
  return [...one.confidence.keys()].filter((index) => {
    if (one.confidence[index]! <= 0.45) return false;
    for (const partner of free) {
      if (one.classId[index] !== other.classId[partner] || boxIou(one.xyxy, index, other.xyxy, partner) < 0.75)
        continue;
      free.delete(partner);
      return false;
    }
    return true;
  });
}

describeShared('an int8 model', () => {
  const options = { confidenceThreshold: 0.3 };
  it.each(['yolov8n_640_qdq', 'yolov8n_640_dynint8'])(
    '(%s) finds what its float32 parent finds, once each',
    async (name) => {
      const float = await (await open({ model: shared('models/yolov8n_640_float.onnx') })).detect(PHOTO, options);
      const found = await (await open({ model: shared(`models/${name}.onnx`) })).detect(PHOTO, options);
      expect(float.length).toBeGreaterThan(2);
      // No box a second time: suppression at its own threshold has nothing left to drop.
      expect(nms(found.xyxy, found.confidence, { iouThreshold: 0.7, classId: found.classId })).toHaveLength(
        found.length,
      );
      // Confidences of int8 have few steps, so only places and classes are compared.
      expect(withoutPartner(float, found)).toEqual([]);
      expect(withoutPartner(found, float)).toEqual([]);
    },
  );
});
