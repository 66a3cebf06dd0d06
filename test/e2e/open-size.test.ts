import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { Detector, type DetectorOptions } from '../../lib/index.js';
import { averagePrecision, goldenPrecision } from '../support/average-precision.js';
import { type Box, pairBoxes } from '../support/pair-boxes.js';
import { describeShared, shared } from '../support/shared.js';

const read = (path: string) => JSON.parse(readFileSync(shared(path), 'utf8'));
const BUS = 'photos/classic/ultralytics_bus.jpg';

async function withDetector(options: DetectorOptions, check: (detector: Detector) => Promise<void>): Promise<void> {
  const detector = await Detector.create(options);
  try {
    await check(detector);
  } finally {
    await detector.close();
  }
}

/** A model for 160×160 whose file says that height and width are open: both dimensions of its input get names instead. */
function declaredOpen(): Buffer {
  const model = readFileSync(shared('models/yolov8n_160_float.onnx'));
  // dim { dim_value: 160 } twice, and dim { dim_param: "h" } and "w", in the encoding of ONNX and of the same length.
  const sides = Buffer.from([0x0a, 3, 0x08, 0xa0, 1, 0x0a, 3, 0x08, 0xa0, 1]);
  const at = model.lastIndexOf(sides);
  expect(at).toBeGreaterThan(0);
  Buffer.from([0x0a, 3, 0x12, 1, 0x68, 0x0a, 3, 0x12, 1, 0x77]).copy(model, at);
  return model;
}

describeShared('a model whose file leaves the size open, but whose graph holds one', () => {
  const model = () => shared('models/yolov5n_640_fp16.onnx');

  it('runs at its size without an option', async () => {
    await withDetector({ model: model() }, async (detector) => {
      expect(detector.model).toMatchObject({ inputWidth: 640, inputHeight: 640, isSizeOpen: undefined });
      expect((await detector.detect(shared(BUS))).length).toBeGreaterThan(0);
    });
  });

  it('says which size works where imageSize asks for another', async () => {
    await expect(Detector.create({ model: model(), imageSize: 320 })).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringContaining('640×640 works'),
      detail: { option: 'imageSize', works: [640, 640] },
    });
  });

  it('is refused with rectangle', async () => {
    await expect(Detector.create({ model: model(), rectangle: true })).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringContaining('it runs at 640×640 but not at 608×576'),
      detail: { option: 'rectangle' },
    });
  });

  it('runs at the size of its export where it does not run at 640', async () => {
    let golden: Box[] = [];
    await withDetector({ model: shared('models/yolov8n_160_float.onnx') }, async (detector) => {
      expect(detector.model.isSizeOpen).toBe(false);
      golden = [...(await detector.detect(shared(BUS)))];
    });
    await withDetector({ model: declaredOpen() }, async (detector) => {
      expect(detector.model).toMatchObject({ inputWidth: 160, inputHeight: 160, isSizeOpen: false });
      expect(detector.stats().completed).toBe(0);
      expect([...(await detector.detect(shared(BUS)))]).toEqual(golden);
    });
    expect(golden.length).toBeGreaterThan(0);
  });

  it('does so with a postprocessor of its own too', async () => {
    const postprocessor = { name: 'shapes', decode: (outputs: object) => Object.keys(outputs) };
    const detector = await Detector.create({ model: declaredOpen(), postprocessor });
    expect(detector.model).toMatchObject({ inputWidth: 160, inputHeight: 160, isSizeOpen: false });
    expect(await detector.detect(shared(BUS))).toEqual(['output0']);
    await detector.close();
  });
});

