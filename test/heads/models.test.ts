import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Recognition } from '../../lib/core/heads/recognise.js';
import type { Columns } from '../../lib/core/postprocess.js';
import type { RgbImage } from '../../lib/types.js';
import { type Box, pairBoxes } from '../support/pair-boxes.js';
import { describeShared, shared, sharedDir } from '../support/shared.js';
import { OnnxModel, readPhoto } from './onnx-run.js';

interface Golden {
  photos: { photo: string; detections: number[][] }[];
}

interface Expected {
  photo?: string;
  iouThreshold?: number;
  inputShape: [number, number, number, number];
  xyxy?: number[][];
  confidence?: number[];
  xywhr?: number[][];
  keypoints?: number[][][];
  classId?: number[];
  known?: { xyxy: number[]; score: number; classId: number }[];
}

const FLOAT = { pixels: 0.1, confidence: 0.001 };
const INT8 = { pixels: 3, confidence: 0.05 };

/** float16 inside; and a network whose raw scores change by a hundredth from one build of ONNX Runtime to the next. */
const TOUCHY: Readonly<Record<string, typeof FLOAT>> = {
  yolov8n_half: { pixels: 2, confidence: 0.015 },
  'yolov3u-tiny': { pixels: 2, confidence: 0.02 },
};

const proofPhoto = readPhoto(new URL('../../assets/aeroplane.jpg', import.meta.url).pathname);

/** What each file must be recognised as; every other one must be refused. */
const READ: Readonly<Record<string, { head: string; divisor: number; order: 'rgb' | 'bgr'; runs: number }>> = {
  centernet_mobilenetv3_512_nhwc_end_to_end: { head: 'end-to-end', divisor: 1, order: 'rgb', runs: 5 },
  yolo26n_640_dynint8: { head: 'end-to-end', divisor: 255, order: 'rgb', runs: 1 },
  yolo26n_640_float: { head: 'end-to-end', divisor: 255, order: 'rgb', runs: 1 },
  yolov5n_320_dynint8_with_raw_heads: { head: 'anchor-based', divisor: 255, order: 'rgb', runs: 2 },
  yolov5n_320_float_with_raw_heads: { head: 'anchor-based', divisor: 255, order: 'rgb', runs: 2 },
  deimv2_atto_320: { head: 'detr', divisor: 255, order: 'rgb', runs: 8 },
  deimv2_atto_320_raw_logits: { head: 'detr-logits', divisor: 255, order: 'rgb', runs: 8 },
  nanodet_m_320: { head: 'nanodet', divisor: 1, order: 'bgr', runs: 2 },
  rtmdet_nano_person_in_graph_nms_dynamic: { head: 'nms-dets-labels', divisor: 1, order: 'bgr', runs: 12 },
  'yolov8n-seg_320_dynint8': { head: 'anchor-free-segment', divisor: 255, order: 'rgb', runs: 1 },
  yolox_nano_416_efficientnms: { head: 'nms-counted', divisor: 1, order: 'bgr', runs: 16 },
  yolox_nano_416_nms_flat7: { head: 'nms-flat-box-last', divisor: 1, order: 'bgr', runs: 16 },
  yolov5n_640_fp16: { head: 'anchor-based', divisor: 255, order: 'rgb', runs: 2 },
  yolov8n_160_float: { head: 'anchor-free', divisor: 255, order: 'rgb', runs: 1 },
  yolov8n_320_dynint8: { head: 'anchor-free', divisor: 255, order: 'rgb', runs: 1 },
  yolov8n_640_dynint8: { head: 'anchor-free', divisor: 255, order: 'rgb', runs: 1 },
  yolov8n_640_float: { head: 'anchor-free', divisor: 255, order: 'rgb', runs: 1 },
  yolov8n_640_qdq: { head: 'anchor-free', divisor: 255, order: 'rgb', runs: 1 },
  yolov8n_dynamic_float: { head: 'anchor-free', divisor: 255, order: 'rgb', runs: 1 },
  yolox_nano_416: { head: 'yolox', divisor: 1, order: 'bgr', runs: 3 },
  yolox_nano_416_decoded: { head: 'yolox-decoded', divisor: 1, order: 'bgr', runs: 3 },
  yolox_nano_416_three_classes: { head: 'yolox', divisor: 1, order: 'bgr', runs: 5 },
  yolox_nano_416_uint8_nhwc: { head: 'yolox', divisor: 1, order: 'rgb', runs: 2 },
};

