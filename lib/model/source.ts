import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { types } from 'node:util';
import { YoloError } from '../errors.js';
import { currentFolder } from './current-folder.js';
import { DEFAULT_MODEL_NAME, resolveDefaultModel } from './default-model.js';
import type { DownloadProgress } from './default-model-fetch.js';

export type { DownloadProgress } from './default-model-fetch.js';

/** Where a model's ONNX file is: `path` or `bytes`, exactly one of them. */
export interface ResolvedModel {
  /** For messages: a file's name, or "model of 1234 bytes". */
  readonly name: string;
  /** Absolute. A model stays a path where it was one, so that the runtime finds weights that lie in files beside it. */
  readonly path?: string;
  /** The caller's own bytes, not copied: they must not change until `create()` has settled. */
  readonly bytes?: Uint8Array;
  readonly isDefault: boolean;
}

export interface ResolveModelOptions {
  /** Whether the default model may be fetched with npm where it is not on this machine. Defaults to false. */
  readonly allowDownload?: boolean;
  /** Where the default model is kept. Defaults to MIGRAPHX_YOLO_CACHE, else the user's cache folder. */
  readonly cacheFolder?: string;
  /** Told while the default model is made available. */
  readonly onProgress?: (progress: DownloadProgress) => void;
  readonly signal?: AbortSignal;
}

/**
 * Finds the model that the caller means: a path (relative to the current directory), a `file:` URL, an ONNX file's bytes, or, for
 * undefined, the default model. Does not look into the file.
 * Rejects with ERR_YOLO_MODEL_NOT_FOUND where there is no such file (the message has the absolute path), with
 * ERR_YOLO_INVALID_ARGUMENT for a folder or another URL, with ERR_YOLO_MODEL_PARSE for no bytes, and with `signal.reason`.
 */
export async function resolveModel(
  model: string | URL | Uint8Array | ArrayBuffer | undefined,
  options: ResolveModelOptions = {},
): Promise<ResolvedModel> {
  options.signal?.throwIfAborted();
  if (model === undefined)
    return { name: DEFAULT_MODEL_NAME, ...(await resolveDefaultModel(options)), isDefault: true };
  if (types.isUint8Array(model) || types.isArrayBuffer(model)) {
    const bytes = types.isUint8Array(model) ? model : new Uint8Array(model);
    if (bytes.byteLength === 0) throw empty('The model given as bytes');
    return { name: `model of ${bytes.byteLength} bytes`, bytes, isDefault: false };
  }
  const path = pathOf(model);
  const stats = await statOf(path);
  if (stats.isDirectory()) {
    throw invalid(
      `Expected model to be an ONNX file but ${path} is a folder; name the file in it, e.g. ${resolve(path, 'model.onnx')}`,
      path,
    );
  }
  if (stats.size === 0) throw empty(path);
  return { name: basename(path), path, isDefault: false };
}

function pathOf(model: string | URL): string {
  const text = String(model);
  // Two letters at least before the colon: C: is a Windows drive.
  const scheme =
    /^([a-z][a-z0-9+.-]+):\/\//i.exec(text)?.[1]?.toLowerCase() ??
    (model instanceof URL ? model.protocol.slice(0, -1) : undefined);
  if (scheme === undefined) return isAbsolute(text) ? resolve(text) : join(currentFolder(), text);
  if (scheme !== 'file') {
    throw invalid(
      `Expected model to be a path or a file: URL but received ${text}; models are not downloaded: ` +
        'save the file and pass its path, or pass its bytes',
      text,
    );
  }
  try {
    return fileURLToPath(text);
  } catch (cause) {
    throw invalid(`The URL ${text} names no file on this machine: ${(cause as Error).message}`, text, cause);
  }
}

async function statOf(path: string): Promise<Stats> {
  try {
    return await stat(path);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const absent = code === 'ENOENT' || code === 'ENOTDIR';
    throw new YoloError(
      'ERR_YOLO_MODEL_NOT_FOUND',
      absent
        ? `There is no model file ${path}; a relative path starts at the current directory, ${currentFolder()}`
        : `The model file ${path} cannot be read (${code}); check the permissions of the file and its folders`,
      { phase: 'load', detail: { path, code }, cause },
    );
  }
}

function empty(what: string): YoloError {
  return new YoloError('ERR_YOLO_MODEL_PARSE', `${what} is empty (0 bytes); export or copy the ONNX file again`, {
    phase: 'load',
  });
}

function invalid(message: string, received: string, cause?: unknown): YoloError {
  return new YoloError('ERR_YOLO_INVALID_ARGUMENT', message, {
    phase: 'validate',
    detail: { option: 'model', value: received },
    cause,
  });
}
