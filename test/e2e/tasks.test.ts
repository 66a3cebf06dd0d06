import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { boxesToInput as toInput } from '../../lib/core/index.js';
import { Detections, Detector, type Letterbox } from '../../lib/index.js';
import { describeShared, shared } from '../support/shared.js';

interface Expected {
  photo: string;
  iouThreshold: number;
  confidence: number[];
  keypoints: number[][][];
  xywhr: number[][];
  maskPixels: number[];
  xyxy: number[][];
}

function layout(name: string): { model: Uint8Array; expected: Expected } {
  const model = gunzipSync(readFileSync(shared(`models/layouts/${name}.onnx.gz`)));
  return { model, expected: JSON.parse(readFileSync(shared(`models/layouts/expected/${name}.json`), 'utf8')) };
}

/** Of a map of 40 x 40 the value at a pixel of 160 x 160, bilinearly. */
function enlarged(map: Float64Array, x: number, y: number): number {
  const [u, v] = [x, y].map((at) => Math.min(Math.max((at + 0.5) / 4 - 0.5, 0), 39)) as [number, number];
  const [left, top] = [Math.floor(u), Math.floor(v)];
  const [right, bottom] = [Math.min(left + 1, 39), Math.min(top + 1, 39)];
  const mix = (a: number, b: number, share: number) => a + (b - a) * share;
  const row = (line: number) => mix(map[40 * line + left]!, map[40 * line + right]!, u - left);
  return mix(row(top), row(bottom), v - top);
}

function boxesToInput(xyxy: Float32Array, letterbox: Letterbox): Float32Array {
  toInput(xyxy, 1, letterbox);
  return xyxy;
}

