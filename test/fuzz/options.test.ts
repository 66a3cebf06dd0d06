import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { assertImageInput } from '../../lib/image/decode.js';
import {
  COCO_LABELS,
  Detections,
  type DetectOptions,
  Detector,
  type DetectorOptions,
  type ImageInput,
  type YoloError,
} from '../../lib/index.js';
import { checkDetectOptions, checkDetectorOptions, resolveClasses, resolveClassThresholds } from '../../lib/options.js';
import { channelMeter } from '../support/channel-meter.js';
import { anyValue, FUZZ_TIMEOUT_MS, fewOptions, fuzz, options, resultOrYoloError } from './fuzz.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-fuzz-'));
const opened: Detector[] = [];
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  rmSync(folder, { recursive: true, force: true });
});

/** Numbers about the ends of ranges, most of them inside. */
const about = (least: number, most: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.double({ min: least, max: most, noNaN: true }) },
    { weight: 2, arbitrary: fc.constantFrom(least, most) },
    { weight: 1, arbitrary: fc.constantFrom(least - 1e-9, most + 1e-9, -most, Number.NaN, Infinity, -0) },
  );
const whole = (least: number, most: number) =>
  fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: least, max: most }) },
    { weight: 1, arbitrary: fc.constantFrom(least - 1, most + 0.5, Infinity, 2 ** 53) },
  );
const className = fc.constantFrom('first', 'second', 'third', 'person', 'First', '0', '2', '3', '', '__proto__');

const detection = {
  confidenceThreshold: about(0, 1),
  classThresholds: fc.dictionary(className, about(0, 1), { maxKeys: 3 }),
  iouThreshold: about(0, 1),
  classAgnostic: fc.boolean(),
  maxDetections: whole(1, 400),
  maxPerClass: whole(1, 400),
  multiLabel: fc.boolean(),
  classes: fc.array(fc.oneof(className, whole(0, 3)), { maxLength: 4 }),
};
const signals = fc.constantFrom(new AbortController().signal, AbortSignal.abort('given up'));
const threeNumbers = fc.array(about(-1000, 1000), { minLength: 2, maxLength: 4 });
const inputFormat = options({
  channelOrder: fc.constantFrom('rgb', 'bgr', 'RGB'),
  divisor: about(0.1, 300),
  mean: threeNumbers,
  std: threeNumbers,
  letterbox: options({
    placement: fc.constantFrom('centre', 'top-left', 'stretch', 'center'),
    scaleUp: fc.boolean(),
    padValue: whole(0, 255),
  }),
});
const creation = {
  ...detection,
  device: fc.constantFrom('auto', 'cpu', 'gpu', 'gpu:0', 'gpu:x', 'webgpu', 'ref'),
  lanes: whole(1, 2),
  threads: whole(1, 2),
  maxQueue: whole(0, 20),
  maxBatch: whole(1, 16),
  imageSize: fc.oneof(fc.constantFrom(64, [64, 64], 640), fc.array(whole(1, 20000), { maxLength: 3 })),
  rectangle: fc.boolean(),
  anchors: fc.oneof(
    fc.constantFrom(
      'yolov5',
      'yolov7',
      'yolov9',
      [[10, 13]],
      [[10, -13]],
      [[10]],
      [[]],
      [],
      [[Number.NaN, 1]],
      new Array(2),
    ),
    fc.array(fc.array(whole(-1, 500), { maxLength: 6 }), { maxLength: 3 }),
  ),
  head: fc.constantFrom('end-to-end', 'anchor-free', 'yolox', 'end-to-end ', '__proto__'),
  inputFormat,
  labels: fc.array(fc.string({ maxLength: 5 }), { minLength: 2, maxLength: 4 }),
  limitInputPixels: whole(1, 10_000),
  autoOrient: fc.boolean(),
  shrinkOnLoad: fc.boolean(),
  urls: fc.oneof(
    fc.boolean(),
    options({
      allowPrivateAddresses: fc.boolean(),
      maxBytes: whole(1, 10_000),
      timeoutMs: whole(1, 2 ** 31 - 1),
      maxRedirects: whole(0, 5),
    }),
  ),
  allowDownload: fc.constant(false),
  cacheFolder: fc.constant(folder),
  onProgress: fc.constant(() => {}),
  signal: signals,
};

