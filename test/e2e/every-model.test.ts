import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Detections, Detector, type DetectorOptions } from '../../lib/index.js';
import { type Box, pairBoxes } from '../support/pair-boxes.js';
import { describeShared, shared, sharedDir } from '../support/shared.js';

const read = (path: string) => JSON.parse(readFileSync(shared(path), 'utf8'));
const files = (folder: string, ending: string) =>
  sharedDir === undefined
    ? []
    : readdirSync(shared(folder))
        .filter((name) => name.endsWith(ending))
        .map((name) => name.slice(0, -ending.length));

/** A single map with a formula of its own: an example of a custom postprocessor. */
const FOREIGN = 'fastestdet_352';

describeShared('a real detector gives the right boxes', () => {
  it(`but for ${FOREIGN}, which is refused`, async () => {
    await expect(Detector.create({ model: shared(`models/${FOREIGN}.onnx`) })).rejects.toMatchObject({
      code: 'ERR_YOLO_HEAD_UNKNOWN',
      message: expect.stringMatching(/no known layout.*`postprocessor`/),
    });
  });

  it.each(files('models', '.onnx').filter((name) => name !== FOREIGN))('%s', async (name) => {
    const tolerance = /int8|qdq/.test(name) ? { pixels: 3, confidence: 0.05 } : { pixels: 0.1, confidence: 0.001 };
    const { photos } = read(`golden/detections/${name}.json`);
    // Only the box at the border of the threshold may differ in int8; three photos tell right from wrong.
    await using detector = await Detector.create({ model: shared(`models/${name}.onnx`) });
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

interface ExpectedLayout {
  readonly photo?: string;
  readonly inputShape: readonly [number, number, number, number];
  readonly confidenceThreshold?: number;
  readonly iouThreshold?: number;
  /** Present where the reference suppressed boxes itself: the graph has not. */
  readonly suppressed?: unknown;
  readonly xyxy?: readonly number[][];
  readonly xywhr?: readonly number[][];
  readonly confidence?: readonly number[];
  readonly classId?: readonly number[];
  /** Of a table of constants: what it holds, in pixels of the input. */
  readonly known?: readonly { xyxy: readonly number[]; score: number; classId: number }[];
}

const SAME_GRAPH_AS: Record<string, string> = {
  yolov8n_no_metadata: 'yolov8n',
  yolov8n_old_metadata: 'yolov8n',
};

/** Models of another task, and layouts that cannot be told for certain: refused. Every other one must be understood. */
const REFUSED: Readonly<Record<string, RegExp>> = {
  'yolov8n-cls': /task is "classify"/,
  'yolo26n-sem': /task is "semantic"/,
  yolov5n_raw_heads: /set `anchors`/,
  'yolov7-tiny_raw_heads': /set `anchors`/,
  rtmdet_raw: /set `head` to 'rtmdet'/,
  tiny_yolov2: /no known layout/,
};

/** What has to be given for it to be read all the same. */
const REMEDIES: Readonly<Record<string, DetectorOptions>> = {
  yolov5n_raw_heads: { anchors: 'yolov5' },
  'yolov7-tiny_raw_heads': { anchors: 'yolov7' },
  rtmdet_raw: { head: 'rtmdet' },
};

/** float16 inside; and a network whose raw scores change by a hundredth from one build of ONNX Runtime to the next. */
const TOUCHY: Readonly<Record<string, { pixels: number; confidence: number }>> = {
  yolov8n_half: { pixels: 2, confidence: 0.015 },
  'yolov3u-tiny': { pixels: 2, confidence: 0.02 },
};

const NEEDS_ANOTHER_RUNTIME = new Set(['yolov7-tiny_end2end_trt_plugin']);

describeShared('an exported layout gives the right boxes or is refused', () => {
  const layouts = files('models/layouts', '.onnx.gz').filter((name) => !NEEDS_ANOTHER_RUNTIME.has(name));

  it.each(layouts)('%s', async (name) => {
    const model = gunzipSync(readFileSync(shared(`models/layouts/${name}.onnx.gz`)));
    const expected: ExpectedLayout = read(`models/layouts/expected/${SAME_GRAPH_AS[name] ?? name}.json`);
    const [, , height, width] = expected.inputShape;
    const imageSize = [width, height] as const;
    const refusal = REFUSED[name];
    if (refusal !== undefined)
      await expect(Detector.create({ model })).rejects.toMatchObject({
        code: 'ERR_YOLO_HEAD_UNKNOWN',
        message: expect.stringMatching(refusal),
      });
    const remedy = REMEDIES[name];
    if (refusal !== undefined && remedy === undefined) return;
    const isOpen = name === 'yolov8n_dynamic';
    await using detector = await Detector.create({ model, ...remedy, ...(isOpen && { imageSize }) });
    if (expected.known !== undefined) await expectTable(detector, expected, width, height);
    else await expectPhoto(detector, expected, name);
  });

  it.each([...NEEDS_ANOTHER_RUNTIME])('%s says which operator is missing', async (name) => {
    const model = gunzipSync(readFileSync(shared(`models/layouts/${name}.onnx.gz`)));
    await expect(Detector.create({ model })).rejects.toMatchObject({
      code: 'ERR_YOLO_MODEL_PARSE',
      message: expect.stringContaining('EfficientNMS_TRT'),
    });
  });

  it.each(files('models/benchmark', '_raw_heads.onnx.gz'))(
    '%s, with and without its last layer, finds the same boxes',
    async (name) => {
      const load = (file: string) => gunzipSync(readFileSync(shared(`models/benchmark/${file}.onnx.gz`)));
      const raw = load(`${name}_raw_heads`);
      await expect(Detector.create({ model: raw })).rejects.toMatchObject({
        code: 'ERR_YOLO_HEAD_UNKNOWN',
        message: expect.stringMatching(/set `anchors`/),
      });
      const iouThreshold = 0.45;
      await using withLayer = await Detector.create({ model: load(name), iouThreshold });
      const anchors = name.startsWith('yolov7') ? 'yolov7' : 'yolov5';
      await using without = await Detector.create({ model: raw, anchors, iouThreshold });
      const photo = shared('photos/classic/ultralytics_bus.jpg');
      const expected = [...(await withLayer.detect(photo))];
      expect(expected.length).toBeGreaterThan(0);
      expectPairs([...(await without.detect(photo))], expected, { pixels: 0.1, confidence: 0.001 });
    },
  );
});

async function expectPhoto(detector: Detector, expected: ExpectedLayout, name: string): Promise<void> {
  const { xywhr, confidence, classId, confidenceThreshold, iouThreshold, suppressed, photo } = expected;
  const found = await detector.detect(shared(photo!), {
    confidenceThreshold,
    ...(suppressed !== undefined && { iouThreshold }),
  });
  const wide = (box: Box) =>
    xywhr !== undefined || (box.xyxy[2]! - box.xyxy[0]! >= 1 && box.xyxy[3]! - box.xyxy[1]! >= 1);
  const { width, height } = found.image;
  // RT-DETR's reference leaves boxes that reach out of the picture.
  const clipped = expected.xyxy?.map((sides) =>
    sides.map((side, i) => Math.min(Math.max(side, 0), i % 2 === 0 ? width : height)),
  );
  const golden = (xywhr?.map((box) => box.slice(0, 4)) ?? clipped)!.map((sides, index) => ({
    xyxy: sides,
    confidence: confidence![index]!,
    classId: classId![index]!,
  }));
  const boxes: Box[] = Array.from(found, ({ rotatedBox: r, ...box }) =>
    r === undefined ? box : { ...box, xyxy: [r.cx, r.cy, r.width, r.height] },
  );
  // The reference drops this box for its empty mask.
  const isMaskless = (box: Box) => name === 'yolov8n-seg_nms' && Math.abs(box.confidence - 0.636) < 0.001;
  const tolerance = TOUCHY[name] ?? { pixels: 1, confidence: 0.005 };
  expectPairs(
    boxes.filter((box) => wide(box) && !isMaskless(box)),
    golden.filter(wide),
    tolerance,
  );
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
