import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Detections,
  Detector,
  frames,
  type ImageInput,
  type RawImage,
  type StreamOptions,
  YoloError,
} from '../../lib/index.js';
import { cachedModel, ownCacheFolder, PHOTO, photoPixels } from '../support/default-detector.js';
import { slowModel } from '../support/slow-model.js';

const cacheFolder = ownCacheFolder();
const folder = mkdtempSync(join(tmpdir(), 'yolo-stream-'));
let detector: Detector;
let photo: RawImage;
let expected: unknown[];

const boxes = (detections: Detections | undefined) => [...detections!];

/** The same picture in files of their own. */
function copies(count: number, name: string): string[] {
  return Array.from({ length: count }, (_, index) => {
    const path = join(folder, `${name}-${index}.jpg`);
    copyFileSync(PHOTO, path);
    return path;
  });
}

/** Takes items until the stream ends, or `each` says true. */
async function take<Item>(items: AsyncIterable<Item>, each: (item: Item, count: number) => unknown = () => {}) {
  const taken: Item[] = [];
  try {
    for await (const item of items) {
      taken.push(item);
      if (each(item, taken.length) === true) break;
    }
  } catch (error) {
    return { taken, error };
  }
  return { taken };
}

/** Nothing of a stream is left in the detector, and it still finds what it should. */
async function expectIdleAndUsable(): Promise<void> {
  expect(boxes(await detector.detect(PHOTO))).toEqual(expected);
  expect(detector.stats()).toMatchObject({ queued: 0, decoded: 0 });
}

const endless = function* <Picture>(picture: Picture) {
  for (;;) yield picture;
};

