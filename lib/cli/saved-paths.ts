import { stat } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { YoloError } from '../index.js';
import { makeFolder } from '../model/make-folder.js';
import { type Picture, STANDARD_INPUT } from './pictures.js';

/** Kinds of files that annotated pictures are written as; of other pictures they become PNG files. */
const WRITTEN = new Set('.jpg .jpeg .png .webp .avif .tif .tiff'.split(' '));

/**
 * Makes the folder and gives the path in it for the annotated copy of each picture. No two pictures share one, whatever
 * folders they come from, and none leads to a picture of the input, not by a link either: then a number is added.
 * A file that an earlier run left in the folder is written over.
 * @throws ERR_YOLO_INVALID_ARGUMENT where the folder cannot be made.
 */
export async function savedPaths(folder: string, pictures: readonly Picture[]): Promise<string[]> {
  try {
    await makeFolder(folder);
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `The folder ${folder} for annotated pictures cannot be made: ${(cause as Error).message}`,
      { phase: 'validate', detail: { option: 'save', value: folder }, cause },
    );
  }
  const inputs = new Set<string | undefined>();
  for (const { input } of pictures) if (typeof input === 'string') inputs.add(await identity(input));
  inputs.delete(undefined);

  const taken = new Set<string>();
  const paths: string[] = [];
  for (const { name } of pictures) {
    const { name: stem, ext } = name === STANDARD_INPUT ? { name: 'stdin', ext: '' } : parse(name);
    const extension = WRITTEN.has(ext.toLowerCase()) ? ext : '.png';
    for (let number = 1; ; number++) {
      const file = `${stem}${number === 1 ? '' : `-${number}`}${extension}`;
      const path = join(folder, file);
      // Some file systems take names that differ in case, or in how an accent is written, for one.
      const key = file.normalize('NFC').toLowerCase();
      if (taken.has(key) || inputs.has(await identity(path))) continue;
      taken.add(key);
      paths.push(path);
      break;
    }
  }
  return paths;
}

/** The same for all names of one file; undefined where there is none. */
async function identity(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
