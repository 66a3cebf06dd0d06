import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Detection, type Detections, Detector, type Letterbox } from '../../lib/index.js';
import { type CocoResult, type CocoTruth, evaluateCoco } from '../support/coco-eval.js';
import { ownCacheFolder, PHOTO } from '../support/default-detector.js';
import { describeShared, shared } from '../support/shared.js';

const cacheFolder = ownCacheFolder();

function overlap({ xyxy: [ax1, ay1, ax2, ay2] }: Detection, { xyxy: [bx1, by1, bx2, by2] }: Detection): number {
  const both =
    Math.max(0, Math.min(ax2, bx2) - Math.max(ax1, bx1)) * Math.max(0, Math.min(ay2, by2) - Math.max(ay1, by1));
  return both / ((ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - both);
}

/** Each sure detection of one is found in the other, about where it was: other pixels give other boxes; that none is shifted is tested without a model. */
function expectAlike(found: Detections, expected: Detections): void {
  expect(found.image).toEqual(expected.image);
  const sure = [...expected].filter(({ confidence }) => confidence > 0.5);
  expect(sure.length).toBeGreaterThan(2);
  for (const one of sure) {
    const best = Math.max(...[...found].filter(({ label }) => label === one.label).map((other) => overlap(one, other)));
    expect(best, `${one.label} ${one.xyxy}`).toBeGreaterThan(0.75);
  }
}

describe('shrinkOnLoad', () => {
  let whole: Detector;
  let shrinking: Detector;
  beforeAll(async () => {
    whole = await Detector.create({ cacheFolder, threads: 1 });
    shrinking = await Detector.create({ cacheFolder, threads: 1, shrinkOnLoad: true });
  });
  afterAll(() => Promise.all([whole.close(), shrinking.close()]));

  for (const orientation of [1, 6, 8]) {
    it(`leaves boxes in the pixels of the picture at full size, orientation ${orientation}`, async () => {
      // The stored picture lies on its side, so that the one which is displayed is upright.
      const upright = sharp(await sharp(PHOTO).resize(2563, 1939, { fit: 'fill' }).png().toBuffer());
      const stored = orientation === 1 ? upright : upright.rotate(orientation === 6 ? 270 : 90);
      const file = await stored.withMetadata({ orientation }).jpeg({ quality: 95 }).toBuffer();
      const [found, second] = await shrinking.detectBatch([file, PHOTO]);
      expect(found.image).toEqual({ width: 2563, height: 1939 });
      expectAlike(found, await whole.detect(file));
      expect(second.toJSON()).toEqual((await whole.detect(PHOTO)).toJSON());
      const png = await found.annotate(undefined, { image: file });
      expect(await sharp(png).metadata()).toMatchObject({ width: 2563, height: 1939 });
    });
  }

  it('tells a postprocessor of the picture at full size', async () => {
    const file = await sharp(PHOTO).resize(2563, 1939, { fit: 'fill' }).jpeg().toBuffer();
    const seen: { width: number; height: number; letterbox: Letterbox }[] = [];
    for (const shrinkOnLoad of [false, true]) {
      const detector = await Detector.create({
        cacheFolder,
        threads: 1,
        shrinkOnLoad,
        postprocessor: {
          name: 'letterbox',
          decode: (_, { width, height, letterbox }) => ({ width, height, letterbox }),
        },
      });
      seen.push(await detector.detect(file));
      await detector.close();
    }
    expect(seen[0]!.letterbox.imageWidth).toBe(2563);
    expect(seen[1]).toEqual(seen[0]);
  });
});

describeShared('shrinkOnLoad on COCO photos', () => {
  const truth: CocoTruth & { images: { id: number; file_name: string }[] } = JSON.parse(
    readFileSync(shared('photos/coco/evaluation.json'), 'utf8'),
  );

  async function averagePrecision(imageSize: number, shrinkOnLoad: boolean): Promise<number> {
    const model = shared('models/yolov8n_dynamic_float.onnx');
    const detector = await Detector.create({
      model,
      imageSize,
      shrinkOnLoad,
      confidenceThreshold: 0.001,
      multiLabel: true,
    });
    const results: CocoResult[] = [];
    for (const { id, file_name } of truth.images) {
      const detections = await detector.detect(shared(`photos/coco/evaluation/${file_name}`));
      results.push(...detections.toCocoResults({ imageId: id }));
    }
    await detector.close();
    return evaluateCoco(truth, results).stats.AP;
  }

  // Of photos of 640 pixels: decoded at a half for the first two, at a quarter for the last.
  it.each([192, 160, 96])('leaves AP what it is for an input of %s', async (imageSize) => {
    const whole = await averagePrecision(imageSize, false);
    const shrunk = await averagePrecision(imageSize, true);
    expect(whole).toBeGreaterThan(0.05);
    expect(Math.abs(shrunk - whole)).toBeLessThan(0.02);
    expect(shrunk).not.toBe(whole);
  });
});
