import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Detections, Detector } from '../../lib/index.js';
import { type CocoTruth, evaluateCoco } from '../support/coco-eval.js';
import { ownCacheFolder, PHOTO } from '../support/default-detector.js';
import { describeShared, shared } from '../support/shared.js';
import { run } from './example.js';
import { fastestDetOfOneBox } from './fastestdet-model.js';

const cacheFolder = ownCacheFolder();
const folder = mkdtempSync(join(tmpdir(), 'yolo-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the library itself finds in the photo. */
let found: Detections;
beforeAll(async () => {
  const detector = await Detector.create({ cacheFolder });
  found = await detector.detect(PHOTO);
  await detector.close();
});

const examples = readdirSync(join(dirname(fileURLToPath(import.meta.url)), '../../examples'));

describe('each example', () => {
  it.each(examples.filter((file) => !/^(http-server|fastestdet)\.mjs$/.test(file)))(
    '%s says how it is called',
    async (file) => {
      const { code, stdout, stderr } = await run(basename(file, '.mjs'), [], cacheFolder);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(new RegExp(`^Usage: node examples/${file} `));
    },
  );

  it('is linked in the README', () => {
    const readme = readFileSync(join(dirname(fileURLToPath(import.meta.url)), '../../README.md'), 'utf8');
    const unlinked = examples.filter((file) => file !== 'fastestdet.mjs' && !readme.includes(`(examples/${file})`));
    expect(unlinked).toEqual([]);
  });
});

describe('detect-image', () => {
  it('prints what it finds, and draws it', async () => {
    const drawn = join(folder, 'boxes.png');
    const { code, stdout, stderr } = await run('detect-image', [PHOTO, drawn], cacheFolder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const sure = [...found].filter(({ confidence }) => confidence > 0.4);
    const lines = stdout.trim().split('\n');
    expect(lines.at(-1)).toBe(`${sure.length} objects in ${found.image.width}×${found.image.height} pixels`);
    expect(lines.slice(0, -1).map((line) => line.split(' ')[0])).toEqual(sure.map(({ label }) => label));
    const { width, height } = await sharp(drawn).metadata();
    expect({ width, height }).toEqual(found.image);
    expect((await sharp(drawn).raw().toBuffer()).equals(await sharp(PHOTO).raw().toBuffer())).toBe(false);
  });

  it('ends with an error where the picture is none', async () => {
    const { code, stderr } = await run('detect-image', [fileURLToPath(import.meta.url)], cacheFolder);
    expect(code).toBe(1);
    expect(stderr).toContain('ERR_YOLO_IMAGE_DECODE');
  });
});

describe('video-frames', () => {
  it('detects in each frame, and says that one is cut short', async () => {
    const { data, info } = await sharp(PHOTO).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    const video = join(folder, 'frames.rgb');
    writeFileSync(video, Buffer.concat([data, data]));
    const size = `${info.width}x${info.height}`;
    const { code, stdout, stderr } = await run('video-frames', [size, video], cacheFolder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^2 frames, [\d.]+ a second\n$/) });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ frame }) => frame)).toEqual([0, 1]);
    for (const { detections } of lines) expect(detections).toEqual(found.toJSON().detections);
    writeFileSync(video, data.subarray(0, data.length - 1));
    const cut = await run('video-frames', [size, video], cacheFolder);
    expect(cut.code).toBe(1);
    expect(cut.stderr).toContain('ERR_YOLO_IMAGE_DECODE');
  });
});

describe('detect-folder', () => {
  it('detects in every picture, also of folders inside, and goes on after a damaged one', async () => {
    const photos = join(folder, 'photos');
    mkdirSync(join(photos, 'inside'), { recursive: true });
    cpSync(PHOTO, join(photos, 'a.jpg'));
    cpSync(PHOTO, join(photos, 'inside', 'c.JPG'));
    writeFileSync(join(photos, 'b.png'), readFileSync(PHOTO).subarray(0, 300));
    writeFileSync(join(photos, 'notes.txt'), 'no picture');
    const { code, stdout, stderr } = await run('detect-folder', [photos], cacheFolder);
    expect(code).toBe(1);
    expect(stderr).toContain('b.png');
    expect(stderr).toContain('2 of 3 pictures');
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ file }) => file)).toEqual(['a.jpg', join('inside', 'c.JPG')]);
    for (const { image, detections } of lines) expect({ image, detections }).toEqual(found.toJSON());
  });
});

