import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = resolve(root, process.env.YOLO_SHARED_DIR ?? '../shared');

/** The folder with models, photos and golden values, or undefined where this machine has none. */
export const sharedDir: string | undefined = existsSync(join(folder, 'golden')) ? folder : undefined;

/** A path inside the shared folder; call it only where `sharedDir` is defined. */
export function shared(path: string): string {
  if (sharedDir === undefined) throw new Error(`No shared folder at ${folder}; set YOLO_SHARED_DIR`);
  return join(sharedDir, path);
}

/** `describe` for tests on shared data; skipped, and saying so in the title, where the folder is absent. */
export function describeShared(title: string, body: () => void): void {
  if (sharedDir === undefined)
    describe.skip(`${title} (skipped: no shared models and photos; set YOLO_SHARED_DIR)`, body);
  else describe(title, body);
}
