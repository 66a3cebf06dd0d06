import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Detections, Detector, type DetectorOptions, YoloError } from '../../lib/index.js';
import { type Box, pairBoxes } from '../support/pair-boxes.js';
import { describeShared, shared, sharedDir } from '../support/shared.js';

const read = (path: string) => JSON.parse(readFileSync(shared(path), 'utf8'));
const files = (folder: string, ending: string) =>
  sharedDir === undefined
    ? []
    : readdirSync(shared(folder))
        .filter((name) => name.endsWith(ending))
        .map((name) => name.slice(0, -ending.length));

/** Undefined when the model is refused because its outputs are not known; anything else that goes wrong is thrown. */
async function createUnlessUnknown(options: DetectorOptions): Promise<Detector | undefined> {
  try {
    return await Detector.create(options);
  } catch (error) {
    if (YoloError.is(error, 'ERR_YOLO_HEAD_UNKNOWN')) return undefined;
    throw error;
  }
}

/** Runs `check` on the detector, if the model is not refused, and closes it; gives whether it was understood. */
async function whenUnderstood(
  options: DetectorOptions,
  check: (detector: Detector) => Promise<void>,
): Promise<boolean> {
  const detector = await createUnlessUnknown(options);
  if (detector === undefined) return false;
  try {
    await check(detector);
  } finally {
    await detector.close();
  }
  return true;
}

describeShared('a real detector gives the right boxes or is refused', () => {
  it.each(files('models', '.onnx'))('%s', async (name) => {
    const tolerance = /int8|qdq/.test(name) ? { pixels: 3, confidence: 0.05 } : { pixels: 0.1, confidence: 0.001 };
    const { photos } = read(`golden/detections/${name}.json`);
    // Only the box at the border of the threshold may differ in int8; three photos tell right from wrong.
    await whenUnderstood({ model: shared(`models/${name}.onnx`) }, async (detector) => {
      for (const { photo, detections } of photos.slice(0, 3).concat(photos.slice(8))) {
        const golden: Box[] = detections.map((row: number[]) => ({
          xyxy: row.slice(0, 4),
          confidence: row[4],
          classId: row[5],
        }));
        const { missing, extra } = pairBoxes(await detector.detect(shared(`photos/${photo}`)), golden, tolerance);
        const excused = ({ confidence }: Box) => tolerance.pixels > 1 && confidence < 0.25 + tolerance.confidence;
        expect({
          photo,
          missing: missing.filter((box) => !excused(box)),
          extra: extra.filter((box) => !excused(box)),
        }).toEqual({
          photo,
          missing: [],
          extra: [],
        });
      }
    });
  });
});

interface ExpectedLayout {
  readonly photo?: string;
  readonly inputShape: readonly [number, number, number, number];
  readonly confidenceThreshold?: number;
  readonly iouThreshold?: number;
  /** Present where the reference suppressed boxes itself: the graph has not. */
  readonly suppressed?: unknown;
  readonly xyxy?: readonly number[][];
  readonly confidence?: readonly number[];
  readonly classId?: readonly number[];
  /** Of a table of constants: what it holds, in pixels of the input. */
  readonly known?: readonly { xyxy: readonly number[]; score: number; classId: number }[];
}

const SAME_GRAPH_AS: Record<string, string> = {
  yolov8n_no_metadata: 'yolov8n',
  yolov8n_old_metadata: 'yolov8n',
};

/** The layouts that are understood: none of them may fall back to being refused. */
const UNDERSTOOD = new Set([
  'yolov3u-tiny',
  'yolov5n_decoded',
  'yolov5nu',
  'yolov7-tiny_decoded',
  'yolov8_transposed',
  'yolov8n',
  'yolov8n_1class',
  'yolov8n_2class',
  'yolov8n_300class',
  'yolov8n_dynamic',
  'yolov8n_dynamic_batch',
  'yolov8n_half',
  'yolov8n_nms',
  'yolov8n_no_metadata',
  'yolov8n_old_metadata',
  'yolov9t',
  'yolov10n',
  'yolov10n_640_w8_real',
  'yolo11n',
  'yolo26n',
  'yolo26n_one_to_many',
]);

