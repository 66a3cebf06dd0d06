import sharp from 'sharp';
import { expect, it } from 'vitest';
import { Detections } from '../../lib/detections.js';
import { YoloError } from '../../lib/errors.js';
import { decodeImage } from '../../lib/image/decode.js';

const columns = (n: number) => ({
  xyxy: new Float32Array(4 * n),
  confidence: new Float32Array(n).fill(0.5),
  classId: new Int32Array(n),
});
const context = { labels: ['cat'], image: { width: 40, height: 20 } };
const one = (source?: string): Detections => Detections.from(columns(1), { ...context, source });

it('misuse is answered with what was expected', async () => {
  const untyped = Detections as unknown as Record<string, (...args: unknown[]) => unknown>;
  const mistakes = [
    () => untyped.from!(undefined, {}),
    () => untyped.from!(columns(1), undefined),
    () => untyped.merge!(undefined),
    () => untyped.merge!([{}]),
    () => (one() as unknown as { filter(keep: unknown): unknown }).filter(5),
    () => (one() as unknown as { toCocoResults(): unknown }).toCocoResults(),
    () => one().toCocoResults({ imageid: 1 } as never),
  ];
  for (const mistake of mistakes) {
    expect(mistake).toThrow(YoloError);
  }
  await expect(one('a.jpg').annotate(undefined, null as never)).rejects.toMatchObject({
    code: 'ERR_YOLO_INVALID_ARGUMENT',
  });
  await expect(one('a.jpg').annotate(undefined, { picture: 'b.jpg' } as never)).rejects.toMatchObject({
    message: expect.stringContaining('Unknown key "picture"'),
  });
});

it('detections of two files are not merged, and a source that only one part has is kept', () => {
  expect(() => Detections.merge([one('a.jpg'), one('b.jpg')])).toThrow(/different pictures.*a\.jpg.*b\.jpg/);
  expect(Detections.merge([one(), one('a.jpg')]).source).toBe('a.jpg');
});

it('a picture is taken as it lies in the file where orientation is switched off, and drawn on so', async () => {
  const turned = await sharp({ create: { width: 40, height: 20, channels: 3, background: 'white' } })
    .withMetadata({ orientation: 6 })
    .jpeg()
    .toBuffer();
  expect(await decodeImage(turned)).toMatchObject({ width: 20, height: 40 });
  expect(await decodeImage(turned, { autoOrient: false })).toMatchObject({ width: 40, height: 20 });
  const detections = Detections.from(columns(1), { ...context, autoOrient: false });
  const { width, height } = await sharp(await detections.annotate(undefined, { image: turned })).metadata();
  expect([width, height]).toEqual([40, 20]);
});

it('a very flat picture keeps its label inside', async () => {
  const flat = { data: new Uint8Array(300 * 8 * 3), width: 300, height: 8, channels: 3 } as const;
  const detections = Detections.from(
    { xyxy: new Float32Array([10, 1, 60, 7]), confidence: new Float32Array([0.9]), classId: new Int32Array(1) },
    { labels: ['cat'], image: { width: 300, height: 8 } },
  );
  const { data } = await sharp(await detections.annotate(undefined, { image: flat }))
    .raw()
    .toBuffer({ resolveWithObject: true });
  const isDrawn = (row: number): boolean => data.subarray(row * 900, (row + 1) * 900).some((level) => level > 0);
  expect(isDrawn(3)).toBe(true);
  expect(isDrawn(7)).toBe(true);
});
