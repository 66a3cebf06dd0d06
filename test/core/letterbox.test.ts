import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boxesToImage,
  boxesToInput,
  createLetterbox,
  type InputFormat,
  type Letterbox,
  type LetterboxOptions,
  pointsToImage,
  pointsToInput,
  TensorPacker,
} from '../../lib/core/index.js';
import { YoloError } from '../../lib/errors.js';

/** Left, top, width, height of the picture in the input, and the input's size. */
function geometry(letterbox: Letterbox): number[] {
  const { padX, padY, resizedWidth, resizedHeight, inputWidth, inputHeight } = letterbox;
  return [padX, padY, resizedWidth, resizedHeight, inputWidth, inputHeight];
}

const size = fc.integer({ min: 1, max: 5000 });
const options: fc.Arbitrary<LetterboxOptions> = fc.record(
  {
    placement: fc.constantFrom('centre', 'top-left', 'stretch'),
    scaleUp: fc.boolean(),
    padValue: fc.integer({ min: 0, max: 255 }),
    stride: fc.constantFrom(1, 8, 32, 64),
  },
  { requiredKeys: ['placement'] },
);

describe('a letterbox', () => {
  it('keeps the aspect ratio and centres the picture by default', () => {
    expect(geometry(createLetterbox(1920, 1080, 640, 640))).toEqual([0, 140, 640, 360, 640, 640]);
    expect(createLetterbox(1920, 1080, 640, 640)).toMatchObject({ padValue: 114, gain: 1 / 3 });
  });

  it('puts the picture into the top-left corner where the model was trained so', () => {
    expect(geometry(createLetterbox(1080, 1920, 416, 416, { placement: 'top-left' }))).toEqual([
      0, 0, 234, 416, 416, 416,
    ]);
  });

  it('fills the input when stretched, whatever scaleUp says', () => {
    const letterbox = createLetterbox(100, 50, 320, 320, { placement: 'stretch', scaleUp: false });
    expect(geometry(letterbox)).toEqual([0, 0, 320, 320, 320, 320]);
    expect(letterbox.gain).toBe(3.2);
  });

  it('does not enlarge a small picture when scaleUp is off, and still reduces a large one', () => {
    const off: LetterboxOptions = { placement: 'centre', scaleUp: false };
    expect(geometry(createLetterbox(100, 51, 320, 320, off))).toEqual([110, 134, 100, 51, 320, 320]);
    expect(geometry(createLetterbox(640, 640, 320, 320, off))).toEqual([0, 0, 320, 320, 320, 320]);
  });

  it('rounds centred sides half to even and cuts those in the corner', () => {
    expect(createLetterbox(1280, 721, 640, 640).resizedHeight).toBe(360);
    expect(createLetterbox(1280, 723, 640, 640).resizedHeight).toBe(362);
    expect(createLetterbox(1280, 723, 640, 640, { placement: 'top-left' }).resizedHeight).toBe(361);
  });

  it('gives a very long picture a side of at least one pixel', () => {
    for (const placement of ['centre', 'top-left'] as const)
      expect(createLetterbox(1, 2000, 640, 640, { placement })).toMatchObject({ resizedWidth: 1, resizedHeight: 640 });
  });

  it('gives an odd pixel of border to the right and to the bottom', () => {
    expect(geometry(createLetterbox(3775, 1571, 1280, 1280))).toEqual([0, 373, 1280, 533, 1280, 1280]);
  });

  it('has a fixed input unless a stride is declared, and then the least one of whole strides', () => {
    expect(geometry(createLetterbox(1920, 1080, 640, 640))).toEqual([0, 140, 640, 360, 640, 640]);
    expect(geometry(createLetterbox(1920, 1080, 640, 640, { placement: 'centre', stride: 32 }))).toEqual([
      0, 12, 640, 360, 640, 384,
    ]);
  });

  it('has whole borders inside the input and sides as the gain asks, for any sizes', () => {
    fc.assert(
      fc.property(size, size, size, size, options, (imageWidth, imageHeight, inputWidth, inputHeight, chosen) => {
        const letterbox = createLetterbox(imageWidth, imageHeight, inputWidth, inputHeight, chosen);
        expect(geometry(letterbox).every(Number.isInteger)).toBe(true);
        expect(letterbox.padX).toBeGreaterThanOrEqual(0);
        expect(letterbox.padY).toBeGreaterThanOrEqual(0);
        expect(letterbox.padX + letterbox.resizedWidth).toBeLessThanOrEqual(letterbox.inputWidth);
        expect(letterbox.padY + letterbox.resizedHeight).toBeLessThanOrEqual(letterbox.inputHeight);
        expect(letterbox.inputWidth).toBeLessThanOrEqual(inputWidth);
        expect(letterbox.inputHeight).toBeLessThanOrEqual(inputHeight);
        if (chosen.placement !== 'stretch')
          expect(Math.abs(letterbox.resizedWidth - imageWidth * letterbox.gain)).toBeLessThan(1);
      }),
    );
  });

  it.each([
    [[0, 1, 1, 1], {}, /imageWidth.*at least 1.*0/],
    [[1, 1.5, 1, 1], {}, /imageHeight.*1\.5/],
    [[1, 1, Number.NaN, 1], {}, /inputWidth.*NaN/],
    [[1, 1, 1, -3], {}, /inputHeight.*-3/],
    [[1, 1, 1, 1], { padValue: 256 }, /padValue.*0 to 255.*256/],
    [[1, 1, 1, 1], { stride: 0 }, /stride.*0/],
  ] as const)('refuses %j with %j', (sizes, extra, message) => {
    const [imageWidth, imageHeight, inputWidth, inputHeight] = sizes;
    let thrown: unknown;
    try {
      createLetterbox(imageWidth, imageHeight, inputWidth, inputHeight, { placement: 'centre', ...extra });
    } catch (error) {
      thrown = error;
    }
    expect(YoloError.is(thrown, 'ERR_YOLO_INVALID_ARGUMENT')).toBe(true);
    expect((thrown as Error).message).toMatch(message);
  });
});