const NEEDS_ANOTHER_RUNTIME = new Set(['yolov7-tiny_end2end_trt_plugin']);

describeShared('an exported layout gives the right boxes or is refused', () => {
  it.each(files('models/layouts', '.onnx.gz').filter((name) => !NEEDS_ANOTHER_RUNTIME.has(name)))(
    '%s',
    async (name) => {
      const model = gunzipSync(readFileSync(shared(`models/layouts/${name}.onnx.gz`)));
      const expected: ExpectedLayout = read(`models/layouts/expected/${SAME_GRAPH_AS[name] ?? name}.json`);
      const [, , height, width] = expected.inputShape;
      const imageSize = [width, height] as const;
      const isOpen = name === 'yolov8n_dynamic';
      const understood = await whenUnderstood({ model, ...(isOpen && { imageSize }) }, async (detector) => {
        if (expected.known !== undefined) await expectTable(detector, expected, width, height);
        else await expectPhoto(detector, expected, name);
      });
      if (UNDERSTOOD.has(name)) expect(understood).toBe(true);
    },
  );

  it.each([...NEEDS_ANOTHER_RUNTIME])('%s says which operator is missing', async (name) => {
    const model = gunzipSync(readFileSync(shared(`models/layouts/${name}.onnx.gz`)));
    await expect(Detector.create({ model })).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_PARSE',
      message: expect.stringContaining('EfficientNMS_TRT'),
    });
  });

  it.each(files('models/benchmark', '_raw_heads.onnx.gz'))('%s_raw_heads, without decoded rows', async (name) => {
    const model = gunzipSync(readFileSync(shared(`models/benchmark/${name}_raw_heads.onnx.gz`)));
    // Its weights are random: no boxes of it are right.
    await expect(Detector.create({ model })).rejects.toMatchObject({ code: 'ERR_YOLO_HEAD_UNKNOWN' });
  });
});

async function expectPhoto(detector: Detector, expected: ExpectedLayout, name: string): Promise<void> {
  const { xyxy, confidence, classId, confidenceThreshold, iouThreshold, suppressed, photo } = expected;
  // Rotated boxes, classes of a whole picture and maps are no boxes of this kind.
  expect(xyxy, `${name} has no upright boxes, so it must be refused`).toBeDefined();
  const found = await detector.detect(shared(photo!), {
    confidenceThreshold,
    ...(suppressed !== undefined && { iouThreshold }),
  });
  const wide = (box: Box) => box.xyxy[2]! - box.xyxy[0]! >= 1 && box.xyxy[3]! - box.xyxy[1]! >= 1;
  const golden = xyxy!.map((sides, index) => ({
    xyxy: sides,
    confidence: confidence![index]!,
    classId: classId![index]!,
  }));
  const tolerance = /half/.test(name) ? { pixels: 2, confidence: 0.015 } : { pixels: 1, confidence: 0.005 };
  expectPairs([...found].filter(wide), golden.filter(wide), tolerance);
}

/** A picture of the input's own size, so that the input's pixels are the picture's. */
async function expectTable(detector: Detector, expected: ExpectedLayout, width: number, height: number): Promise<void> {
  const gray = { data: new Uint8Array(width * height * 3).fill(128), width, height, channels: 3 as const };
  const found: Detections = await detector.detect(gray);
  const known = expected.known!.map(({ xyxy, score, classId }) => ({ xyxy, confidence: score, classId }));
  expectPairs(found, known, { pixels: 0.1, confidence: 0.001 });
}

function expectPairs(found: Iterable<Box>, golden: Box[], tolerance: { pixels: number; confidence: number }): void {
  expect(pairBoxes(found, golden, tolerance)).toEqual({ missing: [], extra: [] });
}