beforeAll(async () => {
  detector = await Detector.create({ cacheFolder });
  photo = await photoPixels();
  expected = boxes(await detector.detect(PHOTO));
});
afterAll(async () => {
  await detector?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('Detector.stream()', () => {
  it('finds in each picture of a source what detect() finds', async () => {
    const pictures: ImageInput[] = [PHOTO, readFileSync(PHOTO), photo, new Blob([readFileSync(PHOTO)]), PHOTO];
    const { taken, error } = await take(detector.stream(pictures));
    expect(error).toBeUndefined();
    expect(taken.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    for (const { source, index, detections } of taken) {
      expect(source).toBe(pictures[index]);
      expect(boxes(detections)).toEqual(expected);
    }
  });

  it('takes the options of detect() too', async () => {
    const options = { classes: ['person'], confidenceThreshold: 0.3, maxDetections: 1 };
    const alone = boxes(await detector.detect(PHOTO, options));
    expect(alone.length).toBe(1);
    const { taken } = await take(detector.stream([PHOTO, PHOTO], options));
    expect(taken.map(({ detections }) => boxes(detections))).toEqual([alone, alone]);
  });

  it('has a picture decoded while another is in the model, and no more pictures in memory than lanes and one', async () => {
    const own = await Detector.create({ model: slowModel(), lanes: 2, threads: 1, postprocessor: sums });
    const paths = copies(20, 'busy');
    const { taken } = await take(own.stream(paths));
    expect(taken.map(({ source }) => source)).toEqual(paths);
    const { decodedHighWater } = own.stats();
    await own.close();
    expect(decodedHighWater).toBe(3);
  });

  it('gives what a custom postprocessor returns', async () => {
    const own = await Detector.create({ model: slowModel(1), postprocessor: sums });
    const { taken } = await take(own.stream([PHOTO, photo]));
    await own.close();
    const [first, second] = taken.map(({ detections }) => detections);
    expect(first!.values).toBe(64);
    expect(second).toEqual(first);
  });

  it('serves several streams and calls at once', async () => {
    const streams = [1, 2, 3].map((inFlight) => take(detector.stream([PHOTO, photo, PHOTO], { inFlight })));
    expect(boxes(await detector.detect(PHOTO))).toEqual(expected);
    for (const { taken } of await Promise.all(streams))
      expect(taken.map(({ detections }) => boxes(detections))).toEqual([expected, expected, expected]);
  });

  it('never fills the queue by itself, whatever inFlight and maxQueue are', async () => {
    for (const maxQueue of [0, 1]) {
      const own = await Detector.create({ model: cachedModel(cacheFolder), maxQueue });
      for (const inFlight of [undefined, 1, 50]) {
        const { taken, error } = await take(own.stream(copies(6, 'queue'), { inFlight }));
        expect([taken.length, error]).toEqual([6, undefined]);
      }
      await own.close();
    }
  });

  it('detects on the pictures of a video', async () => {
    const { width, height } = photo;
    const [first, second] = [Buffer.from(photo.data), Buffer.alloc(photo.data.length, 114)];
    const video = Buffer.concat([first, second, first]);
    const chunks = Array.from({ length: Math.ceil(video.length / 65_536) }, (_, index) =>
      video.subarray(index * 65_536, (index + 1) * 65_536),
    );
    const { taken } = await take(detector.stream(frames(Readable.from(chunks), { width, height })));
    expect(taken.map(({ detections }) => boxes(detections))).toEqual([expected, [], expected]);
  });

  it('warns of nothing with many pictures under way, like detectBatch()', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => warnings.push(message);
    process.on('warning', onWarning);
    const own = await Detector.create({ model: slowModel(1), postprocessor: sums });
    const { taken } = await take(own.stream(Array<RawImage>(30).fill(photo), { inFlight: 30 }));
    expect(taken.length).toBe(30);
    await own.detectBatch(Array<RawImage>(30).fill(photo), { signal: new AbortController().signal });
    await own.close();
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});

describe('a picture that fails in a stream', () => {
  it('because its file was deleted meanwhile ends the stream, and nothing done before is lost', async () => {
    const paths = copies(8, 'deleted');
    const { taken, error } = await take(detector.stream(paths, { inFlight: 2 }), (_, count) => {
      if (count === 2) rmSync(paths[5]!);
    });
    expect(taken.map(({ source }) => source)).toEqual(paths.slice(0, 5));
    for (const { detections } of taken) expect(boxes(detections)).toEqual(expected);
    expect(YoloError.is(error, 'ERR_YOLO_IMAGE_DECODE')).toBe(true);
    const { message, detail, cause } = error as YoloError;
    expect(message).toBe(`Cannot read the picture ${paths[5]}: there is no such file (ENOENT) (picture 6)`);
    expect(detail).toEqual({ index: 5, path: paths[5], code: 'ENOENT' });
    expect(cause).toMatchObject({ code: 'ENOENT' });
    await expectIdleAndUsable();
  });

  it('comes out in its place where errors are yielded, and all others are found', async () => {
    const paths = copies(8, 'deleted-too');
    const { taken, error } = await take(
      detector.stream(paths, { inFlight: 2, onError: 'yield' }),
      (_, count) => count === 2 && rmSync(paths[5]!),
    );
    expect(error).toBeUndefined();
    expect(taken.map(({ source }) => source)).toEqual(paths);
    for (const item of taken) {
      if (item.error === undefined) expect(boxes(item.detections)).toEqual(expected);
      else expect(item.error.detail).toEqual({ index: 5, path: paths[5], code: 'ENOENT' });
    }
    expect(taken.filter((item) => item.error !== undefined).length).toBe(1);
    await expectIdleAndUsable();
  });

  it('may be none at all', async () => {
    const pictures = [PHOTO, 42 as unknown as string, '', PHOTO];
    const { taken } = await take(detector.stream(pictures, { onError: 'yield' }));
    expect(taken.map(({ error }) => error && [error.code, error.detail?.index])).toEqual([
      undefined,
      ['ERR_YOLO_INVALID_ARGUMENT', 1],
      ['ERR_YOLO_INVALID_ARGUMENT', 2],
      undefined,
    ]);
  });

  it('in a custom postprocessor has its number as well', async () => {
    let calls = 0;
    const own = await Detector.create({
      model: slowModel(1),
      postprocessor: {
        name: 'second',
        decode: () => {
          if (++calls === 2) throw new TypeError('no points');
          return calls;
        },
      },
    });
    const { taken } = await take(own.stream([photo, photo, photo], { onError: 'yield' }));
    await own.close();
    expect(taken.map(({ detections, error }) => detections ?? [error.code, error.detail])).toEqual([
      1,
      ['ERR_YOLO_POSTPROCESSOR', { postprocessor: 'second', outputs: ['10', '20'], index: 1 }],
      3,
    ]);
  });
});

describe('the end of an endless stream', () => {
  it('by a break leaves nothing behind', async () => {
    const { completed } = detector.stats();
    const { taken } = await take(detector.stream(endless(PHOTO)), (_, count) => count === 3);
    expect(taken.length).toBe(3);
    await expectIdleAndUsable();
    // Those that were in the model are finished, the call above is one, and nothing else was done.
    expect(detector.stats().completed).toBeLessThanOrEqual(completed + 3 + detector.stats().lanes + 2);
  });

  it('by an abort comes with its reason', async () => {
    const abort = new AbortController();
    const { taken, error } = await take(detector.stream(endless(photo), { signal: abort.signal }), (_, count) => {
      if (count === 2) abort.abort('enough');
    });
    expect([taken.length, error]).toEqual([2, 'enough']);
    await expectIdleAndUsable();
  });

  it('by an abort in the middle of a run comes at once', async () => {
    const own = await Detector.create({ model: slowModel(60), threads: 1, postprocessor: sums });
    const items = own.stream(endless(photo), { signal: AbortSignal.timeout(50) });
    const { error } = await take(items);
    expect((error as Error).name).toBe('TimeoutError');
    expect(own.stats()).toMatchObject({ queued: 0 });
    await own.close();
  });

  it('by close() comes with ERR_YOLO_CLOSED, also where errors are yielded', async () => {
    const own = await Detector.create({ model: slowModel(1), postprocessor: sums });
    let closed: Promise<void> | undefined;
    const { taken, error } = await take(own.stream(endless(photo), { onError: 'yield' }), (_, count) => {
      if (count === 3) closed = own.close();
    });
    await closed;
    expect(taken.every((item) => item.error === undefined)).toBe(true);
    expect(YoloError.is(error, 'ERR_YOLO_CLOSED')).toBe(true);
    expect((error as YoloError).detail).toEqual({ index: taken.length });
  });
});

describe('a stream of something else', () => {
  const refused: [source: unknown, options: unknown, message: string][] = [
    ['street.jpg', {}, 'but received "street.jpg" (string); for one picture use detect()'],
    [Buffer.alloc(3), {}, 'but received an object (Buffer); for one picture use detect()'],
    [null, {}, 'Expected an iterable or async iterable of pictures but received null'],
    [{ data: new Uint8Array(3), width: 1, height: 1, channels: 3 }, {}, 'but received an object (Object)'],
    [[], { inFlight: 0 }, 'Expected inFlight to be a whole number in [1, 1024] but received 0 (number)'],
    [[], { inFlight: Number.POSITIVE_INFINITY }, 'Expected inFlight to be a whole number in [1, 1024]'],
    [[], { onError: 'skip' }, "Expected onError to be 'throw' or 'yield' but received \"skip\" (string)"],
    [[], { inflight: 2 }, 'Unknown key "inflight" in options; did you mean "inFlight"?'],
    [[], { signal: {} }, 'Expected signal to be an AbortSignal'],
    [[], { classes: ['unicorn'] }, 'The model has no class "unicorn"'],
  ];

  it.each(refused)('%o with %o is refused at the call', (source, options, message) => {
    try {
      detector.stream(source as string[], options as StreamOptions);
    } catch (error) {
      expect(YoloError.is(error, 'ERR_YOLO_INVALID_ARGUMENT')).toBe(true);
      expect((error as YoloError).message).toContain(message);
      return;
    }
    expect.unreachable('nothing was refused');
  });

  it('is refused where it is one picture that could be iterated by bytes: a sharp instance', () => {
    expect(() => detector.stream(sharp(PHOTO) as never)).toThrow(
      'but received an object (Sharp); for one picture use detect()',
    );
  });

  it('finds the same in pictures given as sharp instances', async () => {
    const { value } = await detector.stream([sharp(PHOTO)]).next();
    expect(value?.detections.toJSON()).toEqual((await detector.detect(PHOTO)).toJSON());
  });
});

/** A postprocessor whose result depends on every pixel. */
const sums = {
  name: 'sums',
  decode: (outputs: Readonly<Record<string, { data: ArrayLike<number | bigint> }>>) => {
    const values = Array.from(outputs['20']!.data as Float32Array);
    return { values: values.length, sum: values.reduce((sum, value) => sum + value, 0) };
  },
};
