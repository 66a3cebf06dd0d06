import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { YoloError } from '../errors.js';

const NAME = 'onnxruntime-worker.mjs';

/**
 * The worker's file: beside the built library, or in dist/ where the library runs from its sources.
 * @throws ERR_YOLO_BINDING_NOT_FOUND where it is not there, as in an application that was bundled into one file.
 */
export function findWorkerFile(chosen?: string | URL): URL {
  const candidates =
    chosen === undefined
      ? [new URL(NAME, import.meta.url), new URL(`../../dist/${NAME}`, import.meta.url)]
      : [typeof chosen === 'string' && !chosen.startsWith('file:') ? pathToFileURL(chosen) : new URL(chosen)];
  const found = candidates.find((url) => url.protocol === 'file:' && existsSync(fileURLToPath(url)));
  if (found !== undefined) return found;
  const places = candidates.map((url) => (url.protocol === 'file:' ? fileURLToPath(url) : url.href));
  throw new YoloError(
    'ERR_YOLO_BINDING_NOT_FOUND',
    `The worker file is not at ${places.join(' or ')}. An application that is bundled copies migraphx-yolo/worker beside its bundle and gives its place as workerFile`,
    { phase: 'load', detail: { tried: places } },
  );
}
