import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveModel } from '../../lib/model/source.js';

it.runIf(process.platform !== 'win32')(
  'a relative path is not found, and nothing worse, where the current directory was removed',
  async () => {
    const before = process.cwd();
    const folder = mkdtempSync(join(tmpdir(), 'yolo-gone-'));
    try {
      process.chdir(folder);
      rmdirSync(folder);
      await expect(resolveModel('x.onnx')).rejects.toMatchObject({ code: 'ERR_YOLO_MODEL_NOT_FOUND' });
    } finally {
      process.chdir(before);
    }
  },
);
