import type { Detections } from 'migraphx-yolo';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fastestDet, inputFormat } from '../../examples/fastestdet.mjs';
import {
  COCO_LABELS,
  Detector,
  type DetectorOptions,
  type Postprocessor,
  type PostprocessorOptions,
  requireOutput,
} from '../../lib/index.js';
import { averagePrecision, goldenPrecision } from '../support/average-precision.js';
import { channelMeter, METER_SIDE } from '../support/channel-meter.js';
import { describeShared, shared } from '../support/shared.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const opened: { close(): Promise<void> }[] = [];
afterAll(() => Promise.all(opened.map((detector) => detector.close())));

async function open<T>(
  decode: Postprocessor<T>['decode'],
  options: Omit<DetectorOptions, 'model'> = {},
): Promise<Detector<T>> {
  const detector = await Detector.create({
    model: channelMeter(),
    threads: 1,
    ...options,
    postprocessor: { name: 'meter', decode },
  });
  opened.push(detector);
  return detector;
}

/** Twice as wide as high, so that a letterbox has borders above and below. */
const PICTURE = { data: new Uint8Array(3 * 128 * 64).fill(51), width: 128, height: 64, channels: 3 } as const;

describe('a postprocessor', () => {
  it('is given the way back to the picture', async () => {
    const detector = await open((_outputs, image) => ({
      // In input pixels the picture fills rows 16 to 48.
      boxes: [...image.boxesToImage(Float32Array.of(8, 16, 56, 48, -10, 0, 70, 64))],
      points: [...image.pointsToImage(Float64Array.of(0, 16, 64, 64))],
      size: [image.width, image.height],
      letterbox: image.letterbox,
    }));
    const { boxes, points, size, letterbox } = await detector.detect(PICTURE);
    expect(size).toEqual([128, 64]);
    expect(letterbox).toMatchObject({ inputWidth: METER_SIDE, resizedHeight: 32, padY: 16, gain: 0.5 });
    expect(boxes).toEqual([16, 0, 112, 64, 0, 0, 128, 64]);
    expect(points).toEqual([0, 0, 128, 96]);
  });

  it('is told when its boxes are not in rows of four', async () => {
    const detector = await open((_outputs, image) => image.boxesToImage(new Float32Array(6)));
    const { cause } = await yoloErrorOf(detector.detect(PICTURE));
    expect(cause).toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: 'Expected xyxy to have 4 numbers a row but it has 6 in all',
    });
  });

  it('is given what create() and the call ask for', async () => {
    const detector = await open((_outputs, _image, options) => options, {
      confidenceThreshold: 0.4,
      classes: ['third', 'first'],
    });
    const defaults: PostprocessorOptions = {
      confidenceThreshold: 0.4,
      iouThreshold: undefined,
      classThresholds: undefined,
      classes: [0, 2],
      classAgnostic: false,
      maxDetections: 300,
      maxPerClass: Infinity,
      multiLabel: false,
      signal: undefined,
    };
    expect(await detector.detect(PICTURE)).toEqual(defaults);
    const { signal } = new AbortController();
    const call = {
      confidenceThreshold: 0.1,
      iouThreshold: 0.6,
      classThresholds: { second: 0.9 },
      maxPerClass: 2,
      signal,
    };
    expect(await detector.detect(PICTURE, call)).toEqual({
      ...defaults,
      ...call,
      classThresholds: new Map([[1, 0.9]]),
    });
  });

  it('may be async, and then each call has its own result', async () => {
    const waiting: (() => void)[] = [];
    const detector = await open(async (outputs) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return requireOutput(outputs, 'output0', { type: 'float32' }).data[4];
    });
    const bright = { ...PICTURE, data: new Uint8Array(PICTURE.data.length).fill(255) };
    const calls = Promise.all([detector.detect(PICTURE), detector.detect(bright)]);
    await expect.poll(() => waiting.length).toBe(2);
    // The later one first.
    waiting[1]!();
    waiting[0]!();
    const [dark, light] = await calls;
    expect(dark).toBeLessThan(light!);
  });

  it('that rejects is named, and the detector goes on', async () => {
    let fails = true;
    const cause = new Error('no answer');
    const detector = await open(async () => {
      if (fails) throw cause;
      return 'fine';
    });
    const error = await yoloErrorOf(detector.detect(PICTURE));
    expect(error).toMatchObject({
      code: 'ERR_YOLO_POSTPROCESSOR',
      phase: 'postprocess',
      cause,
      detail: { postprocessor: 'meter', outputs: ['output0'] },
    });
    expect(error.message).toMatch(/^The postprocessor "meter" failed on .*128×64.*: no answer$/);
    expect((await yoloErrorOf(detector.detectBatch([PICTURE]))).detail).toMatchObject({
      postprocessor: 'meter',
      index: 0,
    });
    fails = false;
    expect(await detector.detect(PICTURE)).toBe('fine');
  });

  it('that never ends is left at an abort, with its reason', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const detector = await open(() => {
      controller.abort(reason);
      return new Promise<never>(() => {});
    });
    await expect(detector.detect(PICTURE, { signal: controller.signal })).rejects.toBe(reason);
  });

  it('that ends with the abort is no failure of the postprocessor', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const detector = await open((_outputs, _image, { signal }) => {
      controller.abort(reason);
      signal?.throwIfAborted();
    });
    await expect(detector.detect(PICTURE, { signal: controller.signal })).rejects.toBe(reason);
  });

  it('may send what it is given to a thread of its own', async () => {
    const detector = await open((outputs, { letterbox, context }) => structuredClone({ outputs, letterbox, context }));
    const { outputs, context } = await detector.detect(PICTURE);
    expect(outputs.output0).toMatchObject({ type: 'float32', dims: [1, 3, 6] });
    expect(context).toMatchObject({ labels: ['first', 'second', 'third'], image: { width: 128, height: 64 } });
  });
});

