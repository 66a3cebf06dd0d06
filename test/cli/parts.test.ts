import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { inOrder } from '../../lib/cli/in-order.js';
import { findPictures } from '../../lib/cli/pictures.js';
import { printable } from '../../lib/cli/printable.js';
import { cropPaths, savedPaths } from '../../lib/cli/saved-paths.js';
import { YoloError } from '../../lib/index.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-cli-parts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, name);
  return path;
}

const { signal } = new AbortController();
const posix = (path: string) => path.replaceAll('\\', '/');
const named = (paths: readonly string[]) => paths.map((path) => ({ name: path, input: path }));

describe('findPictures', () => {
  const find = async (...args: string[]) => {
    const { pictures, problems } = await findPictures(
      args.map((arg) => join(folder, arg)),
      signal,
    );
    return { pictures: pictures.map(({ name }) => posix(name.slice(folder.length + 1))), problems };
  };

  it('takes the pictures directly in a folder, by extension, in the order in which people count', async () => {
    for (const name of ['f10.jpg', 'f9.PNG', 'f1.webp', 'notes.txt', '._f1.jpg', 'in/f2.jpg']) file(`a/${name}`);
    expect(await find('a')).toEqual({ pictures: ['a/f1.webp', 'a/f9.PNG', 'a/f10.jpg'], problems: [] });
  });

  it('keeps the order of the arguments and takes a file once', async () => {
    for (const name of ['b/1.jpg', 'b/2.jpg', 'b/deep/3.jpg']) file(name);
    const { pictures } = await find('b/2.jpg', 'b/**/*.jpg', 'b/../b/2.jpg', 'b');
    expect(pictures).toEqual(['b/2.jpg', 'b/1.jpg', 'b/deep/3.jpg']);
  });

  it('takes a file whose name looks like a pattern as that file, and any extension where it is named', async () => {
    for (const name of ['c/[1].jpg', 'c/1.jpg', 'c/raw']) file(name);
    expect((await find('c/[1].jpg', 'c/raw')).pictures).toEqual(['c/[1].jpg', 'c/raw']);
  });

  it('takes URLs, each once, and names them without user and password', async () => {
    const url = 'https://ann:secret@example.org/cams/1.jpg?at=2';
    const { pictures, problems } = await findPictures([url, 'HTTP://example.org', url, 'http://ann:secret@[/'], signal);
    expect(pictures).toEqual([
      { name: 'https://example.org/cams/1.jpg?at=2', input: new URL(url) },
      { name: 'http://example.org/', input: new URL('http://example.org') },
    ]);
    expect(problems).toEqual(['an argument that begins as a URL is none']);
  });

  it('tells of each argument that names no picture, and refuses when none does', async () => {
    file('d/1.jpg');
    mkdirSync(join(folder, 'empty'));
    const { pictures, problems } = await find('d', 'empty', 'd/*.png', 'd/2.jpg');
    expect(pictures).toEqual(['d/1.jpg']);
    expect(problems).toEqual([
      expect.stringContaining('the folder holds no pictures'),
      expect.stringContaining('no file matches this pattern'),
      expect.stringContaining('there is no such file or folder'),
    ]);
    const error = await find('empty').catch((reason) => reason);
    expect(YoloError.is(error, 'ERR_YOLO_INVALID_ARGUMENT')).toBe(true);
  });
});

describe('savedPaths', () => {
  it('gives pictures of one name in different folders names of their own, case and accents apart', async () => {
    const out = join(folder, 'out');
    const paths = await savedPaths(out, named(['a/x.jpg', 'b/x.jpg', 'c/X.JPG', 'x-2.jpg', 'é.jpg', 'é.jpg', 'x.png']));
    const names = ['x.jpg', 'x-2.jpg', 'X-3.JPG', 'x-2-2.jpg', 'é.jpg', 'é-2.jpg', 'x.png'];
    expect(paths).toEqual(names.map((name) => join(out, name)));
    expect(readdirSync(out)).toEqual([]);
  });

  it('writes PNG for stdin and for kinds that are not written', async () => {
    const out = join(folder, 'kinds');
    const paths = await savedPaths(out, [{ name: '-', input: new Uint8Array(1) }, ...named(['a.gif', 'b.HEIC', 'c'])]);
    expect(paths).toEqual(['stdin.png', 'a.png', 'b.png', 'c.png'].map((name) => join(out, name)));
  });

  it('never leads to a picture of the input, by its own name or by a link', async () => {
    const own = file('own/1.jpg');
    const other = file('elsewhere/2.jpg');
    const third = file('elsewhere/3.jpg');
    symlinkSync(other, join(folder, 'own/2.jpg'));
    linkSync(third, join(folder, 'own/3.jpg'));
    const paths = await savedPaths(join(folder, 'own'), named([own, other, third]));
    expect(paths).toEqual(['1-2.jpg', '2-2.jpg', '3-2.jpg'].map((name) => join(folder, 'own', name)));
  });

  it('writes over what an earlier run left', async () => {
    file('again/1.jpg');
    expect(await savedPaths(join(folder, 'again'), named(['1.jpg']))).toEqual([join(folder, 'again/1.jpg')]);
  });

  it('refuses a folder that cannot be made', async () => {
    await expect(savedPaths(join(file('a-file'), 'in'), [])).rejects.toMatchObject({
      code: 'ERR_YOLO_FILE_WRITE',
      message: expect.stringContaining('cannot be made'),
    });
  });

  // Root writes wherever it likes.
  it.skipIf(process.getuid === undefined || process.getuid() === 0)(
    'refuses a folder that cannot be written to',
    async () => {
      const locked = join(folder, 'locked');
      mkdirSync(locked, { mode: 0o555 });
      await expect(savedPaths(locked, [])).rejects.toMatchObject({
        code: 'ERR_YOLO_FILE_WRITE',
        message: expect.stringContaining('cannot be written to'),
      });
    },
  );
});

