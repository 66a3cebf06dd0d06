import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Detection, Detector } from '../../lib/index.js';
import { averagePrecision, evaluationTruth, goldenPrecision, LOW_CONFIDENCE } from '../support/average-precision.js';
import { type Box, pairBoxes } from '../support/pair-boxes.js';
import { describeShared, shared } from '../support/shared.js';

// What is left to another CPU: nothing in float, rounding in int8 (golden/INDEX.md of the shared folder).
const FLOAT = { pixels: 0.1, confidence: 0.001, unpairedShare: 0 };
const INT8 = { pixels: 3, confidence: 0.05, unpairedShare: 1 / 20 };

const MODELS = {
  yolox_nano_416: FLOAT,
  yolox_nano_416_decoded: FLOAT,
  yolox_nano_416_uint8_nhwc: FLOAT,
  yolov8n_640_float: FLOAT,
  yolov8n_dynamic_float: FLOAT,
  yolov8n_640_dynint8: INT8,
  yolov8n_640_qdq: INT8,
  yolov8n_320_dynint8: INT8,
  yolov8n_160_float: FLOAT,
  yolov5n_320_float_with_raw_heads: FLOAT,
  yolov5n_320_dynint8_with_raw_heads: INT8,
  yolov5n_640_fp16: FLOAT,
  yolo26n_640_float: FLOAT,
  yolo26n_640_dynint8: INT8,
  centernet_mobilenetv3_512_nhwc_end_to_end: FLOAT,
  'yolov8n-seg_320_dynint8': INT8,
  nanodet_m_320: FLOAT,
  deimv2_atto_320: FLOAT,
  deimv2_atto_320_raw_logits: FLOAT,
  rtmdet_nano_person_in_graph_nms_dynamic: { ...FLOAT, only: 'person' },
  yolox_nano_416_efficientnms: FLOAT,
  yolox_nano_416_nms_flat7: FLOAT,
} satisfies Record<string, typeof FLOAT & { only?: string }>;

// Suppression is greedy, so the boxes above 0.25 are the same whether it started from those above 0.25 or above 0.01.
const DEFAULT_CONFIDENCE = 0.25;

interface GoldenPhoto {
  readonly photo: string;
  readonly width: number;
  readonly height: number;
  /** x1, y1, x2, y2, confidence, class. */
  readonly detections: readonly number[][];
}

const read = (path: string) => JSON.parse(readFileSync(shared(path), 'utf8'));

const goldenBox = (row: readonly number[]): Box => ({
  xyxy: row.slice(0, 4),
  confidence: row[4]!,
  classId: row[5]!,
});

describeShared('with no option but the file', () => {
  describe.each(Object.entries(MODELS))('%s', (model, tolerance) => {
    let detector: Detector;
    beforeAll(async () => {
      detector = await Detector.create({ model: shared(`models/${model}.onnx`) });
    });
    afterAll(() => detector?.close());

    it('names the classes of COCO', () => {
      const truth = evaluationTruth();
      const names = [...truth.categories].sort((a, b) => a.id - b.id).map((category) => category.name);
      expect(detector.labels).toEqual(names);
    });

    it('gives the boxes of the reference pipeline', async () => {
      const { photos }: { photos: GoldenPhoto[] } = read(`golden/detections/${model}.json`);
      const differences: { photo: string; missing: Box[]; extra: Detection[] }[] = [];
      for (const { photo, width, height, detections: golden } of photos) {
        const found = await detector.detect(shared(`photos/${photo}`));
        expect(found.image).toEqual({ width, height });
        const { missing, extra } = pairBoxes(found, golden.map(goldenBox), tolerance);
        if (missing.length + extra.length > 0) differences.push({ photo, missing, extra: extra as Detection[] });
      }
      const boxes = photos.reduce((sum, { detections }) => sum + detections.length, 0);
      const unpaired = differences.reduce((sum, { missing, extra }) => sum + Math.max(missing.length, extra.length), 0);
      expect(unpaired, JSON.stringify(differences)).toBeLessThanOrEqual(boxes * tolerance.unpairedShare);
    });

    it('reaches its average precision', { timeout: 180_000 }, async () => {
      const reached = await averagePrecision(detector, 'only' in tolerance ? tolerance.only : undefined);
      const golden = goldenPrecision(model);
      expect(Math.abs(reached - golden), `AP ${reached}, reference ${golden}`).toBeLessThan(0.005);
    });
  });

  it('finds the same above a threshold, whatever lower threshold suppression started from', async () => {
    const detector = await Detector.create({ model: shared('models/yolov8n_320_dynint8.onnx') });
    try {
      const photo = shared('photos/classic/ultralytics_bus.jpg');
      const low = await detector.detect(photo, { confidenceThreshold: LOW_CONFIDENCE });
      const plain = [...(await detector.detect(photo))];
      expect(plain.length).toBeGreaterThan(0);
      expect([...low].filter((box) => box.confidence > DEFAULT_CONFIDENCE)).toEqual(plain);
      expect(low.length).toBeGreaterThan(plain.length);
    } finally {
      await detector.close();
    }
  });
});
