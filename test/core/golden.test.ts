import { expect, it } from 'vitest';
import {
  boxesToImage,
  createLetterbox,
  type InputFormat,
  type LetterboxOptions,
  nms,
  resizeBilinear,
  TensorPacker,
} from '../../lib/core/index.js';
import { describeShared } from '../support/shared.js';
import { golden } from './golden-file.js';

describeShared('golden resizes', () => {
  it('are reproduced bit for bit', () => {
    const { json, u8 } = golden('resize');
    expect(json.cases).toHaveLength(65);
    const images = new Map(json.images.map((image: { name: string }) => [image.name, image]));
    for (const { image, width, height, pixels } of json.cases) {
      const source = (images.get(image) as { pixels: Parameters<typeof u8>[0] }).pixels;
      const [imageHeight, imageWidth, channels] = source.shape;
      const raw = { data: u8(source), width: imageWidth, height: imageHeight, channels: channels as 1 | 3 };
      const result = resizeBilinear(raw, width, height);
      expect(Buffer.compare(result, u8(pixels)), `${image} to ${width}×${height}`).toBe(0);
    }
  });
});

describeShared('golden letterboxes', () => {
  const options = (entry: { scaleUp: boolean; stride32: boolean }): LetterboxOptions => ({
    placement: 'centre',
    scaleUp: entry.scaleUp,
    ...(entry.stride32 ? { stride: 32 } : {}),
  });

  it('have the same sides, borders and sizes when centred', () => {
    const { json } = golden('letterbox');
    expect(json.centre).toHaveLength(244);
    for (const entry of json.centre) {
      const [imageWidth, imageHeight] = entry.image;
      const letterbox = createLetterbox(imageWidth, imageHeight, entry.target[0], entry.target[1], options(entry));
      const { inputWidth, inputHeight, resizedWidth, resizedHeight, padX, padY, gain } = letterbox;
      expect({
        output: [inputWidth, inputHeight],
        resized: [resizedWidth, resizedHeight],
        pads: [padX, padY, inputWidth - padX - resizedWidth, inputHeight - padY - resizedHeight],
      }).toEqual({ output: entry.output, resized: entry.resized, pads: entry.pads });
      expect(Math.abs(gain - entry.gain)).toBeLessThanOrEqual(1e-12);
    }
  });

  it('lead back to the picture within 1e-6 pixels', () => {
    for (const entry of golden('letterbox').json.centre) {
      const [imageWidth, imageHeight] = entry.image;
      const letterbox = createLetterbox(imageWidth, imageHeight, entry.target[0], entry.target[1], options(entry));
      const boxes = Float64Array.from(entry.boxes.flat());
      boxesToImage(boxes, entry.boxes.length, letterbox);
      const off = entry.exact.flat().map((value: number, i: number) => Math.abs(value - boxes[i]));
      expect(Math.max(...off)).toBeLessThanOrEqual(1e-6);
    }
  });

  it('have the same sides in the top-left corner, but for a side of at least 1', () => {
    const { json } = golden('letterbox');
    expect(json.topLeft).toHaveLength(61);
    for (const entry of json.topLeft) {
      const letterbox = createLetterbox(entry.image[0], entry.image[1], entry.target[0], entry.target[1], {
        placement: 'top-left',
      });
      expect([letterbox.resizedWidth, letterbox.resizedHeight]).toEqual(
        entry.resized.map((side: number) => Math.max(1, side)),
      );
      expect(letterbox).toMatchObject({ padX: 0, padY: 0, gain: entry.gain });
    }
    for (const [target, sides] of Object.entries(json.topLeftShortSides)) {
      const short = [];
      for (let side = 1; side < 2000; side++) {
        const { resizedWidth } = createLetterbox(side, 1, +target, +target, { placement: 'top-left' });
        if (resizedWidth !== +target) short.push(side);
      }
      expect(short).toEqual(sides);
    }
  });

  it('have the same pixels, border included', () => {
    const { json, u8 } = golden('letterbox');
    expect(json.pixels).toHaveLength(20);
    const pictures = new Map(json.pictures.map((picture: { name: string }) => [picture.name, picture]));
    const packer = new TensorPacker();
    for (const entry of json.pixels) {
      const picture = pictures.get(entry.picture) as { pixels: Parameters<typeof u8>[0] };
      const [width, height] = entry.image;
      const letterboxOptions: LetterboxOptions = entry.kind === 'centre' ? options(entry) : { placement: 'top-left' };
      const letterbox = createLetterbox(width, height, entry.target[0], entry.target[1], letterboxOptions);
      const expected = u8(entry.pixels);
      const tensor = new Uint8Array(expected.length);
      const format: InputFormat = {
        layout: 'nhwc',
        type: 'uint8',
        channelOrder: 'rgb',
        divisor: 1,
        letterbox: letterboxOptions,
      };
      packer.pack({ data: u8(picture.pixels), width, height }, letterbox, format, tensor, 0);
      expect(Buffer.compare(tensor, expected), JSON.stringify(entry)).toBe(0);
    }
  });
});

describeShared('golden suppressions', () => {
  it('keep the same boxes in the same order', () => {
    const { json, f32, i32 } = golden('nms');
    let cases = 0;
    for (const set of json.sets) {
      const boxes = f32(set.boxes);
      const confidence = f32(set.scores);
      const classId = i32(set.classIds);
      for (const { iou, kept, keptPerClass } of set.cases) {
        const title = `${set.name} at ${iou}`;
        expect(Array.from(nms(boxes, confidence, { iouThreshold: iou })), title).toEqual(Array.from(i32(kept)));
        const perClass = nms(boxes, confidence, { iouThreshold: iou, classId });
        expect(Array.from(perClass), `${title}, by class`).toEqual(Array.from(i32(keptPerClass)));
        cases++;
      }
    }
    expect(cases).toBe(98);
  });

  it('answer every question on thresholds and ties alike', () => {
    const experiments: { question: string; kept: number[] }[] = golden('nms').json.experiments;
    const half = [0, 0, 10, 10, 0, 0, 10, 5];
    const point = [3, 3, 3, 3];
    const square = [0, 0, 10, 10];
    const row = Array.from({ length: 10 }, (_, i) => [20 * i, 0, 20 * i + 9, 9]).flat();
    const belowHalf = 0.5 - 2 ** -25;
    const asked: [boxes: number[], iouThreshold: number, confidence: number[]][] = [
      [half, 0.5, [0.9, 0.8]],
      [half, belowHalf, [0.9, 0.8]],
      [[...square, 5, 0, 15, 10], 0.35, [0.9, 0.8]],
      [[...square, 10, 0, 20, 10], 0, [0.9, 0.8]],
      [[...square, ...square], 1, [0.9, 0.8]],
      [[...point, ...point], 0, [0.9, 0.8]],
      [[...square, ...point], 0, [0.9, 0.8]],
      [[...square, ...square, ...square, ...square], 0.5, [0.5, 0.5, 0.5, 0.5]],
      [row, 0.5, [0.5, 0.9, 0.5, 0.9, 0.5, 0.9, 0.5, 0.9, 0.5, 0.9]],
      [[...square, 0, 0, 10, 7], 0.7, [0.9, 0.8]],
      [[...square, 0, 0, 10, 6], 0.6, [0.9, 0.8]],
    ];
    expect(asked).toHaveLength(experiments.length);
    experiments.forEach(({ question, kept }, i) => {
      const [boxes, iouThreshold, confidence] = asked[i];
      expect(
        Array.from(nms(Float32Array.from(boxes), Float32Array.from(confidence), { iouThreshold })),
        question,
      ).toEqual(kept);
    });
  });
});
