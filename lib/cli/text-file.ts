import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { YoloError } from '../index.js';

/**
 * Writes a file whole or not at all: what was there stays until the new one is complete.
 * @throws ERR_YOLO_FILE_WRITE
 */
export async function writeText(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(unfinished, text);
    await rename(unfinished, path);
  } catch (cause) {
    await rm(unfinished, { force: true }).catch(() => {});
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new YoloError('ERR_YOLO_FILE_WRITE', `Cannot write the file ${path}: ${message.split(',', 1)[0]}`, {
      phase: 'export',
      detail: { path, code },
      cause,
    });
  }
}