describeShared('rectangles', () => {
  const model = () => shared('models/yolov8n_dynamic_float.onnx');

  it('give the boxes of the reference at 128×160', async () => {
    const expected = read('models/layouts/expected/yolov8n_dynamic.json');
    const small = gunzipSync(readFileSync(shared('models/layouts/yolov8n_dynamic.onnx.gz')));
    await withDetector({ model: small, imageSize: 160, rectangle: true }, async (detector) => {
      expect(detector.model).toMatchObject({ inputWidth: 160, inputHeight: 160, isSizeOpen: true });
      const { confidenceThreshold, iouThreshold } = expected;
      const found = await detector.detect(shared(expected.photo), { confidenceThreshold, iouThreshold });
      const golden: Box[] = expected.xyxy.map((xyxy: number[], index: number) => ({
        xyxy,
        confidence: expected.confidence[index],
        classId: expected.classId[index],
      }));
      expect(pairBoxes(found, golden, { pixels: 1, confidence: 0.005 })).toEqual({ missing: [], extra: [] });
    });
  });

  it('give the boxes and the average precision of the reference', { timeout: 180_000 }, async () => {
    const name = 'yolov8n_dynamic_float_rectangle';
    await withDetector({ model: model(), rectangle: true }, async (detector) => {
      for (const { photo, detections } of read(`golden/detections/${name}.json`).photos) {
        const golden: Box[] = detections.map((row: number[]) => ({
          xyxy: row.slice(0, 4),
          confidence: row[4],
          classId: row[5],
        }));
        const found = await detector.detect(shared(`photos/${photo}`));
        expect({ photo, ...pairBoxes(found, golden, { pixels: 0.1, confidence: 0.001 }) }).toEqual({
          photo,
          missing: [],
          extra: [],
        });
      }

      const reached = await averagePrecision(detector);
      expect(Math.abs(reached - goldenPrecision(name)), `AP ${reached}`).toBeLessThan(0.005);
    });
  });

  it('of a batch are those of single calls, whatever shapes its pictures have', async () => {
    await withDetector({ model: model(), imageSize: 320, rectangle: true }, async (detector) => {
      const wide = { data: new Uint8Array(3 * 300 * 40).fill(90), width: 300, height: 40, channels: 3 as const };
      const pictures = [shared(BUS), wide, shared(BUS)];
      const batch = await detector.detectBatch(pictures);
      for (const [index, picture] of pictures.entries())
        expect([...batch[index]!]).toEqual([...(await detector.detect(picture))]);
      expect(batch[0]!.length).toBeGreaterThan(0);
    });
  });

  it('of a long batch are found without a warning of Node', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on('warning', listen);
    try {
      await withDetector({ model: model(), imageSize: 64, rectangle: true }, async (detector) => {
        const gray = { data: new Uint8Array(3 * 64 * 32), width: 64, height: 32, channels: 3 as const };
        const { signal } = new AbortController();
        expect(await detector.detectBatch(Array.from({ length: 12 }, () => gray))).toHaveLength(12);
        expect(
          await detector.detectBatch(
            Array.from({ length: 12 }, () => gray),
            { signal },
          ),
        ).toHaveLength(12);
      });
      expect(warnings).toEqual([]);
    } finally {
      process.off('warning', listen);
    }
  });

  it('tell a postprocessor the size of the input', async () => {
    const detector = await Detector.create({
      model: model(),
      imageSize: 320,
      rectangle: true,
      postprocessor: {
        name: 'sizes',
        decode: (outputs, { letterbox }) => [letterbox.inputWidth, letterbox.inputHeight, outputs.output0!.dims[2]],
      },
    });
    // 810×1080 is 240×320 then; the width goes up to 256, with 1/64 + 1/256 + 1/1024 cells a pixel.
    expect(await detector.detect(shared(BUS))).toEqual([256, 320, 1680]);
    await detector.close();
  });

  it('are refused for a model whose file fixes its size, before it is loaded', async () => {
    await expect(
      Detector.create({ model: shared('models/yolov8n_160_float.onnx'), rectangle: true }),
    ).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringContaining('its input is 160×160'),
    });
  });

  it('are refused where pictures are stretched', async () => {
    const inputFormat = { letterbox: { placement: 'stretch' } } as const;
    await expect(Detector.create({ model: model(), rectangle: true, inputFormat })).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringContaining('stretched'),
    });
  });
});

describeShared('an imageSize that is no multiple of the stride', () => {
  it('is refused with the next that is', async () => {
    await expect(
      Detector.create({ model: shared('models/yolov8n_dynamic_float.onnx'), imageSize: [330, 320] }),
    ).rejects.toMatchObject({ message: expect.stringContaining('352×320 works') });
  });
});