describeShared('what models find beside boxes', () => {
  it('are keypoints of people, in pixels of the picture', async () => {
    const { model, expected } = layout('yolo11n-pose_640_w8_real');
    await using detector = await Detector.create({ model, device: 'cpu' });
    expect(detector.model.head).toBe('anchor-free-pose');
    const detections = await detector.detect(shared(expected.photo));
    expect(detections).toHaveLength(expected.confidence.length);
    for (const [i, { keypoints }] of [...detections].entries()) {
      expect(keypoints).toHaveLength(17);
      for (const [k, [x, y, visibility]] of keypoints!.entries()) {
        const [wantedX, wantedY, wantedVisibility] = expected.keypoints[i]![k]!;
        expect(Math.abs(x - wantedX!)).toBeLessThan(1);
        expect(Math.abs(y - wantedY!)).toBeLessThan(1);
        expect(visibility).toBeCloseTo(wantedVisibility!, 1);
      }
    }
    const best = detections.filter((_, index) => index === 1);
    expect(best.at(0)!.keypoints).toEqual(detections.at(1)!.keypoints);
    expect(Detections.merge([best, detections]).at(-1)!.keypoints).toEqual(detections.at(-1)!.keypoints);
    expect(JSON.parse(JSON.stringify(best)).detections[0].keypoints[3]).toEqual(
      best.at(0)!.keypoints![3]!.map((value) => Number(value!.toFixed(2))),
    );
  });

  it('are rotated boxes, with their upright bounds as boxes', async () => {
    const { model, expected } = layout('yolov8n-obb');
    await using detector = await Detector.create({ model, iouThreshold: expected.iouThreshold });
    const detections = await detector.detect(shared(expected.photo));
    expect(detections).toHaveLength(expected.confidence.length);
    const { rotatedBox, xyxy } = detections.at(0)!;
    const [cx, cy, width, height, angle] = expected.xywhr[0]!;
    expect(rotatedBox!.cx).toBeCloseTo(cx!, 0);
    expect(rotatedBox!.cy).toBeCloseTo(cy!, 0);
    expect(rotatedBox!.width).toBeCloseTo(width!, 0);
    expect(rotatedBox!.height).toBeCloseTo(height!, 0);
    expect(rotatedBox!.angle).toBeCloseTo(angle!, 2);
    const across = Math.abs(width! * Math.cos(angle!)) + Math.abs(height! * Math.sin(angle!));
    expect(xyxy[0]).toBeCloseTo(cx! - across / 2, 0);
    expect(detections.toJSON().detections[0]!.rotatedBox!.angle).toBeCloseTo(angle!, 2);
  });

  it('are masks, as coefficients of prototypes', async () => {
    const { model, expected } = layout('yolov8n-seg_nms');
    await using detector = await Detector.create({ model });
    const detections = await detector.detect(shared(expected.photo));
    const { tensor, letterbox } = detections.maskPrototypes!;
    expect(tensor.dims).toEqual([1, 32, 40, 40]);
    expect(letterbox).toMatchObject({ inputWidth: 160, inputHeight: 160 });
    // Areas in the model's input. At the picture's border the reference's boxes, which it does not clip, hold more.
    const { width, height } = detections.image;
    const inner = [...detections].filter(
      ({ xyxy: [x1, y1, x2, y2] }) => x1 > 1 && y1 > 1 && x2 < width - 1 && y2 < height - 1,
    );
    expect(inner.length).toBeGreaterThan(2);
    for (const { maskCoefficients, xyxy, confidence } of inner) {
      const box = boxesToInput(Float32Array.from(xyxy), letterbox);
      const weights = maskCoefficients!;
      const sums = Float64Array.from({ length: 1600 }, (_, cell) =>
        weights.reduce((total, weight, m) => total + weight * Number(tensor.data[1600 * m + cell]), 0),
      );
      let inside = 0;
      for (let y = Math.ceil(box[1]!); y < box[3]!; y++)
        for (let x = Math.ceil(box[0]!); x < box[2]!; x++) if (enlarged(sums, x, y) > 0) inside++;
      const index = expected.confidence.findIndex((value) => Math.abs(value - confidence) < 0.0002);
      expect(Math.abs(inside - expected.maskPixels[index]!)).toBeLessThan(4);
    }
    expect(Detections.merge([detections, detections]).at(0)!.maskCoefficients).toBeUndefined();
    expect(Detections.merge([detections, detections]).maskPrototypes).toBeUndefined();
  });

  it('cannot be given with another number of values', () => {
    const one = { xyxy: new Float32Array(4), confidence: new Float32Array(1), classId: new Int32Array(1) };
    const context = { labels: ['a'], image: { width: 8, height: 8 } };
    for (const extra of [
      { layout: { kind: 'rotated' }, values: new Float32Array(4) },
      { layout: { kind: 'rotated' }, values: [0, 0, 0, 0, 0] },
      { layout: { kind: 'other' }, values: new Float32Array(5) },
      { values: new Float32Array(5) },
      null,
    ])
      expect(() => Detections.from({ ...one, extra } as never, context)).toThrow(/Expected extra with a layout/);
    const extra = { layout: { kind: 'rotated' as const }, values: Float32Array.of(1, 1, Number.NaN, 1, 0) };
    expect(() => Detections.from({ ...one, extra }, context)).toThrow(/Detection 0 has NaN among its extra values/);
  });
});

describeShared('pictures of one run', () => {
  it.each([
    ['deimv2_atto_320', 'detr', 'labels, boxes, scores and an input of sizes'],
    ['rtmdet_nano_person_in_graph_nms_dynamic', 'nms-dets-labels', 'as many rows as the fullest picture needs'],
    ['layouts/ppyoloe_nms', 'paddle-rows', 'one table for all pictures'],
  ])('%s, %s: give what they give alone (%s)', async (name, head) => {
    const file = shared(`models/${name}.onnx`);
    const model = name.startsWith('layouts/') ? gunzipSync(readFileSync(`${file}.gz`)) : file;
    await using detector = await Detector.create({ model, maxBatch: 3, confidenceThreshold: 0.1 });
    expect(detector.model).toMatchObject({ head, batch: 'dynamic' });
    const photos = ['ultralytics_bus.jpg', 'darknet_dog.jpg', 'ultralytics_zidane.jpg', 'darknet_dog.jpg'].map(
      (photo) => shared(`photos/classic/${photo}`),
    );
    const together = await detector.detectBatch(photos);
    for (const [index, photo] of photos.entries())
      expect([...together[index]!]).toEqual([...(await detector.detect(photo))]);
    expect(together[0]!.length).toBeGreaterThan(0);
  });
});