describe('worker-threads', () => {
  it('detects and crops in two threads', async () => {
    const { code, stdout, stderr } = await run('worker-threads', [PHOTO, PHOTO, PHOTO], cacheFolder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(3);
    expect(new Set(lines.map((line) => /^thread (\d+)/.exec(line)?.[1])).size).toBe(2);
    const labels = Array.from(found, ({ label }) => label).join(', ');
    for (const line of lines) expect(line).toMatch(new RegExp(`: ${labels} \\(crops of [1-9]\\d+ bytes\\)$`));
  });

  it('ends with the error of a thread', async () => {
    const { code, stderr } = await run('worker-threads', [join(folder, 'nowhere.jpg')], cacheFolder);
    expect(code).toBe(1);
    expect(stderr).toContain('nowhere.jpg');
  });
});

describe('abort', () => {
  it('cancels by time and by hand, and detects afterwards', async () => {
    const { code, stdout, stderr } = await run('abort', [PHOTO], cacheFolder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, done, cancelled] = /^time limit: TimeoutError\nby hand: (\d+) done, (\d+) cancelled\n/.exec(stdout)!;
    expect(Number(done) + Number(cancelled)).toBe(20);
    expect(Number(done)).toBeGreaterThan(0);
    expect(Number(cancelled)).toBeGreaterThan(10);
    expect(stdout).toMatch(new RegExp(`\nafterwards: ${found.length} objects\n$`));
  });
});

describe('batch-to-coco', () => {
  it('writes results with the category ids of the data set', async () => {
    const instances = join(folder, 'instances.json');
    const results = join(folder, 'results.json');
    const categories = found.labels.map((name, classId) => ({ id: 1000 + classId, name }));
    const objects = found.toCocoResults({ imageId: 7, categoryIds: categories.map(({ id }) => id) });
    const truth: CocoTruth = {
      images: [{ id: 7, file_name: basename(PHOTO) } as { id: number }],
      categories,
      annotations: objects.map((one) => ({ ...one, area: one.bbox[2] * one.bbox[3], iscrowd: 0 })),
    };
    writeFileSync(instances, JSON.stringify(truth));
    const { code, stdout } = await run('batch-to-coco', [instances, dirname(PHOTO), results], cacheFolder);
    const rows = JSON.parse(readFileSync(results, 'utf8'));
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${rows.length} boxes in ${results}\n` });
    // More boxes, as their threshold is lower, and the best of them are those that were annotated.
    expect(rows.length).toBeGreaterThan(objects.length);
    expect(rows.slice(0, objects.length)).toEqual(objects);
    expect(evaluateCoco(truth, rows).stats.AP).toBeCloseTo(1, 6);
  });

  it('names a class that the data set does not have', async () => {
    const instances = join(folder, 'other.json');
    writeFileSync(instances, JSON.stringify({ images: [], categories: [{ id: 1, name: 'plate' }], annotations: [] }));
    const args = [instances, folder, join(folder, 'none.json')];
    const { code, stderr } = await run('batch-to-coco', args, cacheFolder);
    expect(code).toBe(1);
    expect(stderr).toContain('has no category "person"');
  });
});

describe('custom-postprocessor', () => {
  it('reads a map that only its own postprocessor knows', async () => {
    const model = join(folder, 'one-box.onnx');
    writeFileSync(model, fastestDetOfOneBox());
    const drawn = join(folder, 'one-box.png');
    const { code, stdout, stderr } = await run('custom-postprocessor', [model, PHOTO, drawn], cacheFolder);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { width, height } = found.image;
    const sides = [0.25 * width, 0.25 * height, 0.75 * width, 0.75 * height].map((side) => side.toFixed(1));
    expect(stdout).toBe(`dog 0.900 ${sides.join(' ')}\n`);
    expect((await sharp(drawn).metadata()).format).toBe('png');
  });
});

describeShared('with real models', () => {
  it('batch-to-coco reaches the average precision of YOLOv8n', async () => {
    const model = shared('models/yolov8n_160_float.onnx');
    const truth = shared('photos/coco/evaluation.json');
    const results = join(folder, 'yolov8n.json');
    const args = ['--model', model, truth, shared('photos/coco/evaluation'), results];
    expect((await run('batch-to-coco', args, cacheFolder)).code).toBe(0);
    const { stats } = evaluateCoco(JSON.parse(readFileSync(truth, 'utf8')), JSON.parse(readFileSync(results, 'utf8')));
    const golden = JSON.parse(readFileSync(shared('golden/coco/scores.json'), 'utf8')).models.yolov8n_160_float.stats;
    expect(Math.abs(stats.AP - golden.AP), `AP ${stats.AP}, reference ${golden.AP}`).toBeLessThan(0.005);
  });

  it('custom-postprocessor finds the bus', async () => {
    const args = [shared('models/fastestdet_352.onnx'), shared('photos/classic/ultralytics_bus.jpg')];
    const { code, stdout } = await run('custom-postprocessor', args, cacheFolder);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^bus 0\.\d{3} /m);
    expect(stdout.match(/^person /gm)?.length).toBeGreaterThanOrEqual(3);
  });
});