describe('cropPaths', () => {
  it('numbers what is cut out of a picture, with no name twice, whatever pictures are called', async () => {
    const out = join(folder, 'crops');
    const pathOf = await cropPaths(out, named(['a/x.jpg', 'b/x.jpg', 'x-2.jpg', 'x.gif', 'x.png']));
    const paths: string[] = [];
    for (let picture = 0; picture < 5; picture++) for (const box of [0, 1, 10]) paths.push(await pathOf(picture, box));
    const stems = ['x', 'x-2', 'x-2-2'].flatMap((stem) => [`${stem}-1.jpg`, `${stem}-2.jpg`, `${stem}-11.jpg`]);
    const others = ['x', 'x-2'].flatMap((stem) => [`${stem}-1.png`, `${stem}-2.png`, `${stem}-11.png`]);
    expect(paths).toEqual([...stems, ...others].map((name) => join(out, name)));
    expect(new Set(paths).size).toBe(paths.length);
  });

  it('never leads to a picture of the input', async () => {
    const own = ['crops-in/x.jpg', 'crops-in/x-1.jpg'].map(file);
    const pathOf = await cropPaths(join(folder, 'crops-in'), named(own));
    const names = ['x-2-1.jpg', 'x-2-2.jpg', 'x-1-2-1.jpg'].map((name) => join(folder, 'crops-in', name));
    expect([await pathOf(0, 0), await pathOf(0, 1), await pathOf(1, 0)]).toEqual(names);
    const elsewhere = await cropPaths(
      join(folder, 'crops-in'),
      named([file('other/x-1.jpg').replace('x-1', 'y'), ...own]),
    );
    expect(await elsewhere(0, 0)).toBe(join(folder, 'crops-in/y-1.jpg'));
  });

  it('refuses the folder of the annotated copies, under any name of it', async () => {
    const both = join(folder, 'both');
    await savedPaths(both, []);
    await expect(cropPaths(join(folder, 'x', '..', 'both'), [], both)).rejects.toMatchObject({
      code: 'ERR_YOLO_INVALID_ARGUMENT',
      message: expect.stringContaining('another folder than --save'),
    });
  });
});

describe('inOrder', () => {
  it('gives results in the order of the items, with no more than the limit under way', async () => {
    let underWay = 0;
    let most = 0;
    const results: number[] = [];
    const delays = [30, 1, 15, 1, 1, 20, 1];
    for await (const result of inOrder(delays, 3, async (delay, index) => {
      most = Math.max(most, ++underWay);
      await later(delay);
      underWay--;
      return index;
    }))
      results.push(result);
    expect({ results, most }).toEqual({ results: [0, 1, 2, 3, 4, 5, 6], most: 3 });
  });

  it('waits for what is under way before it rejects or is left', async () => {
    const ended: number[] = [];
    const work = async (item: number) => {
      await later(item === 0 ? 1 : 20);
      ended.push(item);
      if (item === 0) throw new Error('first');
    };
    const all = async () => {
      for await (const _ of inOrder([0, 1, 2], 2, work));
    };
    await expect(all()).rejects.toThrow('first');
    expect(ended).toEqual([0, 1]);
    for await (const _ of inOrder([3, 4, 5], 2, work)) break;
    expect(ended).toEqual([0, 1, 3, 4]);
  });
});

it('control characters of names do not reach the terminal', () => {
  expect(printable('a\x1b[2Jb\r\u009bc\nd é☀')).toBe('a\ufffd[2Jb\ufffd\ufffdc\nd é☀');
});
