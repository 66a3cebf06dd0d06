import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { type AnnotateOptions, Detections } from '../../lib/detections.js';
import { coloursOf } from '../../lib/image/colours.js';
import { lettering } from '../../lib/image/lettering.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const folder = mkdtempSync(join(tmpdir(), 'annotate-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Box = [x1: number, y1: number, x2: number, y2: number];

function boxes(width: number, height: number, xyxy: readonly Box[], label = 'cat', source?: string): Detections {
  return Detections.from(
    {
      xyxy: Float32Array.from(xyxy.flat()),
      confidence: new Float32Array(xyxy.length).fill(0.5),
      classId: new Int32Array(xyxy.length),
    },
    { labels: [label], image: { width, height }, source },
  );
}

const gray = (width: number, height: number) =>
  ({ data: new Uint8Array(width * height * 3).fill(128), width, height, channels: 3 }) as const;

async function levels(png: Buffer): Promise<(x: number, y: number) => string> {
  const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  expect(info.channels).toBe(3);
  return (x, y) => data.subarray(3 * (y * info.width + x), 3 * (y * info.width + x) + 3).toString('hex');
}

describe('annotate', () => {
  const fill = coloursOf(0).fill.slice(1);

  it('draws the frame and a label above it, and leaves all else', async () => {
    const at = await levels(
      await boxes(400, 300, [[100, 150, 300, 250]]).annotate(undefined, { image: gray(400, 300) }),
    );
    expect([at(100, 200), at(300, 200), at(200, 250), at(250, 150)].map((level) => level === '808080')).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(at(101, 140)).toBe(fill);
    expect([at(200, 200), at(50, 50), at(350, 200), at(100, 280)]).toEqual(Array(4).fill('808080'));
  });

  for (const [width, height] of [
    [160, 120],
    [810, 1080],
    [3000, 2000],
  ] as const) {
    it(`keeps labels and frames inside a picture of ${width}×${height}`, async () => {
      const corners: Box[] = [
        [0, 0, width, height],
        [width - 9, height - 9, width, height],
        [-20, height / 2, 5, height + 20],
      ];
      const [red, green, blue] = Buffer.from(fill, 'hex');
      for (const box of corners) {
        const png = await boxes(width, height, [box]).annotate(undefined, { image: gray(width, height) });
        const drawn = await sharp(png).raw().toBuffer();
        let label = 0;
        let letters = 0;
        for (let from = 0; from < drawn.length; from += 3) {
          if (drawn[from] === red && drawn[from + 1] === green && drawn[from + 2] === blue) label++;
          // Gray is 128 and the label's red more: less is black text, though small letters are nowhere quite black.
          else if (drawn[from]! < 110) letters++;
        }
        // At least 10 pixels high, four letters and a number.
        expect(label).toBeGreaterThan(10 * 20);
        expect(letters).toBeGreaterThan(40);
      }
      const whole = await levels(
        await boxes(width, height, [corners[0]!]).annotate(undefined, { image: gray(width, height) }),
      );
      expect([whole(0, height - 5), whole(width - 1, height - 5), whole(width >> 1, height - 1)]).toEqual(
        Array(3).fill(fill),
      );
    });
  }

  it('draws frames without labels, of the width and in the colours that are asked for', async () => {
    const two = Detections.from(
      {
        xyxy: Float32Array.of(20, 100, 120, 200, 200, 100, 300, 200),
        confidence: Float32Array.of(0.9, 0.8),
        classId: Int32Array.of(1, 0),
      },
      { labels: ['cat', 'dog'], image: { width: 400, height: 300 } },
    );
    const draw = (options: AnnotateOptions) =>
      two.annotate(undefined, { image: gray(400, 300), ...options }).then(levels);
    const bare = await draw({ labels: false, lineWidth: 10, colours: { dog: '#0f0' } });
    // Half of the line on each side of the box.
    for (const x of [15, 20, 24]) expect(bare(x, 150)).toBe('00ff00');
    for (const x of [13, 26]) expect(bare(x, 150)).toBe('808080');
    expect(bare(200, 150)).toBe(fill);
    // Where labels would be.
    for (const y of [85, 90, 110]) expect(bare(60, y)).toBe('808080');
    const listed = await draw({ lineWidth: 2, colours: ['#ABCDEF'] });
    expect([listed(200, 150), listed(20, 150)]).toEqual(['abcdef', coloursOf(1).fill.slice(1)]);
    expect(listed(201, 90)).toBe('abcdef');
    // The frame of a box is inside the picture however thick its line is.
    const thick = await draw({ labels: false, lineWidth: 1000, colours: ['#000', '#000'] });
    expect([thick(5, 150), thick(370, 150)]).toEqual(['000000', '000000']);
  });

  it.each<[unknown, RegExp]>([
    [{ labels: 'no' }, /labels to be true or false/],
    [{ lineWidth: 0 }, /lineWidth to be a whole number in \[1, 1000\] but received 0/],
    [{ lineWidth: 1.5 }, /lineWidth to be a whole number/],
    [{ colours: 'red' }, /colours to be an object but received "red"/],
    [{ colours: ['red'] }, /colours\[0\] to be a colour as #rgb or #rrggbb but received "red"/],
    [{ colours: ['#12345'] }, /colours\[0\] to be a colour/],
    [{ colours: { cat: '#fff"/><script>' } }, /colours\["cat"\] to be a colour/],
    [{ colours: { cta: '#fff' } }, /no class "cta" for a colour; did you mean "cat"\?/],
    [{ colors: ['#fff'] }, /Unknown key "colors".*"colours"/],
  ])('refuses %j', async (options, message) => {
    const error = await yoloErrorOf(
      boxes(64, 48, [[5, 20, 40, 40]]).annotate(undefined, { image: gray(64, 48), ...(options as object) }),
    );
    expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect(error.message).toMatch(message);
  });

  it('writes the format that the extension names, and refuses others', async () => {
    const source = join(folder, 'source.png');
    writeFileSync(
      source,
      await sharp(gray(64, 48).data, { raw: { width: 64, height: 48, channels: 3 } })
        .png()
        .toBuffer(),
    );
    const detections = boxes(64, 48, [[5, 20, 40, 40]], 'cat', source);
    for (const [extension, format] of Object.entries({
      png: 'png',
      jpg: 'jpeg',
      JPEG: 'jpeg',
      webp: 'webp',
      avif: 'heif',
      tif: 'tiff',
      tiff: 'tiff',
    })) {
      const path = join(folder, `out.${extension}`);
      expect(await detections.annotate(path)).toBeUndefined();
      expect((await sharp(readFileSync(path)).metadata()).format).toBe(format);
    }
    for (const path of ['out.bmp', 'out', 5 as unknown as string])
      expect((await yoloErrorOf(detections.annotate(path))).code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect((await yoloErrorOf(detections.annotate('out.bmp'))).message).toContain('.png, .jpg');
  });

  it('writes a file whole or not at all, and says why not', async () => {
    const detections = boxes(64, 48, [[5, 20, 40, 40]]);
    const write = (path: string) => yoloErrorOf(detections.annotate(path, { image: gray(64, 48) }));
    const missing = await write(join(folder, 'missing/out.png'));
    expect(missing.code).toBe('ERR_YOLO_FILE_WRITE');
    expect(missing.message).toMatch(/missing\/out\.png: there is no such folder \(ENOENT\)/);
    const taken = join(folder, 'folder.png');
    mkdirSync(join(taken, 'sub'), { recursive: true });
    expect((await write(taken)).code).toBe('ERR_YOLO_FILE_WRITE');
    const kept = join(folder, 'kept.png');
    writeFileSync(kept, 'as it was');
    expect((await yoloErrorOf(detections.annotate(kept, { image: gray(65, 48) }))).code).toBe(
      'ERR_YOLO_INVALID_ARGUMENT',
    );
    expect(readFileSync(kept, 'utf8')).toBe('as it was');
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('draws on pixels in shared memory', async () => {
    const { data, ...size } = gray(64, 48);
    const shared = new Uint8Array(new SharedArrayBuffer(data.length));
    shared.set(data);
    const detections = boxes(64, 48, [[5, 20, 40, 40]]);
    const own = await detections.annotate(undefined, { image: { data, ...size } });
    expect(own.equals(await detections.annotate(undefined, { image: { data: shared, ...size } }))).toBe(true);
  });

  it('cuts labels that nobody could read, and draws many boxes in little time', async () => {
    const image = gray(640, 480);
    const many = Array.from({ length: 300 }, (_, index): Box => [index, index, index + 40, index + 30]);
    const started = performance.now();
    const long = await boxes(640, 480, many, 'x'.repeat(5000)).annotate(undefined, { image });
    expect(performance.now() - started).toBeLessThan(5000);
    const cut = await boxes(640, 480, many, `${'x'.repeat(63)}…`).annotate(undefined, { image });
    expect(long.equals(cut)).toBe(true);
  });

  it('asks for a picture that came as pixels or bytes, and for the same size', async () => {
    const detections = boxes(64, 48, [[5, 20, 40, 40]]);
    expect((await yoloErrorOf(detections.annotate())).message).toMatch(
      /give the picture again, annotate\(path, \{ image \}\)/,
    );
    expect((await yoloErrorOf(detections.annotate(undefined, { image: gray(65, 48) }))).message).toMatch(
      /64×48.*65×48/,
    );
  });

  it('gives the same bytes twice and changes neither pixels nor columns', async () => {
    const detections = boxes(64, 48, [[5, 20, 40, 40]]);
    const image = gray(64, 48);
    const first = await detections.annotate(undefined, { image });
    expect(first.equals(await detections.annotate(undefined, { image }))).toBe(true);
    expect(image.data.every((level) => level === 128)).toBe(true);
    expect([...detections.xyxy]).toEqual([5, 20, 40, 40]);
  });

  it('draws any text: markup, scripts that the font lacks, control characters, half a surrogate pair', async () => {
    for (const label of [
      '</svg><script>&"\'',
      'café Straße шар γάτα',
      '犬 🐕',
      'a\nb\0c',
      '\ud83d',
      '',
      'x'.repeat(500),
    ]) {
      const detections = boxes(200, 150, [[20, 60, 120, 120]], label);
      expect((await detections.annotate(undefined, { image: gray(200, 150) })).length).toBeGreaterThan(100);
    }
  });

  it('draws Hebrew from right to left', () => {
    expect(lettering('אב', 20).path).not.toBe(lettering('בא', 20).path);
    const [aleph, bet] = [lettering('א', 20), lettering('ב', 20)];
    expect(lettering('אב', 20).path.startsWith(bet.path)).toBe(true);
    expect(lettering('בא', 20).path.startsWith(aleph.path)).toBe(true);
  });

  it('reads well and prints nothing on a machine without fonts', async () => {
    mkdirSync(join(folder, 'no-fonts'));
    const module = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
    const script = `
      const { Detections } = await import(${JSON.stringify(module)});
      const detections = Detections.from(
        { xyxy: Float32Array.of(20, 60, 120, 120), confidence: Float32Array.of(0.5), classId: Int32Array.of(0) },
        { labels: ['cat'], image: { width: 200, height: 150 } });
      const image = { data: new Uint8Array(200 * 150 * 3).fill(128), width: 200, height: 150, channels: 3 };
      process.stdout.write((await detections.annotate(undefined, { image })).toString('base64'));`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        FONTCONFIG_FILE: '/nonexistent',
        FONTCONFIG_PATH: join(folder, 'no-fonts'),
      },
    });
    expect([child.status, child.stderr]).toEqual([0, '']);
    const here = await boxes(200, 150, [[20, 60, 120, 120]]).annotate(undefined, { image: gray(200, 150) });
    expect(Buffer.from(child.stdout, 'base64').equals(here)).toBe(true);
  });
});

describe('colours of classes', () => {
  it('are the same always, differ within 80 classes, and carry text of contrast 4.5 or more', () => {
    const luminance = (hex: string) =>
      [0.2126, 0.7152, 0.0722].reduce((sum, weight, at) => {
        const share = Number.parseInt(hex.slice(1 + 2 * at, 3 + 2 * at), 16) / 255;
        return sum + weight * (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
      }, 0);
    const fills = Array.from({ length: 80 }, (_, classId) => coloursOf(classId));
    expect(new Set(fills.map(({ fill }) => fill)).size).toBe(80);
    const given = ['#000', '#ffffff', '#f00', '#00f', '#777', '#808080'].map((own) => coloursOf(0, own));
    for (const [classId, { fill, text }] of [...fills, ...given].entries()) {
      if (classId < 80) expect(coloursOf(classId)).toEqual({ fill, text });
      const [dark, light] = [luminance(fill), luminance(text)].sort((a, b) => a - b);
      expect((light! + 0.05) / (dark! + 0.05)).toBeGreaterThanOrEqual(4.5);
    }
  });
});
