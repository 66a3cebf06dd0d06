import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownCacheFolder, PHOTO } from '../support/default-detector.js';
import { command, commandOnTerminal } from './command.js';

const cacheFolder = ownCacheFolder();
const cwd = mkdtempSync(join(tmpdir(), 'yolo-cli-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
const here = { cwd, cacheFolder };

function put(path: string): void {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  copyFileSync(PHOTO, join(cwd, path));
}

const many = Array.from({ length: 30 }, (_, index) => `many/${index + 1}.jpg`);

beforeAll(() => {
  put('photos/street 2.jpg');
  put('photos/street 10.JPG');
  put('photos/deeper/not-taken.jpg');
  writeFileSync(join(cwd, 'photos/notes.txt'), 'no picture');
  put('évora ☀.jpg');
  put('-dash.jpg');
  put('coco/000000000542.jpg');
  put('coco/train/7.jpg');
  writeFileSync(join(cwd, 'broken.jpg'), readFileSync(PHOTO).subarray(0, 300));
  many.forEach(put);
});

describe('migraphx-yolo detect', () => {
  it('prints a table a picture and the counts, saves drawn copies, and goes on after pictures that fail', async () => {
    const args = ['detect', '--save', 'boxes', '--max-detections', '4', '--'];
    const { code, stdout, stderr } = await command(
      [...args, 'photos', 'broken.jpg', 'évora ☀.jpg', 'photos/../évora ☀.jpg', 'nowhere.jpg', '-dash.jpg'],
      here,
    );
    const headings = stdout.split('\n').filter((line) => line.includes('(640×484)'));
    expect(headings).toEqual([
      `${join('photos', 'street 2.jpg')} (640×484): 4 objects, drawn in ${join('boxes', 'street 2.jpg')}`,
      `${join('photos', 'street 10.JPG')} (640×484): 4 objects, drawn in ${join('boxes', 'street 10.JPG')}`,
      `évora ☀.jpg (640×484): 4 objects, drawn in ${join('boxes', 'évora ☀.jpg')}`,
      `-dash.jpg (640×484): 4 objects, drawn in ${join('boxes', '-dash.jpg')}`,
    ]);
    expect(stdout).toMatch(/│ label +│ confidence │ +x1 │ +y1 │ +x2 │ +y2 │/);
    expect(stdout).toMatch(/│ person +│ +0\.\d{3} │( +\d+\.\d │){4}/);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^4 pictures, 16 objects: \d+ person/);

    expect(stderr).toMatch(/ on cpu( \(.+\))?$/m);
    expect(stderr).toMatch(/^error: broken\.jpg (?!.*broken\.jpg).+/m);
    expect(stderr).toMatch(/^error: nowhere\.jpg: .+/m);
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('2 of 6 pictures failed');
    expect(code).toBe(1);
    // Neither colours nor a bar where it is no terminal.
    expect(stdout + stderr).not.toContain('\x1b');

    const drawn = ['-dash.jpg', 'street 10.JPG', 'street 2.jpg', 'évora ☀.jpg'];
    expect(readdirSync(join(cwd, 'boxes')).sort()).toEqual(drawn);
    for (const name of drawn) {
      const path = join(cwd, 'boxes', name);
      expect(readFileSync(path).equals(readFileSync(PHOTO))).toBe(false);
      expect(await sharp(path).metadata()).toMatchObject({ format: 'jpeg', width: 640, height: 484 });
    }
  });

  it('cuts boxes out with --save-crops, and prints the detections of a picture whose files cannot be written', async () => {
    mkdirSync(join(cwd, 'cut/street 2-2.jpg/full'), { recursive: true });
    const args = ['detect', 'photos', '--save-crops', 'cut', '--save', 'drawn', '--json', '--max-detections', '2'];
    const { code, stdout, stderr } = await command(args, here);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: photos.street 2\.jpg: Cannot write the picture cut.street 2-2\.jpg: /m);
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('1 of 2 pictures failed');
    const [first, second] = JSON.parse(stdout);
    expect([first.detections.length, first.saved, first.crops]).toEqual([2, join('drawn', 'street 2.jpg'), undefined]);
    expect(second.crops).toEqual(['street 10-1.JPG', 'street 10-2.JPG'].map((name) => join('cut', name)));
    expect(readdirSync(join(cwd, 'cut')).sort()).toEqual([
      'street 10-1.JPG',
      'street 10-2.JPG',
      'street 2-1.jpg',
      'street 2-2.jpg',
    ]);
    for (const [index, { xyxy }] of second.detections.entries()) {
      const [x1, y1, x2, y2] = [Math.floor(xyxy[0]), Math.floor(xyxy[1]), Math.ceil(xyxy[2]), Math.ceil(xyxy[3])];
      expect(await sharp(join(cwd, second.crops[index])).metadata()).toMatchObject({
        format: 'jpeg',
        width: Math.min(x2, 640) - Math.max(x1, 0),
        height: Math.min(y2, 484) - Math.max(y1, 0),
      });
    }
  });

  it('reads a picture from stdin and prints JSON with --json, and nothing else with --quiet', async () => {
    const args = [
      'detect',
      '-',
      '--json',
      '--quiet',
      '--classes',
      'airplane,0',
      '--classes',
      'dog',
      '--confidence',
      '.4',
    ];
    const { code, stdout, stderr } = await command(args, { ...here, stdin: readFileSync(PHOTO) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [only, ...others] = JSON.parse(stdout);
    expect(others).toEqual([]);
    expect(only).toMatchObject({ file: '-', image: { width: 640, height: 484 } });
    expect(new Set(only.detections.map((one: { label: string }) => one.label))).toEqual(
      new Set(['airplane', 'person']),
    );
    for (const { confidence } of only.detections) expect(confidence).toBeGreaterThan(0.4);
  });

  it('holds single classes to thresholds of their own with --class-threshold', async () => {
    const own = ['--class-threshold', 'person=0.6', '--class-threshold', '4 = .1'];
    const { code, stdout } = await command(['detect', PHOTO, '--json', '--confidence', '1', ...own], here);
    expect(code).toBe(0);
    const [{ detections }] = JSON.parse(stdout);
    const least: Record<string, number> = { person: 0.6, airplane: 0.1 };
    expect(new Set(detections.map((one: { label: string }) => one.label))).toEqual(new Set(Object.keys(least)));
    for (const { label, confidence } of detections) expect(confidence).toBeGreaterThan(least[label]!);
  });

  it('expands patterns itself and prints COCO results with the ids of the file names', async () => {
    const { code, stdout, stderr } = await command(['detect', 'coco/**/*.jpg', '--coco', '--lanes', '2'], here);
    expect(code).toBe(0);
    expect(stderr).not.toContain('image_id');
    const results = JSON.parse(stdout);
    expect([...new Set(results.map((one: { image_id: number }) => one.image_id))]).toEqual([542, 7]);
    const [{ category_id, bbox, score }] = results;
    expect({ category_id, sides: bbox.length, isFraction: score > 0 && score < 1 }).toEqual({
      category_id: expect.any(Number),
      sides: 4,
      isFraction: true,
    });
  });

  it('numbers the pictures for COCO, and says so, where names are no numbers; nothing found is an empty array', async () => {
    const args = ['detect', 'évora ☀.jpg', 'coco/train/7.jpg', '--coco', '--confidence', '1'];
    const { code, stdout, stderr } = await command(args, here);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([]);
    expect(stderr).toContain('image_id is the place of the picture, from 1 on');
  });

  it('ends with 2 for a class that the model does not have, and names the nearest', async () => {
    const { code, stdout, stderr } = await command(['detect', PHOTO, '--classes', 'persn'], here);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: .*"persn".*"person"/m);
  });

  it.each([
    [['detect', 'photos', '--confidense', '0.4'], /unknown option '--confidense'\n\(Did you mean --confidence\?\)/],
    [['detec', 'photos'], /unknown command 'detec'\n\(Did you mean detect\?\)/],
    [['detect'], /missing required argument 'pictures'/],
    [['detect', 'photos', '--json', '--coco'], /'--json' cannot be used with option '--coco'/],
    [
      ['detect', 'photos', '--confidence', '40'],
      /'--confidence <n>' argument '40' is invalid\. Expected a number in 0\.\.1/,
    ],
    [['detect', 'photos', '--class-threshold', 'person'], /Expected a class and its threshold, as person=0\.5/],
    [['detect', 'photos', '--class-threshold', 'person=50'], /Expected a number in 0\.\.1/],
    [['detect', 'photos', '--image-size', '640,480'], /'640,480' is invalid\. Expected pixels/],
    [['detect', 'photos', '--lanes', '1.5'], /'1\.5' is invalid\. Expected a whole number/],
    [
      ['detect', 'nowhere.jpg', 'none/*.jpg'],
      /^error: nowhere\.jpg: there is no.*\nerror: none\/\*\.jpg: no file matches/,
    ],
  ])('ends with 2 and says why: %s', async (args, message) => {
    const { code, stdout, stderr } = await command(args, here);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it('ends with 2 and says why where the default model, of one size, is to take rectangles', async () => {
    const { code, stdout, stderr } = await command(['detect', PHOTO, '--rectangle'], here);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('The model cannot be used with rectangle: its input is 512×512');
  });

  it('ends with 1 and says why where the model is not there', async () => {
    const { code, stdout, stderr } = await command(['detect', PHOTO, '--model', 'nowhere.onnx'], here);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: .*nowhere\.onnx/);
  });

  it('shows options and examples with --help', async () => {
    const { code, stdout, stderr } = await command(['detect', '--help'], here);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('--confidence <n>');
    expect(stdout).toContain('$ cat street.jpg | migraphx-yolo detect -');
  });

  it.skipIf(process.platform === 'win32')('ends with 130 on Ctrl-C, its pictures under way done', async () => {
    const { code, stdout, stderr } = await command(['detect', '--json', 'many'], {
      ...here,
      onResult: (child) => child.kill('SIGINT'),
    });
    expect(code).toBe(130);
    const done = stdout.split('\n').length - 1;
    expect(done).toBeGreaterThan(0);
    expect(done).toBeLessThan(many.length);
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('interrupted');
  });

  it('ends in silence when the reader of its output goes away', async () => {
    const { code, stderr } = await command(['detect', '--json', '--quiet', 'many'], {
      ...here,
      onResult: (child) => child.stdout!.destroy(),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  const hasTerminal = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
  it.skipIf(!hasTerminal)('shows a bar below the tables on a terminal, and takes it away', async () => {
    const { code, stdout } = await commandOnTerminal(['detect', 'photos', 'coco'], here);
    expect(code).toBe(0);
    expect(stdout).toContain('░ 0 of 3');
    expect(stdout).toContain('3 pictures, ');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is told begins with escape
    expect(stdout).toMatch(/\x1b\[2K(?!.*of 3)[^░]*3 pictures, /s);
  });
});