const pixels = fc.uint8Array({ minLength: 12, maxLength: 48 });
const rawImage = options({
  data: fc.oneof(
    pixels,
    pixels.map((data) => new Uint8ClampedArray(data)),
    fc.constant(new Uint8Array(300)),
  ),
  width: whole(1, 10),
  height: whole(1, 10),
  channels: whole(1, 4),
});
const goodImage: ImageInput = { data: new Uint8Array(300).fill(200), width: 10, height: 10, channels: 3 };
const axes = fc.oneof(
  { weight: 3, arbitrary: fc.array(whole(-4, 10), { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom([3, 4], [2, 2, 3], [6, 3, 1], [2, 2, 70], new Array(2)) },
  { weight: 1, arbitrary: fc.array(anyValue, { maxLength: 3 }) },
);
const ndArray = options({ data: pixels, shape: axes, stride: axes, offset: whole(0, 12) });
const image = fc.oneof(
  { weight: 3, arbitrary: ndArray },
  { weight: 4, arbitrary: rawImage },
  { weight: 3, arbitrary: fc.constant<unknown>(goodImage) },
  { weight: 2, arbitrary: anyValue },
  { weight: 1, arbitrary: pixels },
  { weight: 1, arbitrary: fc.string().map((text) => join(folder, 'none', `${text}.jpg`)) },
);

const isFraction = (value: unknown) => value === undefined || (typeof value === 'number' && value >= 0 && value <= 1);
const isCount = (value: unknown) => value === undefined || value === Infinity || Number.isSafeInteger(value);

/** What every set of options that was let through must keep to. */
function expectInRange(one: DetectOptions): void {
  expect(
    [one.confidenceThreshold, one.iouThreshold, ...Object.values(one.classThresholds ?? {})].every(isFraction),
  ).toBe(true);
  expect([one.maxDetections, one.maxPerClass].every(isCount)).toBe(true);
  for (const wanted of one.classes ?? []) expect(['string', 'number']).toContain(typeof wanted);
}

/** What a stream gives of its last picture; its error is thrown. */
async function lastOf(items: AsyncIterable<{ detections?: Detections; error?: YoloError }>): Promise<Detections> {
  const all = [];
  for await (const item of items) all.push(item);
  const { detections, error } = all.at(-1)!;
  if (error !== undefined) throw error;
  return detections!;
}

describe('options of every kind and value', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('of create() are taken, or refused with a YoloError', () =>
    fuzz(
      50_000,
      fc.oneof(
        { weight: 9, arbitrary: fc.oneof(options(creation), fewOptions(creation)) },
        { weight: 1, arbitrary: anyValue },
      ),
      async (one) => {
        await resultOrYoloError(() => {
          checkDetectorOptions(one);
          expectInRange(one as DetectorOptions);
        });
      },
    ));

  it('of detect() are taken, or refused with a YoloError', () =>
    fuzz(
      50_000,
      fc.oneof(
        { weight: 9, arbitrary: fewOptions({ ...detection, signal: signals }) },
        { weight: 1, arbitrary: anyValue },
      ),
      async (one) => {
        await resultOrYoloError(() => {
          checkDetectOptions(one);
          const { classes, classThresholds } = one as DetectOptions;
          expectInRange(one as DetectOptions);
          const labels = ['first', 'second', 'third'];
          for (const id of classes === undefined ? [] : resolveClasses(classes, labels))
            expect([0, 1, 2]).toContain(id);
          const thresholds = classThresholds && resolveClassThresholds(classThresholds, labels);
          for (const id of thresholds?.keys() ?? []) expect([0, 1, 2]).toContain(id);
        });
      },
    ));

  it('go through a detector, with pictures of every kind, and leave it as it was', async () => {
    const detector = await Detector.create({ model: channelMeter({ openBatch: true }), threads: 1 });
    opened.push(detector);
    const expected = JSON.stringify(await detector.detect(goodImage));
    const streaming = { inFlight: whole(1, 4), onError: fc.constantFrom('throw', 'yield') };
    const call = fc.oneof(
      fc.tuple(image, fewOptions({ ...detection, signal: signals }), fc.constantFrom('picture', 'batch')),
      fc.tuple(image, fewOptions({ ...detection, ...streaming, signal: signals }), fc.constant('stream')),
    );
    await fuzz(5_000, call, async ([picture, given, kind]) => {
      const { signal } = given;
      try {
        const found = await resultOrYoloError(() =>
          kind === 'batch'
            ? detector.detectBatch([goodImage, picture as ImageInput], given).then((both) => both[1])
            : kind === 'stream'
              ? lastOf(detector.stream([goodImage, picture as ImageInput], given))
              : detector.detect(picture as ImageInput, given),
        );
        for (const { xyxy, confidence } of found ?? []) expect([...xyxy, confidence].every(Number.isFinite)).toBe(true);
        expect(found === undefined || found.length <= ((given.maxDetections as number | undefined) ?? 300)).toBe(true);
      } catch (error) {
        if (!(signal instanceof AbortSignal && signal.aborted && error === signal.reason)) throw error;
      }
    });
    expect(JSON.stringify(await detector.detect(goodImage))).toBe(expected);
    expect(detector.stats()).toMatchObject({ queued: 0, decoded: 0, lanesReplaced: 0 });
  });

  it('make a detector that works, or none', () =>
    fuzz(1_000, fewOptions(creation), async (given) => {
      // Worker threads by the hundred are allowed, but not what is tried here.
      if ([given.lanes, given.threads].some((count) => typeof count === 'number' && count > 2)) return;
      const { signal } = given;
      try {
        const detector = await resultOrYoloError(() =>
          Detector.create({ ...(given as DetectorOptions), model: channelMeter() }),
        );
        if (detector === undefined) return;
        const found = await resultOrYoloError(() => detector.detect(goodImage));
        await detector.close();
        for (const { label } of found ?? []) expect(detector.labels).toContain(label);
      } catch (error) {
        if (!(signal instanceof AbortSignal && signal.aborted && error === signal.reason)) throw error;
      }
    }));
});

describe('a picture of every kind and value', { timeout: FUZZ_TIMEOUT_MS }, () => {
  it('is taken, or refused with a YoloError whose message is short', () =>
    fuzz(100_000, image, (one) =>
      resultOrYoloError(() => {
        try {
          assertImageInput(one);
        } catch (error) {
          expect((error as Error).message.length).toBeLessThan(1000);
          throw error;
        }
      }),
    ));
});

const coordinate = fc.oneof(fc.float({ min: -50, max: 150, noNaN: true }), fc.constantFrom(-1e30, 1e30, 0, 100));
const row = fc.tuple(fc.array(coordinate, { minLength: 4, maxLength: 4 }), about(0, 1), whole(0, 2));
const columns = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.array(row, { maxLength: 5 }).map((rows) => ({
      xyxy: Float32Array.from(rows.flatMap(([box]) => box)),
      confidence: Float32Array.from(rows, ([, confidence]) => confidence),
      classId: Int32Array.from(rows, ([, , id]) => id),
    })),
  },
  { weight: 1, arbitrary: anyValue },
);
const context = fc.oneof(
  {
    weight: 12,
    arbitrary: options({
      labels: fc.constantFrom<readonly string[]>(['a', 'b', 'c'], COCO_LABELS, ['<&"', '\0', '😀'.repeat(50)]),
      image: fc.oneof(
        { weight: 6, arbitrary: fc.constant({ width: 10, height: 10 }) },
        { weight: 1, arbitrary: options({ width: whole(1, 100), height: whole(1, 100) }) },
      ),
      source: fc.constantFrom(join(folder, 'none.png'), new URL('file:///none.png')),
      autoOrient: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: anyValue },
);
const path = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom('a.png', 'b.JPG', 'c.webp', 'd.tif', 'e.gif', 'f', 'g\0.png', '.png')
      .map((name) => join(folder, name)),
  },
  { weight: 1, arbitrary: anyValue.filter((value) => typeof value !== 'string') },
);

