import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

const BLOCK = 512;
const gunzipAsync = promisify(gunzip);

/**
 * The files named `wanted` in a .tgz; a missing one is absent from the map.
 * It knows plain tar alone (no long-name records), which is enough for an archive whose every byte was verified before.
 *
 * ```
 *   | header 512: name 0..99 | size 124..135, octal | … | content, filled up to 512 | next header …
 * ```
 */
export async function readTarball(tarball: Uint8Array, wanted: readonly string[]): Promise<Map<string, Uint8Array>> {
  const tar: Buffer = await gunzipAsync(tarball);
  const files = new Map<string, Uint8Array>();
  let offset = 0;
  while (offset + BLOCK <= tar.length && tar[offset] !== 0) {
    const name = untilNul(tar.toString('latin1', offset, offset + 100));
    const size = Number.parseInt(untilNul(tar.toString('latin1', offset + 124, offset + 136)), 8);
    const start = offset + BLOCK;
    if (wanted.includes(name)) files.set(name, tar.subarray(start, start + size));
    offset = start + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}

function untilNul(text: string): string {
  const end = text.indexOf('\0');
  return end < 0 ? text : text.slice(0, end);
}
