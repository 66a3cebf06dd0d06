import { access, constants, stat } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { YoloError } from '../index.js';
import { makeFolder } from '../model/make-folder.js';
import { fileNameOf, type Picture } from './pictures.js';

/** Kinds of files that pictures are written as; of other pictures they become PNG files. */
const WRITTEN = new Set('.jpg .jpeg .png .webp .avif .tif .tiff'.split(' '));

/** A file's name in two parts. */
interface FileName {
  readonly stem: string;
  readonly extension: string;
}

/**
 * Makes the folder and gives the path in it for the annotated copy of each picture. No two pictures share one, whatever
 * folders they come from, and none leads to a picture of the input, not by a link either: then a number is added.
 * A file that an earlier run left in the folder is written over.
 * @throws ERR_YOLO_FILE_WRITE where the folder cannot be made or written to.
 */
export async function savedPaths(folder: string, pictures: readonly Picture[]): Promise<string[]> {
  await prepare(folder, 'save', 'annotated pictures');
  const names = await fileNames(folder, pictures, await identities(pictures), pictureExtension);
  return names.map(({ stem, extension }) => join(folder, stem + extension));
}

/**
 * As `savedPaths`, for YOLO label files: `street.txt` of `street.jpg`.
 * @throws ERR_YOLO_FILE_WRITE where the folder cannot be made or written to.
 */
export async function labelPaths(folder: string, pictures: readonly Picture[]): Promise<string[]> {
  await prepare(folder, 'saveTxt', 'label files');
  const names = await fileNames(folder, pictures, await identities(pictures), () => '.txt');
  return names.map(({ stem, extension }) => join(folder, stem + extension));
}

/** The path for what is cut out of a picture, by the places of the picture and of the box, from 0 on. */
export type CropPath = (picture: number, box: number) => Promise<string>;

/**
 * Makes the folder and gives the paths in it for crops: `street-1.jpg`, `street-2.jpg` of `street.jpg`. As with annotated
 * copies no two share one and none leads to a picture of the input.
 * @param drawn the folder of annotated copies, which may be called as crops are
 * @throws ERR_YOLO_FILE_WRITE where the folder cannot be made or written to; ERR_YOLO_INVALID_ARGUMENT where it is that of
 * the annotated copies.
 */
export async function cropPaths(folder: string, pictures: readonly Picture[], drawn?: string): Promise<CropPath> {
  await prepare(folder, 'saveCrops', 'crops');
  if (drawn !== undefined && (await identity(drawn)) === (await identity(folder)))
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `Expected --save-crops to name another folder than --save, but both are ${folder}: street-1.jpg could be either`,
      { phase: 'validate', detail: { option: 'saveCrops', value: folder } },
    );
  const inputs = await identities(pictures);
  const names = await fileNames(folder, pictures, inputs, pictureExtension);
  return async (picture, box) => {
    const { stem, extension } = names[picture]!;
    for (let number = 1; ; number++) {
      // What follows the last hyphen is the box's, what precedes it the picture's: names of two boxes are never one.
      const path = join(folder, `${stem}-${box + 1}${number === 1 ? '' : `_${number}`}${extension}`);
      if (!inputs.has(await identity(path))) return path;
    }
  };
}

async function prepare(folder: string, option: string, contents: string): Promise<void> {
  const refuse = (what: string) => (cause: Error) => {
    throw new YoloError(
      'ERR_YOLO_FILE_WRITE',
      `The folder ${folder} for ${contents} cannot be ${what}: ${cause.message}`,
      {
        phase: 'validate',
        detail: { option, value: folder, code: (cause as NodeJS.ErrnoException).code },
        cause,
      },
    );
  };
  await makeFolder(folder).catch(refuse('made'));
  // Before hours of work, not after them.
  await access(folder, constants.W_OK).catch(refuse('written to'));
}

function pictureExtension(extension: string): string {
  return WRITTEN.has(extension.toLowerCase()) ? extension : '.png';
}

/** A name for each picture, that of no other and of no picture of the input. */
async function fileNames(
  folder: string,
  pictures: readonly Picture[],
  inputs: ReadonlySet<string | undefined>,
  extensionFor: (extension: string) => string,
): Promise<FileName[]> {
  const taken = new Set<string>();
  const names: FileName[] = [];
  for (const picture of pictures) {
    const own = parse(fileNameOf(picture));
    const extension = extensionFor(own.ext);
    for (let number = 1; ; number++) {
      const stem = `${own.name}${number === 1 ? '' : `-${number}`}`;
      const file = stem + extension;
      // Some file systems take names that differ in case, or in how an accent is written, for one.
      const key = file.normalize('NFC').toLowerCase();
      if (taken.has(key) || inputs.has(await identity(join(folder, file)))) continue;
      taken.add(key);
      names.push({ stem, extension });
      break;
    }
  }
  return names;
}

async function identities(pictures: readonly Picture[]): Promise<Set<string | undefined>> {
  const known = new Set<string | undefined>();
  for (const { input } of pictures) if (typeof input === 'string') known.add(await identity(input));
  known.delete(undefined);
  return known;
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
