import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { YoloError, type YoloErrorPhase } from './errors.js';

/**
 * Writes a file whole or not at all: what was there stays until the new one is complete.
 * @param what it is, for messages.
 * @throws ERR_YOLO_FILE_WRITE
 */
export async function writeWhole(
  path: string,
  data: string | Uint8Array,
  what: string,
  phase: YoloErrorPhase,
): Promise<void> {
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(unfinished, data);
    await rename(unfinished, path);
  } catch (cause) {
    await rm(unfinished, { force: true }).catch(() => {});
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such folder (ENOENT)' : message.split(',', 1)[0];
    throw new YoloError('ERR_YOLO_FILE_WRITE', `Cannot write the ${what} ${path}: ${reason}`, {
      phase,
      detail: { path, code },
      cause,
    });
  }
}