describe('detections of every kind and value', { timeout: FUZZ_TIMEOUT_MS }, () => {
  const made = fc.tuple(columns, context).map(([one, other]) => [one, other] as Parameters<typeof Detections.from>);

  it('are made whole, or refused with a YoloError, and export to JSON and back', () =>
    fuzz(
      50_000,
      fc.tuple(made, options({ imageId: whole(0, 99), categoryIds: fc.array(whole(0, 90)) })),
      ([given, coco]) =>
        resultOrYoloError(async () => {
          const detections = Detections.from(...given);
          const json = detections.toJSON();
          expect(JSON.parse(JSON.stringify(detections))).toEqual(json);
          expect(detections.filter(({ classId }) => classId === 0).length).toBeLessThanOrEqual(detections.length);
          const merged = Detections.merge([detections, detections]);
          expect(merged.length).toBe(2 * detections.length);
          const results = await resultOrYoloError(() => detections.toCocoResults(coco as { imageId: number }));
          expect(JSON.parse(JSON.stringify(results ?? []))).toEqual(results ?? []);
        }),
    ));

  it('are merged and filtered with anything, or a YoloError says what was expected', () => {
    const some = Detections.from(
      { xyxy: new Float32Array(4), confidence: new Float32Array(1), classId: new Int32Array(1) },
      { labels: ['a'], image: { width: 1, height: 1 } },
    );
    return fuzz(20_000, anyValue, async (one) => {
      await resultOrYoloError(() => Detections.merge(one as Detections[]));
      await resultOrYoloError(() => Detections.merge([some, one as Detections]));
      await resultOrYoloError(() => some.toCocoResults(one as { imageId: number }));
      if (typeof one !== 'function') await resultOrYoloError(() => some.filter(one as () => boolean));
    });
  });

  it('are drawn and cut out, or a YoloError says why not, and no unfinished file stays', async () => {
    const drawing = options({ image, padding: whole(0, 30), stray: fc.constant(undefined) });
    const index = fc.oneof(whole(-3, 3), anyValue);
    await fuzz(3_000, fc.tuple(made, path, drawing, index), async ([given, to, how, at]) => {
      const detections = await resultOrYoloError(() => Detections.from(...given));
      if (detections === undefined) return;
      const { stray, padding, ...rest } = how;
      const annotated = { ...rest, image: rest.image ?? goodImage };
      await resultOrYoloError(() => detections.annotate(to as string, annotated as { image: ImageInput }));
      await resultOrYoloError(() => detections.crop(at as number, to as string, { ...annotated, padding } as object));
      await resultOrYoloError(() =>
        detections.saveCrops((() => to) as () => string, { ...annotated, padding } as object),
      );
    });
    expect(readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.tmp'))).toEqual([]);
  });
});
