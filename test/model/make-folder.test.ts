import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeFolder } from '../../lib/model/make-folder.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-folder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('makes a folder and those above it, also for several at once and once more', async () => {
  const path = join(folder, 'a/b/c');
  await Promise.all([makeFolder(path), makeFolder(path), makeFolder(join(path, 'd'))]);
  await makeFolder(path);
  expect(statSync(join(path, 'd')).isDirectory()).toBe(true);
});

it('rejects where a file is in the way', async () => {
  writeFileSync(join(folder, 'file'), '');
  await expect(makeFolder(join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(join(folder, 'file/below'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

it.runIf(process.platform === 'linux')(
  'rejects where the system makes no folders, and does not try for ever',
  async () => {
    await expect(makeFolder('/proc/none/below')).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