const READ_LAYOUTS: Readonly<Record<string, string>> = {
  'yolov3u-tiny': 'anchor-free',
  yolov5nu: 'anchor-free',
  yolov8n: 'anchor-free',
  yolov8n_dynamic: 'anchor-free',
  yolov8n_dynamic_batch: 'anchor-free',
  yolov8n_nms: 'end-to-end',
  yolov8n_half: 'anchor-free',
  yolov8n_1class: 'anchor-free',
  yolov8n_2class: 'anchor-free',
  yolov8n_300class: 'anchor-free',
  yolov9t: 'anchor-free',
  yolov10n: 'end-to-end',
  yolov10n_640_w8_real: 'end-to-end',
  yolo11n: 'anchor-free',
  yolo26n: 'end-to-end',
  yolo26n_one_to_many: 'anchor-free',
  yolov8n_no_metadata: 'anchor-free',
  yolov8n_old_metadata: 'anchor-free',
  yolov5n_decoded: 'anchor-based',
  'yolov7-tiny_decoded': 'anchor-based',
  yolov8_transposed: 'anchor-free-rows',
  'yolov8n-pose': 'anchor-free-pose',
  'yolo11n-pose_640_w8_real': 'anchor-free-pose',
  'yolov8n-obb': 'anchor-free-obb',
  'yolov8n-seg_nms': 'end-to-end-segment',
  'yolov8n-obb_nms': 'end-to-end-obb',
  'yolo26n-obb': 'end-to-end-obb',
  rtdetr: 'rt-detr',
  rtdetr_old_84: 'rt-detr-rows',
  'yolov7-tiny_end2end_flat7': 'nms-flat',
  ppyoloe_nms: 'paddle-rows',
  paddle_rtdetr: 'paddle-rows',
  ppyoloe_without_nms: 'split-boxes',
  yolo_nas_raw: 'split-boxes',
  yolo_nas_batch: 'nms-counted',
  yolov8_rknn_heads: 'distance-bins',
  yolov6_native: 'yolov6',
  deepstream_yolo: 'unsorted-rows',
  yolov4_boxes_confs: 'split-boxes-fractions',
  rfdetr: 'detr-logits',
  dfine_logits: 'detr-logits',
};

describeShared('the models people have, with no option set', () => {
  for (const name of sharedDir === undefined ? [] : stems('models', '.onnx')) {
    const wanted = READ[name];
    if (wanted === undefined) {
      it(`refuses ${name}, saying what its outputs are`, async () => {
        await expect(recogniseFile(`models/${name}.onnx`)).rejects.toMatchObject({ code: 'ERR_YOLO_HEAD_UNKNOWN' });
      });
      continue;
    }
    it(`reads ${name} and finds the golden boxes`, async () => {
      const { model, recognition } = await recogniseFile(`models/${name}.onnx`);
      expect(recognition.layout.head).toBe(wanted.head);
      expect(recognition.format).toMatchObject({ divisor: wanted.divisor, channelOrder: wanted.order });
      expect(model.runs).toBeLessThanOrEqual(wanted.runs);
      const golden: Golden = JSON.parse(readFileSync(shared(`golden/detections/${name}.json`), 'utf8'));
      const isInt8 = /int8|qdq/.test(name) && !name.includes('uint8');
      let unpaired = 0;
      let total = 0;
      for (const { photo, detections } of golden.photos) {
        const image = await readPhoto(shared(`photos/${photo}`));
        const expected = detections.map((row) => ({ xyxy: row.slice(0, 4), confidence: row[4], classId: row[5] }));
        const { missing, extra } = pairBoxes(
          boxes(await model.detect(image, recognition)),
          expected,
          isInt8 ? INT8 : FLOAT,
        );
        unpaired += missing.length + extra.length;
        total += detections.length;
      }
      expect(unpaired).toBeLessThanOrEqual(isInt8 ? total / 20 : 0);
      await model.release();
    });
  }
});