describe('requireOutput()', () => {
  const outputs = {
    scores: { name: 'scores', type: 'float32', dims: [1, 80, 7], data: new Float32Array(560) },
    count: { name: 'count', type: 'int64', dims: [1], data: new BigInt64Array(1) },
  } as const;

  it('gives the output of that name, type and shape', () => {
    expect(requireOutput(outputs, 'scores')).toBe(outputs.scores);
    expect(requireOutput(outputs, 'scores', { type: 'float32', dims: [1, 80, null] })).toBe(outputs.scores);
    expect(requireOutput(outputs, 'count', { type: 'int64', dims: [1] }).data[0]).toBe(0n);
  });

  it.each([
    ['score', 'The model has no output "score"; did you mean "scores"?'],
    ['758', 'The model has no output "758"; it has "scores" float32 [1, 80, 7], "count" int64 [1]'],
    ['constructor', 'The model has no output "constructor"; it has "scores" float32 [1, 80, 7], "count" int64 [1]'],
  ])('says what there is instead of %s', (name, message) => {
    expect(() => requireOutput(outputs, name)).toThrow(
      expect.objectContaining({ code: 'ERR_YOLO_INVALID_ARGUMENT', message }),
    );
  });

  it.each([
    [{ type: 'float16' }, 'Expected the output "scores" float16 [1, 80, 7] but the model\'s is float32 [1, 80, 7]'],
    [
      { dims: [1, 85, null] },
      'Expected the output "scores" float32 [1, 85, any] but the model\'s is float32 [1, 80, 7]',
    ],
    [{ dims: [1, 80] }, 'Expected the output "scores" float32 [1, 80] but the model\'s is float32 [1, 80, 7]'],
  ] as const)('refuses another type or shape: %j', (expected, beginning) => {
    expect(() => requireOutput(outputs, 'scores', expected)).toThrow(
      expect.objectContaining({ code: 'ERR_YOLO_SHAPE_MISMATCH', message: expect.stringContaining(beginning) }),
    );
  });
});

describeShared('FastestDet, through the postprocessor of the examples', () => {
  let detector: Detector<Detections>;
  beforeAll(async () => {
    const model = shared('models/fastestdet_352.onnx');
    detector = await Detector.create({ model, inputFormat, labels: COCO_LABELS, postprocessor: fastestDet });
    opened.push(detector);
  });

  it('reaches its average precision', { timeout: 180_000 }, async () => {
    const reached = await averagePrecision(detector);
    const golden = goldenPrecision('fastestdet_352');
    expect(Math.abs(reached - golden), `AP ${reached}, reference ${golden}`).toBeLessThan(0.005);
  });

  it('keeps thresholds, classes and limits, and knows the file', async () => {
    const photo = shared('photos/classic/ultralytics_bus.jpg');
    const all = await detector.detect(photo);
    expect(all.source).toBe(photo);
    expect(all.timings?.inferenceMs).toBeGreaterThan(0);
    expect(new Set([...all].map(({ label }) => label))).toContain('bus');
    const people = await detector.detect(photo, { classes: ['person'], maxDetections: 2, confidenceThreshold: 0.5 });
    expect([...people]).toEqual([...all].filter(({ label }) => label === 'person').slice(0, 2));
    expect((await people.annotate()).subarray(1, 4).toString()).toBe('PNG');
  });

  it('is refused a model that is another', async () => {
    const model = shared('models/nanodet_m_320.onnx');
    const other = await Detector.create({ model, postprocessor: fastestDet });
    opened.push(other);
    const error = await yoloErrorOf(other.detect(shared('photos/classic/ultralytics_bus.jpg')));
    expect(error.code).toBe('ERR_YOLO_POSTPROCESSOR');
    expect(error.message).toMatch(/"FastestDet" failed on .*: The model has no output "758"; it has /);
  });
});
