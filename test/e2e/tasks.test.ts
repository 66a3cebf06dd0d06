import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Detections, Detector } from '../../lib/index.js';
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
    // The area of the largest mask in the model's input, as the reference counts it at four times the prototypes' size.
    const area = Math.max(...expected.maskPixels);
    const confidenceOfLargest = expected.confidence[expected.maskPixels.indexOf(area)]!;
    const largest = [...detections].find(({ confidence }) => Math.abs(confidence - confidenceOfLargest) < 0.001);
    const { maskCoefficients, xyxy } = largest!;
    const scale = letterbox.resizedWidth / letterbox.imageWidth;
    const [x1, y1, x2, y2] = xyxy.map((side, i) => (side * scale + (i % 2 ? letterbox.padY : letterbox.padX)) / 4);
    let inside = 0;
    for (let cell = 0; cell < 1600; cell++) {
      const [x, y] = [(cell % 40) + 0.5, Math.floor(cell / 40) + 0.5];
      const sum = maskCoefficients!.reduce(
        (total, weight, m) => total + weight * Number(tensor.data[1600 * m + cell]),
        0,
      );
      if (sum > 0 && x >= x1! && x < x2! && y >= y1! && y < y2!) inside++;
    }
    expect(Math.abs(16 * inside - area)).toBeLessThan(0.1 * area);
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
  });
});