describeShared('the layouts people export, with no option set', () => {
  for (const name of sharedDir === undefined ? [] : stems('models/layouts', '.onnx.gz')) {
    const head = READ_LAYOUTS[name];
    if (head === undefined) {
      // ONNX Runtime itself refuses the one with a plugin's operator.
      const message = name.includes('trt_plugin') ? /not a registered function/ : /Its inputs|outputs|metadata/;
      it(`refuses ${name}`, async () => {
        await expect(recogniseFile(`models/layouts/${name}.onnx.gz`)).rejects.toThrow(message);
      });
      continue;
    }
    it(`reads ${name} right`, async () => {
      const twin = /no_metadata|old_metadata/.test(name) ? 'yolov8n' : name;
      const expected: Expected = JSON.parse(readFileSync(shared(`models/layouts/expected/${twin}.json`), 'utf8'));
      const [, , height, width] = expected.inputShape;
      const { model, recognition } = await recogniseFile(`models/layouts/${name}.onnx.gz`, [width, height]);
      expect(recognition.layout.head).toBe(head);
      const image = expected.photo === undefined ? gray(width, height) : await readPhoto(shared(expected.photo));
      const iouThreshold =
        recognition.iouThreshold === null ? null : (expected.iouThreshold ?? recognition.iouThreshold);
      const columns = await model.detect(image, { ...recognition, iouThreshold });
      const found = boxes(columns, expected.xywhr !== undefined);
      const tolerance = TOUCHY[name] ?? { pixels: 1, confidence: 0.005 };
      const { missing, extra } = pairBoxes(
        found.filter(isWide),
        wantedBoxes(expected, image).filter(isWide),
        tolerance,
      );
      // The reference drops this box for its empty mask.
      const isMaskless = ({ confidence }: Box) => name === 'yolov8n-seg_nms' && Math.abs(confidence - 0.636) < 0.001;
      expect({ missing, extra: extra.filter((box) => !isMaskless(box)) }).toEqual({ missing: [], extra: [] });
      if (expected.keypoints !== undefined) expectKeypoints(columns, expected, tolerance.pixels);
      await model.release();
    });
  }
});

function stems(folder: string, ending: string): string[] {
  return readdirSync(shared(folder))
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, -ending.length));
}

async function recogniseFile(
  path: string,
  size?: readonly [number, number],
): Promise<{ model: OnnxModel; recognition: Recognition }> {
  const model = await OnnxModel.load(shared(path), size);
  return { model, recognition: await model.recognise(await proofPhoto) };
}

/** Boxes by their corners; `rotated` ones by centre, size and angle (in radians, times 100 to weigh as much). */
function boxes({ xyxy, confidence, classId, extra }: Columns, rotated = false): Box[] {
  return Array.from(confidence, (value, i) => ({
    xyxy: rotated ? weighed(extra!.subarray(5 * i, 5 * i + 5)) : xyxy.subarray(4 * i, 4 * i + 4),
    confidence: value,
    classId: classId[i],
  }));
}

function weighed([cx, cy, w, h, angle]: ArrayLike<number> & Iterable<number>): number[] {
  return [cx, cy, w, h, 100 * angle];
}

function wantedBoxes({ xyxy = [], xywhr, confidence = [], classId = [], known }: Expected, image: RgbImage): Box[] {
  if (known !== undefined) return known.map((object) => ({ ...object, confidence: object.score }));
  const places = xywhr?.map(weighed) ?? xyxy.map((box) => clipped(box, image));
  return places.map((box, i) => ({ xyxy: box, confidence: confidence[i], classId: classId[i] }));
}

/** RT-DETR's reference leaves boxes that reach out of the picture. */
function clipped([x1, y1, x2, y2]: readonly number[], { width, height }: RgbImage): number[] {
  const clip = (value: number, most: number) => Math.min(Math.max(value, 0), most);
  return [clip(x1, width), clip(y1, height), clip(x2, width), clip(y2, height)];
}

function expectKeypoints({ confidence, extra }: Columns, expected: Expected, pixels: number): void {
  for (const [i, points] of expected.keypoints!.entries()) {
    const distances = confidence.map((value) => Math.abs(value - expected.confidence![i]));
    const at = distances.indexOf(Math.min(...distances));
    for (const [k, [x, y, visibility]] of points.entries()) {
      const found = extra!.subarray(51 * at + 3 * k);
      expect(Math.abs(found[0] - x)).toBeLessThan(pixels);
      expect(Math.abs(found[1] - y)).toBeLessThan(pixels);
      expect(Math.abs(found[2] - visibility)).toBeLessThan(0.02);
    }
  }
}

/** A box less than a pixel wide lies in the border and was clipped. Rotated ones are not clipped. */
function isWide({ xyxy }: Box): boolean {
  if (xyxy.length === 5) return true;
  return xyxy[2] - xyxy[0] >= 1 && xyxy[3] - xyxy[1] >= 1;
}

function gray(width: number, height: number): RgbImage {
  return { data: new Uint8Array(3 * width * height).fill(114), width, height };
}
