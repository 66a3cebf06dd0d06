import { readdir, stat } from 'node:fs/promises';
import { basename, extname, isAbsolute, join, posix, resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { glob, isDynamicPattern } from 'tinyglobby';
import { YoloError } from '../index.js';

/** The argument that stands for the standard input. */
export const STANDARD_INPUT = '-';

/** Pictures that a folder may hold. Kinds that cannot be decoded are among them: to be told is better than to miss one. */
const EXTENSIONS = new Set(
  '.jpg .jpeg .jpe .jfif .png .webp .gif .avif .tif .tiff .bmp .heic .heif .jp2 .jxl'.split(' '),
);

export interface Picture {
  /** As its user wrote it or finds it again: a path, '-', or a URL without user and password. */
  readonly name: string;
  /** A path, the bytes of the standard input, or an `http:` or `https:` URL. */
  readonly input: string | Uint8Array | URL;
}

/** The name of a picture's file, without its folder: for a URL the last part of its path, or else its host. */
export function fileNameOf({ name, input }: Picture): string {
  if (name === STANDARD_INPUT) return 'stdin';
  return input instanceof URL
    ? posix.basename(input.pathname) || input.hostname.replace(/[[\]:]+/g, '_')
    : basename(name);
}

export interface FoundPictures {
  /** Each file once, in the order of the arguments; those of a folder or a glob by name, frame2 before frame10. */
  readonly pictures: readonly Picture[];
  /** One sentence for each argument that names no picture. */
  readonly problems: readonly string[];
}

/**
 * The pictures that arguments name: a file is taken whatever its name; a folder means the pictures directly in it, by
 * extension; a pattern that the shell left alone means the files that it matches; an `http:` or `https:` URL is fetched when its
 * turn comes; '-' is the standard input.
 * @throws ERR_YOLO_INVALID_ARGUMENT where there is no picture at all; or the signal's reason.
 */
export async function findPictures(args: readonly string[], signal: AbortSignal): Promise<FoundPictures> {
  const pictures = new Map<string, Picture>();
  const problems: string[] = [];
  for (const arg of args) {
    if (arg === STANDARD_INPUT) {
      if (!pictures.has(arg)) pictures.set(arg, { name: arg, input: await readStandardInput(signal) });
      continue;
    }
    if (/^https?:\/\//i.test(arg)) {
      const picture = urlPicture(arg);
      if (typeof picture === 'string') problems.push(picture);
      else pictures.set(picture.name, pictures.get(picture.name) ?? picture);
      continue;
    }
    const found = await expand(arg, signal);
    if (typeof found === 'string') problems.push(found);
    else
      for (const path of found) pictures.set(resolve(path), pictures.get(resolve(path)) ?? { name: path, input: path });
  }
  signal.throwIfAborted();
  if (pictures.size === 0) throw invalid(problems.join('\nerror: '));
  return { pictures: [...pictures.values()], problems };
}

function urlPicture(arg: string): Picture | string {
  // Without the argument, in which a password may stand.
  if (!URL.canParse(arg)) return 'an argument that begins as a URL is none';
  const input = new URL(arg);
  const shown = new URL(arg);
  shown.username = '';
  shown.password = '';
  return { name: shown.href, input };
}

/** The paths that an argument means, or why there are none. */
async function expand(arg: string, signal: AbortSignal): Promise<readonly string[] | string> {
  try {
    // A file may be called `a[1].jpg`: what exists is no pattern.
    if (!(await stat(arg)).isDirectory()) return [arg];
    const names = (await readdir(arg)).filter((name) => EXTENSIONS.has(extname(name).toLowerCase()) && name[0] !== '.');
    if (names.length > 0) return names.sort(byName).map((name) => join(arg, name));
    return `${arg}: the folder holds no pictures; for those of the folders in it, give a pattern such as '${join(arg, '**', '*.jpg')}'`;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && !isDynamicPattern(arg)) return `${arg}: cannot be read: ${message}`;
  }
  const isWindows = process.platform === 'win32';
  const pattern = isWindows ? arg.replaceAll('\\', '/') : arg;
  if (!isDynamicPattern(pattern)) return `${arg}: there is no such file or folder`;
  const paths = await glob(pattern, {
    expandDirectories: false,
    caseSensitiveMatch: !isWindows,
    // Found files are named as the pattern is.
    absolute: isAbsolute(pattern),
    signal,
  });
  return paths.length > 0 ? paths.sort(byName) : `${arg}: no file matches this pattern`;
}

const collator = new Intl.Collator('en', { numeric: true });

/** As people count, and the same on every machine. */
function byName(a: string, b: string): number {
  return collator.compare(a, b) || (a < b ? -1 : 1);
}

async function readStandardInput(signal: AbortSignal): Promise<Uint8Array> {
  if (process.stdin.isTTY)
    throw invalid(
      `Expected an encoded picture on the standard input, but it is a terminal; pipe one in: cat a.jpg | migraphx-yolo detect -`,
    );
  return buffer(addAbortSignal(signal, process.stdin));
}

function invalid(message: string): YoloError {
  return new YoloError('ERR_YOLO_INVALID_ARGUMENT', message, { phase: 'validate' });
}
