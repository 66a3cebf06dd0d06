import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

it('every error code has its row in docs/errors.md, and every row its code', () => {
  const union = /export type YoloErrorCode =([^;]*);/.exec(read('lib/errors.ts'))![1]!;
  const codes = [...union.matchAll(/'(ERR_YOLO_\w+)'/g)].map((match) => match[1]);
  const rows = [...read('docs/errors.md').matchAll(/^\| `(ERR_YOLO_\w+)` \| .+ \| .+ \|$/gm)].map((match) => match[1]);
  expect(codes.length).toBeGreaterThan(0);
  expect(rows).toEqual(codes);
});
