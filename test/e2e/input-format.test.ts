import { afterEach, describe, expect, it } from 'vitest';
import { Detector, type DetectorOptions, type RawImage } from '../../lib/index.js';
import { channelMeter, METER_BOX, METER_SIDE, type MeterOptions } from '../support/channel-meter.js';

type Colour = readonly [red: number, green: number, blue: number];

/** A picture of one colour. */
function plain(colour: Colour, width = METER_SIDE, height = METER_SIDE): RawImage {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, index) => colour[index % 3]!);
  return { data, width, height, channels: 3 };
}

const ORANGE: Colour = [250, 150, 50];
const AZURE: Colour = [20, 120, 220];

/** The meter adds up thousands of float32; one level of 255 is forty times more. */
const ROUNDING = 1e-4;

let open: Detector[] = [];
async function meter(options: MeterOptions & Partial<DetectorOptions> = {}): Promise<Detector> {
  const { type, layout, openBatch, ...rest } = options;
  const detector = await Detector.create({
    model: channelMeter({ type, layout, openBatch }),
    confidenceThreshold: 0,
    threads: 1,
    ...rest,
  });
  open.push(detector);
  return detector;
}
afterEach(async () => {
  await Promise.all(open.map((detector) => detector.close()));
  open = [];
});

/** The mean of each channel of the model's input, in its order. */
async function channels(detector: Detector, picture: RawImage): Promise<number[]> {
  const found = [...(await detector.detect(picture))];
  expect(found).toHaveLength(3);
  return found.sort((a, b) => a.classId - b.classId).map(({ confidence }) => confidence);
}

function expectNear(actual: readonly number[], expected: readonly number[], within = ROUNDING): void {
  expect(actual).toHaveLength(expected.length);
  actual.forEach((value, index) => {
    expect(Math.abs(value - expected[index]!), `${actual} is not ${expected}`).toBeLessThanOrEqual(within);
  });
}

const shares = (colour: Colour, of = 255) => colour.map((level) => level / of);

describe('pixels reach the model', () => {
  it.each<MeterOptions>([
    { type: 'float32', layout: 'nchw' },
    { type: 'float32', layout: 'nhwc' },
    { type: 'float16', layout: 'nchw' },
    { type: 'uint8', layout: 'nhwc' },
    { type: 'uint8', layout: 'nchw' },
  ])('as red, green, blue in 0..1 or levels: $type $layout', async (options) => {
    const detector = await meter({ ...options, inputFormat: { divisor: options.type === 'uint8' ? 1 : 255 } });
    expect(detector.labels).toEqual(['first', 'second', 'third']);
    const within = options.type === 'float16' ? 1e-3 : ROUNDING;
    expectNear(await channels(detector, plain(ORANGE)), shares(ORANGE), within);
    expectNear(await channels(detector, plain(AZURE)), shares(AZURE), within);
  });

  it('as red, green, blue in 0..1 without an option, by the names in the file', async () => {
    expectNear(await channels(await meter(), plain(ORANGE)), shares(ORANGE));
  });

  it('in the order, scale, mean and deviation that are asked for', async () => {
    const [red, green, blue] = shares(ORANGE);
    const swapped = await meter({ inputFormat: { channelOrder: 'bgr' } });
    expectNear(await channels(swapped, plain(ORANGE)), [blue!, green!, red!]);

    const halved = await meter({ inputFormat: { divisor: 510 } });
    expectNear(await channels(halved, plain(ORANGE)), shares(ORANGE, 510));

    // Of the channels as the model gets them: blue first.
    const mean = [10, 20, 30] as const;
    const std = [300, 400, 500] as const;
    const normal = await meter({ inputFormat: { channelOrder: 'bgr', divisor: 1, mean, std } });
    expectNear(
      await channels(normal, plain(ORANGE)),
      [50, 150, 250].map((level, index) => (level - mean[index]!) / std[index]!),
    );
  });

  it('letterboxed over 114, and the box goes back to the picture, each axis by its own ratio', async () => {
    const wide = plain([200, 200, 200], 256, 128);
    const detector = await meter();
    // 64 × 32 of 64 × 64 are picture.
    expectNear(await channels(detector, wide), Array(3).fill((200 + 114) / 2 / 255));
    const [first] = await detector.detect(wide);
    expect([...first!.xyxy]).toEqual([32, 0, 224, 128]);

    const stretched = await meter({ inputFormat: { letterbox: { placement: 'stretch' } } });
    expectNear(await channels(stretched, wide), Array(3).fill(200 / 255));
    const [x1, y1, x2, y2] = METER_BOX;
    expect([...(await stretched.detect(wide)).at(0)!.xyxy]).toEqual([x1 * 4, y1 * 2, x2 * 4, y2 * 2]);

    const black = await meter({ inputFormat: { letterbox: { placement: 'top-left', padValue: 0 } } });
    expectNear(await channels(black, wide), Array(3).fill(100 / 255));
    expect([...(await black.detect(wide)).at(0)!.xyxy]).toEqual([32, 64, 224, 128]);

    const unscaled = await meter({ inputFormat: { letterbox: { scaleUp: false } } });
    expect([...(await unscaled.detect(plain(ORANGE, 32, 32))).at(0)!.xyxy]).toEqual([0, 0, 32, 32]);
  });

  it('of a batch in one run, each picture in its own place', async () => {
    const detector = await meter({ openBatch: true, maxBatch: 3 });
    const colours: Colour[] = [ORANGE, AZURE, [10, 20, 30], [240, 230, 220], [90, 0, 200]];
    const pictures = colours.map((colour, index) => plain(colour, 64 * (index + 1), 64 * (index + 1)));
    const results = await detector.detectBatch(pictures);
    results.forEach((found, index) => {
      const means = [...found].sort((a, b) => a.classId - b.classId).map(({ confidence }) => confidence);
      const expected = shares(colours[index]!).filter((share) => share > 0);
      expectNear(means, expected);
      for (const { xyxy } of found) expect([...xyxy]).toEqual(METER_BOX.map((side) => side * (index + 1)));
    });
  });
});
