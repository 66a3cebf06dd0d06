import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from './make-folder.js';

/** Whether a cached file can be used: `damaged` is one whose bytes are not those that were written. */
export type CacheState = 'intact' | 'damaged' | 'absent';

export async function cacheState(path: string, sha256: string): Promise<CacheState> {
  try {
    return sha256Of(await readFile(path)) === sha256 ? 'intact' : 'damaged';
  } catch {
    return 'absent';
  }
}

/**
 * Writes a file that other processes see whole or not at all, and makes its folder.
 * False where the place does not take it (read-only, full): a cache is a convenience, never a reason to fail.
 */
export async function writeToCache(path: string, bytes: Uint8Array): Promise<boolean> {
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    await makeFolder(dirname(path));
    await writeFile(unfinished, bytes);
    await rename(unfinished, path);
    return true;
  } catch {
    await rm(unfinished, { force: true }).catch(() => undefined);
    return false;
  }
}

/** In hexadecimal. */
export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
