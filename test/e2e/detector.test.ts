import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Detections, Detector, type ImageInput, type RawImage, YoloError } from '../../lib/index.js';
import { cachedModel, ownCacheFolder, PHOTO, photoPixels } from '../support/default-detector.js';
import { describeShared, shared } from '../support/shared.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const cacheFolder = ownCacheFolder();
let detector: Detector;
let photo: RawImage;

/** What was found, without the times it took. */
const boxes = (detections: Detections) => [...detections];

beforeAll(async () => {
  detector = await Detector.create({ cacheFolder });
  photo = await photoPixels();
});
afterAll(() => detector?.close());

describe('detect()', () => {
  it('finds the people and the aeroplane of a photo, best first, in its own pixels', async () => {
    const found = await detector.detect(PHOTO);
    expect(found.image).toEqual({ width: photo.width, height: photo.height });
    expect(boxes(found).map(({ label }) => label)).toEqual(expect.arrayContaining(['person', 'airplane']));
    const confidences = boxes(found).map(({ confidence }) => confidence);
    expect(confidences).toEqual([...confidences].sort((a, b) => b - a));
    for (const { xyxy, confidence, classId, label } of found) {
      const [x1, y1, x2, y2] = xyxy;
      expect(x1 >= 0 && y1 >= 0 && x1 < x2 && y1 < y2 && x2 <= photo.width && y2 <= photo.height).toBe(true);
      expect(confidence).toBeGreaterThan(0.25);
      expect(label).toBe(detector.labels[classId]);
    }
  });

  it('says what it ran on and how long each step took', async () => {
    expect(detector.device).toBe('cpu');
    expect(detector.fallbackReason).toEqual(expect.any(String));
    const { completed } = detector.stats();
    const { timings } = await detector.detect(PHOTO);
    expect(detector.stats().completed).toBe(completed + 1);
    const { inferenceMs, totalMs } = timings!;
    expect(Object.values(timings!).every((ms) => ms >= 0)).toBe(true);
    expect(inferenceMs).toBeGreaterThan(0);
    expect(totalMs).toBeGreaterThanOrEqual(inferenceMs);
  });

  it('finds the same, however the picture is given', async () => {
    const { data, width, height } = photo;
    const png = await sharp(data, { raw: { width, height, channels: 3 } })
      .png()
      .toBuffer();
    const path = join(cacheFolder, 'a b#c%20.png');
    writeFileSync(path, png);
    // A view into the middle of a larger buffer: its offset must be honoured.
    const larger = new Uint8Array(png.length + 100).fill(255);
    larger.set(png, 60);
    const withAlpha = await sharp(data, { raw: { width, height, channels: 3 } })
      .ensureAlpha()
      .raw()
      .toBuffer();
    const inputs: Record<string, ImageInput> = {
      path,
      'file: URL': pathToFileURL(path),
      'file: URL as text': pathToFileURL(path).href,
      Buffer: png,
      'Uint8Array view': larger.subarray(60, 60 + png.length),
      ArrayBuffer: new Uint8Array(png).buffer,
      Blob: new Blob([new Uint8Array(png)]),
      RawImage: photo,
      'RawImage, clamped': { ...photo, data: new Uint8ClampedArray(data) },
      'RawImage with opaque alpha': { ...photo, data: withAlpha, channels: 4 },
    };
    const expected = boxes(await detector.detect(path));
    expect(expected.length).toBeGreaterThan(0);
    for (const [kind, input] of Object.entries(inputs)) {
      expect({ kind, found: boxes(await detector.detect(input)) }).toEqual({ kind, found: expected });
    }
    expect(png.length, 'bytes of the caller are left as they were').toBeGreaterThan(0);
    expect(photo.data.length).toBe(width * height * 3);
  });

  it('honours orientation alike for a path, bytes and a batch, with boxes in the picture as displayed', async () => {
    const { data, width, height } = photo;
    const upright = sharp(data, { raw: { width, height, channels: 3 } });
    const turned = await upright.clone().rotate(270).png().toBuffer();
    const bytes = await sharp(turned).withMetadata({ orientation: 6 }).png().toBuffer();
    const path = join(cacheFolder, 'turned.png');
    writeFileSync(path, bytes);
    const expected = boxes(await detector.detect(photo));
    const [first, second] = await detector.detectBatch([path, bytes]);
    for (const found of [await detector.detect(path), await detector.detect(bytes), first, second]) {
      expect(found.image).toEqual({ width, height });
      expect(boxes(found)).toEqual(expected);
    }
  });

  it('takes gray pictures as their three equal channels, and lays alpha over the pad value', async () => {
    const { data, width, height } = photo;
    const gray = Uint8Array.from({ length: width * height }, (_, index) => data[index * 3]!);
    const threefold = Uint8Array.from({ length: data.length }, (_, index) => data[index - (index % 3)]!);
    expect(boxes(await detector.detect({ data: gray, width, height, channels: 1 }))).toEqual(
      boxes(await detector.detect({ data: threefold, width, height, channels: 3 })),
    );
    const clear = new Uint8Array(width * height * 4);
    const plain = new Uint8Array(data.length).fill(114);
    const options = { confidenceThreshold: 0.01 };
    expect(boxes(await detector.detect({ data: clear, width, height, channels: 4 }, options))).toEqual(
      boxes(await detector.detect({ data: plain, width, height, channels: 3 }, options)),
    );
  });

  it('keeps boxes above the threshold of the call, not equal to it', async () => {
    const all = boxes(await detector.detect(PHOTO, { confidenceThreshold: 0.1 }));
    const [, second] = all;
    const above = await detector.detect(PHOTO, { confidenceThreshold: second!.confidence });
    expect(boxes(above)).toEqual(all.filter(({ confidence }) => confidence > second!.confidence));
    expect(boxes(await detector.detect(PHOTO, { maxDetections: 1 }))).toEqual(all.slice(0, 1));
    expect(boxes(await detector.detect(PHOTO, { confidenceThreshold: 1 }))).toEqual([]);
  });

  it('suppresses by overlap where a threshold is given, although this model has suppressed already', async () => {
    const options = { confidenceThreshold: 0.05 };
    const all = boxes(await detector.detect(PHOTO, options));
    const strict = boxes(await detector.detect(PHOTO, { ...options, iouThreshold: 0.01 }));
    expect(strict.length).toBeLessThan(all.length);
    const anyClass = boxes(await detector.detect(PHOTO, { ...options, iouThreshold: 0.01, classAgnostic: true }));
    expect(anyClass.length).toBeLessThanOrEqual(strict.length);
    expect(all).toEqual(expect.arrayContaining(strict));
  });

  it('keeps the classes that are asked for by name or number', async () => {
    const all = boxes(await detector.detect(PHOTO));
    const planes = all.filter(({ label }) => label === 'airplane');
    expect(planes.length).toBeGreaterThan(0);
    expect(boxes(await detector.detect(PHOTO, { classes: ['airplane'] }))).toEqual(planes);
    expect(boxes(await detector.detect(PHOTO, { classes: [planes[0]!.classId] }))).toEqual(planes);
    const either = all.filter(({ label }) => label === 'airplane' || label === 'person');
    expect(boxes(await detector.detect(PHOTO, { classes: ['airplane', 0] }))).toEqual(either);
    expect(boxes(await detector.detect(PHOTO, { classes: ['zebra'] }))).toEqual([]);
  });

  it('holds classes to thresholds of their own, by name or number, of create() or of the call', async () => {
    const all = boxes(await detector.detect(PHOTO, { confidenceThreshold: 0.1 }));
    const wanted = (least: Record<string, number>) =>
      all.filter(({ label, confidence }) => confidence > Math.fround(least[label] ?? 0.25));
    const call = { classThresholds: { person: 0.5, 4: 0.1 } };
    const expected = wanted({ person: 0.5, airplane: 0.1 });
    expect(expected.length).toBeLessThan(wanted({}).length);
    expect(boxes(await detector.detect(PHOTO, call))).toEqual(expected);
    const strict = await Detector.create({ cacheFolder, classThresholds: { person: 1 } });
    expect(boxes(await strict.detect(PHOTO))).toEqual(wanted({ person: 1 }));
    expect(boxes(await strict.detect(PHOTO, call))).toEqual(expected);
    await strict.close();
    const error = await yoloErrorOf(detector.detect(PHOTO, { classThresholds: { persn: 0.5 } }));
    expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect(error.message).toContain('did you mean "person"?');
  });

  it('names the nearest class to one that the model does not have', async () => {
    const error = await yoloErrorOf(detector.detect(PHOTO, { classes: ['persn'] }));
    expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect(error.message).toContain('"persn"');
    expect(error.message).toContain('"person"');
    expect((await yoloErrorOf(Detector.create({ cacheFolder, classes: ['aeroplan'] }))).message).toContain(
      '"airplane"',
    );
    expect((await yoloErrorOf(detector.detect(PHOTO, { classes: [80] }))).message).toContain('[0, 79]');
  });

  it('refuses unknown options and values out of range, with the nearest name and the range', async () => {
    const misspelt = { confidenceTreshold: 0.4 } as object;
    for (const error of [
      await yoloErrorOf(detector.detect(PHOTO, misspelt)),
      await yoloErrorOf(detector.detectBatch([PHOTO], misspelt)),
      await yoloErrorOf(Detector.create({ cacheFolder, ...misspelt })),
    ]) {
      expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
      expect(error.message).toContain('"confidenceTreshold"');
      expect(error.message).toContain('"confidenceThreshold"');
    }
    expect((await yoloErrorOf(detector.detect(PHOTO, { confidenceThreshold: 25 }))).message).toMatch(
      /\[0, 1\].*25 \(number\)/,
    );
    expect((await yoloErrorOf(detector.detect(PHOTO, { maxDetections: 0 }))).message).toContain('maxDetections');
    expect((await yoloErrorOf(Detector.create({ device: 'cpuu' as 'cpu' }))).message).toContain('"cpu"');
  });

  it('rejects what is no picture, and never throws', async () => {
    for (const input of [undefined, null, 42, {}, [], { data: photo.data, width: 1, height: 1, channels: 3 }]) {
      const promise = detector.detect(input as unknown as ImageInput);
      expect((await yoloErrorOf(promise)).code).toMatch(/^ERR_YOLO_(INVALID_ARGUMENT|IMAGE_DECODE|SHAPE_MISMATCH)$/);
    }
    expect((await yoloErrorOf(detector.detectBatch(PHOTO as unknown as ImageInput[]))).code).toBe(
      'ERR_YOLO_INVALID_ARGUMENT',
    );
  });

  it('goes on after a picture that failed', async () => {
    const missing = await yoloErrorOf(detector.detect(join(cacheFolder, 'nowhere.jpg')));
    expect(missing.code).toBe('ERR_YOLO_IMAGE_DECODE');
    expect(missing.message).toContain('nowhere.jpg');
    const cut = readFileSync(PHOTO).subarray(0, 100);
    expect((await yoloErrorOf(detector.detect(cut))).code).toBe('ERR_YOLO_IMAGE_DECODE');
    expect((await detector.detect(PHOTO)).length).toBeGreaterThan(0);
  });

  it('rejects with the reason of a signal: before, while it waits, and in mid-run', async () => {
    const reason = new Error('no longer wanted');
    await expect(detector.detect(PHOTO, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(detector.detectBatch([PHOTO, PHOTO], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(Detector.create({ cacheFolder, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

    const running = new AbortController();
    const waiting = new AbortController();
    const first = detector.detect(PHOTO, { signal: running.signal });
    const second = detector.detect(PHOTO);
    const third = detector.detect(PHOTO, { signal: waiting.signal });
    const settled = Promise.allSettled([first, second, third]);
    running.abort(reason);
    waiting.abort('words are a reason too');
    const [one, two, three] = await settled;
    expect(one).toEqual({ status: 'rejected', reason });
    expect(two.status).toBe('fulfilled');
    expect(three).toEqual({ status: 'rejected', reason: 'words are a reason too' });
    expect((await detector.detect(PHOTO)).length).toBeGreaterThan(0);
  });

  it('takes one signal for any number of calls, without a warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const { signal } = new AbortController();
    const pictures: RawImage[] = Array.from({ length: 12 }, () => ({
      data: new Uint8Array(3),
      width: 1,
      height: 1,
      channels: 3,
    }));
    await Promise.all(pictures.map((picture) => detector.detect(picture, { signal })));
    await detector.detectBatch(pictures, { signal });
    // Warnings come with the next tick.
    await new Promise(setImmediate);
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});

describe('detectBatch()', () => {
  it('equals detect() for pictures of different sizes and kinds', async () => {
    const small = await sharp(PHOTO).resize(200, 90, { fit: 'fill' }).png().toBuffer();
    const tall = await sharp(PHOTO).extract({ left: 100, top: 0, width: 211, height: photo.height }).png().toBuffer();
    const pictures = [PHOTO, small, photo, new Blob([new Uint8Array(tall)]), pathToFileURL(PHOTO)] as const;
    const batch = await detector.detectBatch(pictures, { confidenceThreshold: 0.1 });
    expect(batch).toHaveLength(5);
    for (const [index, picture] of pictures.entries()) {
      const single = await detector.detect(picture, { confidenceThreshold: 0.1 });
      expect(boxes(batch[index]!)).toEqual(boxes(single));
      expect(batch[index]!.image).toEqual(single.image);
    }
  });

  it('gives nothing for no pictures', async () => {
    expect(await detector.detectBatch([])).toEqual([]);
  });

  it('names the picture that failed, and leaves the detector usable', async () => {
    const error = await yoloErrorOf(detector.detectBatch([PHOTO, join(cacheFolder, 'nowhere.jpg'), PHOTO]));
    expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
    expect(error.detail).toMatchObject({ index: 1 });
    expect(error.message).toContain('nowhere.jpg');
    expect((await detector.detectBatch([PHOTO]))[0].length).toBeGreaterThan(0);
  });
});

describe('create()', () => {
  it('takes a model as path, URL and bytes, and leaves the bytes to the caller', async () => {
    const path = cachedModel(cacheFolder);
    const bytes = new Uint8Array(readFileSync(path));
    const expected = boxes(await detector.detect(PHOTO));
    for (const model of [path, pathToFileURL(path), bytes, bytes.buffer, Buffer.from(bytes)]) {
      const other = await Detector.create({ model });
      expect(boxes(await other.detect(PHOTO))).toEqual(expected);
      await other.close();
    }
    expect(bytes.byteLength).toBeGreaterThan(0);
  });

  it('tells a missing file and a file of another kind apart', async () => {
    const missing = await yoloErrorOf(Detector.create({ model: join(cacheFolder, 'nowhere.onnx') }));
    expect(missing.code).toBe('ERR_YOLO_MODEL_NOT_FOUND');
    expect(missing.message).toContain('nowhere.onnx');
    for (const bytes of [
      new Uint8Array(0),
      readFileSync(PHOTO),
      readFileSync(cachedModel(cacheFolder)).subarray(0, 50_000),
    ]) {
      expect((await yoloErrorOf(Detector.create({ model: bytes }))).code).toBe('ERR_YOLO_MODEL_PARSE');
    }
  });

  it('takes thresholds and classes for all calls, which a call overrides', async () => {
    const own = await Detector.create({ cacheFolder, confidenceThreshold: 0.5, classes: ['person'], maxDetections: 2 });
    const low = { confidenceThreshold: 0.25 };
    expect(boxes(await own.detect(PHOTO))).toEqual(
      boxes(await detector.detect(PHOTO, { confidenceThreshold: 0.5, classes: ['person'], maxDetections: 2 })),
    );
    expect(boxes(await own.detect(PHOTO, { ...low, classes: ['airplane'], maxDetections: 300 }))).toEqual(
      boxes(await detector.detect(PHOTO, { classes: ['airplane'] })),
    );
    await own.close();
  });

  it('uses the labels that it is given', async () => {
    const labels = detector.labels.map((label) => `a ${label}`);
    const own = await Detector.create({ cacheFolder, labels });
    expect(own.labels).toEqual(labels);
    const found = boxes(await own.detect(PHOTO, { classes: ['a person'] }));
    expect(found.length).toBeGreaterThan(0);
    expect(found.every(({ label }) => label === 'a person')).toBe(true);
    await own.close();
  });

  it('never falls back from a device that was asked for', async () => {
    const cpu = await Detector.create({ cacheFolder, device: 'cpu' });
    expect(cpu.device).toBe('cpu');
    expect(cpu.fallbackReason).toBeUndefined();
    await cpu.close();
    for (const device of ['gpu', 'gpu:3', 'webgpu', 'ref'] as const) {
      const error = await yoloErrorOf(Detector.create({ cacheFolder, device }));
      expect(error.code).toBe('ERR_YOLO_NO_DEVICE');
      expect(error.message).toContain(device);
    }
  });

  it('refuses a head that does not exist, with those that do', async () => {
    const error = await yoloErrorOf(Detector.create({ cacheFolder, head: 'end-to-ent' }));
    expect(error.code).toMatch(/^ERR_YOLO_(INVALID_ARGUMENT|HEAD_UNKNOWN)$/);
    expect(error.message).toContain('end-to-end');
  });

  it('gives a postprocessor the raw outputs and the way back to the picture', async () => {
    const raw = await Detector.create({
      cacheFolder,
      postprocessor: {
        name: 'rows',
        decode: (outputs, image) => ({ tensors: Object.values(outputs), image }),
      },
    });
    const { tensors, image } = await raw.detect(PHOTO);
    expect(tensors).toHaveLength(1);
    expect(tensors[0]!.dims).toEqual([1, 100, 6]);
    expect(image).toMatchObject({ width: photo.width, height: photo.height });
    expect(image.letterbox).toMatchObject({ imageWidth: photo.width, imageHeight: photo.height });
    const [one, two] = await raw.detectBatch([PHOTO, photo]);
    expect(one.tensors[0]!.data).toEqual(tensors[0]!.data);
    expect(two.image.width).toBe(photo.width);
    await raw.close();
  });

  it('names the postprocessor that threw, with its error as the cause', async () => {
    const cause = new RangeError('seven');
    const faulty = await Detector.create({
      cacheFolder,
      postprocessor: {
        name: 'seven',
        decode: () => {
          throw cause;
        },
      },
    });
    const error = await yoloErrorOf(faulty.detect(PHOTO));
    expect(error).toMatchObject({ code: 'ERR_YOLO_POSTPROCESSOR', cause });
    expect(error.message).toContain('"seven"');
    await faulty.close();
  });
});

describe('close()', () => {
  it('finishes what is under way, then rejects every call with one error', async () => {
    const own = await Detector.create({ cacheFolder });
    const underWay = [own.detect(PHOTO), own.detect(PHOTO)];
    const closing = own.close();
    const late = own.detect(PHOTO);
    expect((await yoloErrorOf(late)).code).toBe('ERR_YOLO_CLOSED');
    await closing;
    for (const found of await Promise.all(underWay)) expect(found.length).toBeGreaterThan(0);
    expect((await yoloErrorOf(own.detect(PHOTO))).code).toBe('ERR_YOLO_CLOSED');
    expect((await yoloErrorOf(own.detectBatch([PHOTO]))).code).toBe('ERR_YOLO_CLOSED');
    await expect(own.close()).resolves.toBeUndefined();
  });

  it('is what the end of an await using block calls', async () => {
    const own = await Detector.create({ cacheFolder });
    await own[Symbol.asyncDispose]();
    expect((await yoloErrorOf(own.detect(PHOTO))).code).toBe('ERR_YOLO_CLOSED');
  });

  it('of one detector leaves another of the same process alone', async () => {
    const expected = boxes(await detector.detect(PHOTO));
    const other = await Detector.create({ cacheFolder });
    const [mine, others] = await Promise.all([detector.detect(PHOTO), other.detect(PHOTO)]);
    expect(boxes(mine)).toEqual(expected);
    expect(boxes(others)).toEqual(expected);
    await other.close();
    expect(boxes(await detector.detect(PHOTO))).toEqual(expected);
  });
});

describe('many calls at once', () => {
  it('hold few decoded pictures, and give each call its own result', async () => {
    const { data, width, height } = photo;
    const blank: RawImage = { ...photo, data: new Uint8Array(data.length).fill(114) };
    const pictures = Array.from({ length: 24 }, (_, index) => (index % 3 === 0 ? blank : PHOTO));
    const expected = boxes(await detector.detect(PHOTO));
    const all = await Promise.all(pictures.map((picture) => detector.detect(picture)));
    all.forEach((found, index) => {
      expect(boxes(found)).toEqual(index % 3 === 0 ? [] : expected);
      expect(found.image).toEqual({ width, height });
    });
    const { lanes, decodedHighWater, decoded, queued } = detector.stats();
    expect(decodedHighWater).toBeLessThanOrEqual(lanes + 1);
    expect({ decoded, queued }).toEqual({ decoded: 0, queued: 0 });
  });

  it('beyond maxQueue are refused, and the others served', async () => {
    const own = await Detector.create({ cacheFolder, maxQueue: 2 });
    const settled = await Promise.allSettled(Array.from({ length: 8 }, () => own.detect(PHOTO)));
    const refused = settled.filter((one) => one.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(settled.length - refused.length).toBeGreaterThanOrEqual(2);
    for (const { reason } of refused) expect(YoloError.is(reason, 'ERR_YOLO_QUEUE_FULL')).toBe(true);
    expect((await own.detect(PHOTO)).length).toBeGreaterThan(0);
    await own.close();
  });

  it('on two lanes give what one lane gives', async () => {
    const own = await Detector.create({ cacheFolder, lanes: 2, threads: 1 });
    expect(own.stats().lanes).toBe(2);
    const small = await sharp(PHOTO).resize(300, 200, { fit: 'fill' }).png().toBuffer();
    const pictures = [PHOTO, small, PHOTO, small];
    const single = await Detector.create({ cacheFolder, threads: 1 });
    const expected = await single.detectBatch(pictures);
    const found = await own.detectBatch(pictures);
    expect(found.map(boxes)).toEqual(expected.map(boxes));
    await Promise.all([own.close(), single.close()]);
  });
});

describe('YoloError.is()', () => {
  it('knows errors of another copy of the package', async () => {
    vi.resetModules();
    const other = await import('../../lib/errors.js');
    expect(other.YoloError).not.toBe(YoloError);
    const error = new other.YoloError('ERR_YOLO_CLOSED', 'closed');
    expect(error instanceof YoloError).toBe(false);
    expect(YoloError.is(error)).toBe(true);
    expect(YoloError.is(error, 'ERR_YOLO_CLOSED')).toBe(true);
    expect(YoloError.is(error, 'ERR_YOLO_CACHE')).toBe(false);
    for (const value of [undefined, null, 'ERR_YOLO_CLOSED', new Error('closed'), { code: 'ERR_YOLO_CLOSED' }]) {
      expect(YoloError.is(value)).toBe(false);
    }
  });
});

describeShared('a model whose batch dimension is open', () => {
  it.each([1, 2, 3, 8])('gives detect() boxes for five pictures in runs of at most %i', async (maxBatch) => {
    const model = gunzipSync(readFileSync(shared('models/layouts/yolov8n_dynamic_batch.onnx.gz')));
    const own = await Detector.create({ model, maxBatch });
    const pictures: ImageInput[] = [
      shared('photos/classic/ultralytics_bus.jpg'),
      shared('photos/classic/darknet_dog.jpg'),
      photo,
      readFileSync(shared('photos/classic/coco_000000039769.png')),
      shared('photos/classic/ultralytics_zidane.jpg'),
    ];
    const batch = await own.detectBatch(pictures);
    for (const [index, picture] of pictures.entries()) {
      const single = boxes(await own.detect(picture));
      const found = boxes(batch[index]!);
      expect(single.length).toBeGreaterThan(0);
      expect(found.map(({ label }) => label)).toEqual(single.map(({ label }) => label));
      // A larger batch may add up in another order: the last bits of a float32.
      found.forEach((box, row) => {
        expect(Math.abs(box.confidence - single[row]!.confidence)).toBeLessThan(1e-4);
        box.xyxy.forEach((side, at) => {
          expect(Math.abs(side - single[row]!.xyxy[at]!)).toBeLessThan(0.01);
        });
      });
    }
    await own.close();
  });

  it('names the bad picture of a batch and goes on', async () => {
    const model = gunzipSync(readFileSync(shared('models/layouts/yolov8n_dynamic_batch.onnx.gz')));
    const own = await Detector.create({ model });
    const error = await yoloErrorOf(own.detectBatch([PHOTO, new Uint8Array([1, 2, 3]), PHOTO]));
    expect(error).toMatchObject({ code: 'ERR_YOLO_IMAGE_DECODE', detail: { index: 1 } });
    expect((await own.detectBatch([PHOTO, PHOTO])).map((found) => found.length)).toEqual([
      (await own.detect(PHOTO)).length,
      (await own.detect(PHOTO)).length,
    ]);
    await own.close();
  });
});

describeShared('a model whose height and width are open', () => {
  it('runs at 640 pixels, or at the size that is asked for', async () => {
    const model = shared('models/yolov8n_dynamic_float.onnx');
    const bus = shared('photos/classic/ultralytics_bus.jpg');
    const large = await Detector.create({ model });
    const small = await Detector.create({ model, imageSize: [320, 256] });
    expect((await large.detect(bus)).length).toBe(5);
    const found = await small.detect(bus);
    expect(found.length).toBeGreaterThan(0);
    expect(found.image).toEqual({ width: 810, height: 1080 });
    await Promise.all([large.close(), small.close()]);
  });
});
