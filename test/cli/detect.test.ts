import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownCacheFolder, PHOTO } from '../support/default-detector.js';
import { bytes, serve } from '../support/http-server.js';
import { command, commandInShell, commandOnTerminal } from './command.js';

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

  it('draws without labels and in a given width', async () => {
    const draw = async (folder: string, ...more: string[]) => {
      const args = ['detect', 'coco/000000000542.jpg', '--save', folder, '--max-detections', '1', '--quiet'];
      expect(await command([...args, ...more], here)).toMatchObject({ code: 0, stderr: '' });
      return readFileSync(join(cwd, folder, '000000000542.jpg'));
    };
    const [usual, bare, thick] = [
      await draw('usual'),
      await draw('bare', '--no-labels'),
      await draw('thick', '--line-width', '20'),
    ];
    const difference = async (a: Buffer, b: Buffer) => {
      const [one, other] = await Promise.all([a, b].map((file) => sharp(file).raw().toBuffer()));
      return one!.filter((level, at) => Math.abs(level - other![at]!) > 60).length;
    };
    expect(await difference(usual, bare)).toBeGreaterThan(300);
    expect(await difference(usual, thick)).toBeGreaterThan(3000);
  });

  it('writes a YOLO label file for each picture with --save-txt, an empty one where nothing is found', async () => {
    mkdirSync(join(cwd, 'listed'));
    writeFileSync(join(cwd, 'listed/blank.txt'), 'of an earlier run');
    await sharp({ create: { width: 64, height: 48, channels: 3, background: 'white' } })
      .png()
      .toFile(join(cwd, 'blank.png'));
    const args = ['detect', 'photos', 'blank.png', 'nowhere.jpg', '--json', '--max-detections', '3'];
    const { code, stdout } = await command([...args, '--save-txt', 'listed', '--save-conf'], here);
    expect(code).toBe(1);
    const pictures = JSON.parse(stdout);
    expect(pictures.map((one: { labelFile: string }) => one.labelFile)).toEqual(
      ['street 2.txt', 'street 10.txt', 'blank.txt'].map((name) => join('listed', name)),
    );
    expect(readdirSync(join(cwd, 'listed')).sort()).toEqual(['blank.txt', 'street 10.txt', 'street 2.txt']);
    expect(readFileSync(join(cwd, 'listed/blank.txt'), 'utf8')).toBe('');
    const lines = readFileSync(join(cwd, 'listed/street 2.txt'), 'utf8').trimEnd().split('\n');
    expect(lines.length).toBe(3);
    for (const [index, line] of lines.entries()) {
      const { classId, confidence, xyxy } = pictures[0].detections[index];
      const [id, cx, cy, width, height, last] = line.split(' ').map(Number) as [number, ...number[]];
      expect([id, last!.toFixed(4)]).toEqual([classId, confidence.toFixed(4)]);
      expect((cx! - width! / 2) * 640).toBeCloseTo(Math.max(0, xyxy[0]), 1);
      expect((cy! + height! / 2) * 484).toBeCloseTo(Math.min(484, xyxy[3]), 1);
    }
    const table = await command(['detect', 'blank.png', '--save-txt', 'listed'], here);
    expect(table.stdout).toContain(`blank.png (64×48): 0 objects, listed in ${join('listed', 'blank.txt')}\n`);
  });

  it('prints one CSV file with --csv', async () => {
    const { code, stdout } = await command(
      ['detect', '--csv', '--max-detections', '2', '--', 'photos', '-dash.jpg'],
      here,
    );
    expect(code).toBe(0);
    const [header, ...rows] = stdout.split('\r\n');
    expect(header).toBe('file,label,classId,confidence,x1,y1,x2,y2');
    expect(rows.pop()).toBe('');
    const names = rows.map((row) => row.split(',')[0]);
    const [two, ten] = ['street 2.jpg', 'street 10.JPG'].map((name) => join('photos', name));
    // A name that a spreadsheet would reckon with.
    expect(names).toEqual([two, two, ten, ten, "'-dash.jpg", "'-dash.jpg"]);
    for (const row of rows) expect(row).toMatch(/,person,0,0\.\d+(,[\d.]+){4}$/);
  });

  it('fails pictures of more pixels than --limit-input-pixels', async () => {
    const { code, stdout, stderr } = await command(
      ['detect', 'photos', '--json', '--limit-input-pixels', String(640 * 484 - 1)],
      here,
    );
    expect({ code, stdout: JSON.parse(stdout) }).toEqual({ code: 1, stdout: [] });
    expect(stderr).toMatch(/^error: photos.street 2\.jpg .*309759/m);
    const all = await command(['detect', 'photos', '--json', '--limit-input-pixels', String(640 * 484)], here);
    expect({ code: all.code, pictures: JSON.parse(all.stdout).length }).toEqual({ code: 0, pictures: 2 });
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

  it('fetches URLs once, from private addresses only where that is allowed, and draws on what it fetched', async () => {
    const server = await serve({ '/street.jpg': bytes(readFileSync(PHOTO)) });
    const url = `http://ann:secret@127.0.0.1:${server.port}/street.jpg?key=1`;
    const args = ['detect', url, `${server.origin}/nowhere.jpg`, '--json', '--save', 'fetched'];
    const refused = await command(args, here);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^error: .*street\.jpg.* leads to 127\.0\.0\.1, an address that is not public/m);
    expect(refused.stdout + refused.stderr).not.toContain('secret');
    expect(server.connections()).toBe(0);

    const { code, stdout, stderr } = await command([...args, '--allow-private-addresses'], here);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: Cannot fetch the picture http.*nowhere\.jpg: the server answered 404 Not Found$/m);
    const [only] = JSON.parse(stdout);
    expect(only.file).toBe(`${server.origin}/street.jpg?key=1`);
    expect(only.saved).toBe(join('fetched', 'street.jpg'));
    expect(only.detections.length).toBeGreaterThan(0);
    expect(await sharp(join(cwd, only.saved)).metadata()).toMatchObject({ format: 'jpeg', width: 640, height: 484 });
    expect(server.asked).toEqual(['/street.jpg?key=1', '/nowhere.jpg']);
    await server.close();
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
    [['detect', 'photos', '--csv', '--coco'], /'--coco' cannot be used with option '--csv'/],
    [['detect', 'photos', '--json', '--csv'], /'--json' cannot be used with option '--csv'/],
    [['detect', 'photos', '--no-labels'], /^error: --no-labels has no effect without --save <folder>; give both$/m],
    [['detect', 'photos', '--line-width', '3'], /--line-width has no effect without --save <folder>/],
    [['detect', 'photos', '--save-conf'], /--save-conf has no effect without --save-txt <folder>/],
    [['detect', 'photos', '--save', 'x', '--line-width', '1001'], /Expected at most 1000 pixels/],
    [['detect', 'photos', '--limit-input-pixels', '0'], /'0' is invalid\. Expected a whole number/],
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

  describe('on a full disk', () => {
    // Fails as the system does when no space is left, for the files of one picture.
    const full = (part: string) => {
      const source = `
        import fs from 'node:fs';
        import { syncBuiltinESMExports } from 'node:module';
        const { writeFile } = fs.promises;
        fs.promises.writeFile = async (path, data, ...options) => {
          if (!String(path).includes(${JSON.stringify(part)})) return writeFile(path, data, ...options);
          await writeFile(path, data.slice(0, 10));
          throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
        };
        syncBuiltinESMExports();`;
      return { ...here, env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}` } };
    };

    it.each([
      ['--save', 'street 2.jpg', 'street 10.JPG', 'picture'],
      ['--save-txt', 'street 2.txt', 'street 10.txt', 'file'],
      ['--save-crops', 'street 2-1.jpg', 'street 10-1.JPG', 'picture'],
    ])('%s fails the picture, and loses nothing else', async (option, failing, written, what) => {
      const folder = `full${option}`;
      mkdirSync(join(cwd, folder));
      writeFileSync(join(cwd, folder, failing), 'of an earlier run');
      const args = ['detect', 'photos', '--json', '--max-detections', '1', option, folder];
      const { code, stdout, stderr } = await command(args, full(failing));
      expect(code).toBe(1);
      const path = join(folder, failing);
      expect(stderr).toContain(
        `error: ${join('photos', 'street 2.jpg')}: Cannot write the ${what} ${path}: ENOSPC: no space left on device\n`,
      );
      expect(stderr.trimEnd().split('\n').at(-1)).toBe('1 of 2 pictures failed');
      const [first, second] = JSON.parse(stdout);
      expect([first.detections.length, second.detections.length]).toEqual([1, 1]);
      expect([first.saved, first.crops, first.labelFile]).toEqual([undefined, undefined, undefined]);
      // What was there stays, and nothing is left half written.
      expect(readdirSync(join(cwd, folder)).sort()).toEqual([failing, written].sort());
      expect(readFileSync(join(cwd, path), 'utf8')).toBe('of an earlier run');
    });

    it.skipIf(process.platform !== 'linux')(
      'real writes that stop in the middle are told apart by picture',
      async () => {
        // The system writes no file of more than 16 KiB: that is less than the photo and more than the blank picture.
        await sharp({ create: { width: 640, height: 484, channels: 3, background: 'white' } })
          .jpeg()
          .toFile(join(cwd, 'white.jpg'));
        // The default model is larger, and has to be cached by now.
        await command(['inspect'], here);
        const line = 'ulimit -f 16; yolo detect white.jpg évora* --save limited --json --quiet --max-detections 1';
        const { code, stdout, stderr } = await commandInShell(line, here);
        expect(code).toBe(1);
        expect(stderr).toMatch(
          /^error: Cannot write the picture limited.évora ☀\.jpg: EFBIG: .+\n1 of 2 pictures failed\n$/,
        );
        const [white, street] = JSON.parse(stdout);
        expect([white.saved, street.saved, street.detections.length]).toEqual([
          join('limited', 'white.jpg'),
          undefined,
          1,
        ]);
        expect(readdirSync(join(cwd, 'limited'))).toEqual(['white.jpg']);
      },
    );

    it.skipIf(process.platform !== 'linux')('results that cannot be printed end with 1', async () => {
      const { code, stderr } = await commandInShell('yolo detect many --json --quiet > /dev/full', here);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: the output cannot be written: ENOSPC.*\n$/);
    });
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