describe('the way back', () => {
  it('inverts the sides and borders that were used, so that a wide panorama is not shifted', () => {
    // Derived again from the photo's size alone, the upper border would be 374 and every box three pixels too high.
    const letterbox = createLetterbox(3775, 1571, 1280, 1280);
    const boxes = Float32Array.of(0, 373, 1280, 906);
    boxesToImage(boxes, 1, letterbox);
    expect(Array.from(boxes)).toEqual([0, 0, 3775, 1571]);
  });

  it('takes off the border before it scales', () => {
    const boxes = Float32Array.of(320, 320, 330, 340);
    boxesToImage(boxes, 1, createLetterbox(1920, 1080, 640, 640));
    expect(Array.from(boxes)).toEqual([960, 540, 990, 600]);
  });

  it('scales each axis by its own ratio', () => {
    const letterbox = createLetterbox(100, 7, 32, 32);
    expect(letterbox).toMatchObject({ resizedWidth: 32, resizedHeight: 2 });
    const boxes = Float32Array.of(0, letterbox.padY, 32, letterbox.padY + 2);
    boxesToImage(boxes, 1, letterbox);
    expect(Array.from(boxes)).toEqual([0, 0, 100, 7]);
    const stretched = Float32Array.of(16, 16, 32, 32);
    boxesToImage(stretched, 1, createLetterbox(100, 7, 32, 32, { placement: 'stretch' }));
    expect(Array.from(stretched)).toEqual([50, 3.5, 100, 7]);
  });

  it('is right for a small picture that was not enlarged', () => {
    const boxes = Float32Array.of(110, 134, 210, 185);
    boxesToImage(boxes, 1, createLetterbox(100, 51, 320, 320, { placement: 'centre', scaleUp: false }));
    expect(Array.from(boxes)).toEqual([0, 0, 100, 51]);
  });

  it('clips boxes to the picture, leaves NaN, and touches the boxes it is told to only', () => {
    const letterbox = createLetterbox(64, 32, 64, 64);
    const boxes = Float32Array.of(-5, 0, 70, 64, Number.NaN, 20, 30, Infinity, 1, 2, 3, 4);
    boxesToImage(boxes, 2, letterbox);
    expect(Array.from(boxes)).toEqual([0, 0, 64, 32, Number.NaN, 4, 30, 32, 1, 2, 3, 4]);
  });

  it('does not clip points', () => {
    const points = Float32Array.of(-5, 0, 70, 64);
    pointsToImage(points, 2, createLetterbox(64, 32, 64, 64));
    expect(Array.from(points)).toEqual([-5, -16, 70, 48]);
  });

  it('undoes the way forth within 1e-9 of the picture, for any sizes', () => {
    const coordinate = fc.double({ min: 0, max: 1, noNaN: true });
    const box = fc.tuple(coordinate, coordinate, coordinate, coordinate);
    fc.assert(
      fc.property(
        size,
        size,
        size,
        size,
        options,
        box,
        (imageWidth, imageHeight, inputWidth, inputHeight, chosen, at) => {
          const letterbox = createLetterbox(imageWidth, imageHeight, inputWidth, inputHeight, chosen);
          const original = at.map((share, i) => share * (i % 2 === 0 ? imageWidth : imageHeight));
          const boxes = Float64Array.from(original);
          boxesToInput(boxes, 1, letterbox);
          expect(boxes[0]).toBeGreaterThanOrEqual(letterbox.padX);
          expect(boxes[3]).toBeLessThanOrEqual(letterbox.padY + letterbox.resizedHeight + 1e-9);
          const points = boxes.slice();
          boxesToImage(boxes, 1, letterbox);
          pointsToImage(points, 2, letterbox);
          original.forEach((value, i) => {
            expect(Math.abs(boxes[i] - value)).toBeLessThanOrEqual(1e-9 * Math.max(imageWidth, imageHeight));
            expect(Math.abs(points[i] - value)).toBeLessThanOrEqual(1e-9 * Math.max(imageWidth, imageHeight));
          });
          pointsToInput(points, 2, letterbox);
          pointsToImage(points, 2, letterbox);
          expect(Math.abs(points[0] - original[0])).toBeLessThanOrEqual(1e-9 * Math.max(imageWidth, imageHeight));
        },
      ),
    );
  });

  it('leads from where the packer laid a mark to where the mark is in the picture', () => {
    const packer = new TensorPacker();
    for (const chosen of [
      { placement: 'centre' },
      { placement: 'top-left' },
      { placement: 'stretch' },
      { placement: 'centre', scaleUp: false },
      { placement: 'centre', stride: 32 },
    ] as const) {
      const [width, height] = [150, 90];
      const mark = { x1: 40, y1: 30, x2: 80, y2: 60 };
      const data = new Uint8Array(3 * width * height);
      for (let y = mark.y1; y < mark.y2; y++) data.fill(255, 3 * (y * width + mark.x1), 3 * (y * width + mark.x2));
      const letterbox = createLetterbox(width, height, 320, 320, { ...chosen, padValue: 0 });
      const format: InputFormat = { layout: 'nchw', type: 'uint8', channelOrder: 'rgb', divisor: 1, letterbox: chosen };
      const plane = letterbox.inputWidth * letterbox.inputHeight;
      const tensor = new Uint8Array(3 * plane);
      packer.pack({ data, width, height }, letterbox, format, tensor, 0);
      const bright = Array.from(tensor.subarray(0, plane).entries()).filter(([, level]) => level > 127);
      const columns = bright.map(([i]) => i % letterbox.inputWidth);
      const rows = bright.map(([i]) => Math.floor(i / letterbox.inputWidth));
      const found = Float32Array.of(
        Math.min(...columns),
        Math.min(...rows),
        Math.max(...columns) + 1,
        Math.max(...rows) + 1,
      );
      boxesToImage(found, 1, letterbox);
      [mark.x1, mark.y1, mark.x2, mark.y2].forEach((value, i) => {
        expect(Math.abs(found[i] - value), JSON.stringify(chosen)).toBeLessThan(0.6);
      });
    }
  });
});
