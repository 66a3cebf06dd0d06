import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { YoloError } from '../errors.js';
import { COCO_LABELS } from '../labels.js';
import { cacheFolder } from './cache-folder.js';
import { currentFolder } from './current-folder.js';
import { type CacheState, cacheState, sha256Of, writeToCache } from './default-model-cache.js';
import { convertGraphModel } from './default-model-convert.js';
import {
  type DownloadProgress,
  fetchGraphModel,
  type GraphModelFiles,
  PACKAGE,
  PACKAGE_VERSION,
} from './default-model-fetch.js';
import { readGraphModel } from './default-model-graph.js';

export const DEFAULT_MODEL_NAME = 'centernet-mobilenetv3-512';

/** Digest of the converted file. It names the file in the cache, so that another conversion never finds it. */
export const DEFAULT_MODEL_SHA256 = '5795205546dbde76c8510440b0268c995b358f1d64749a1b2bbe7c0274900d9d';

/** How pixels go into it, known here, so that it need not be found out: RGB levels as they are, the picture in the middle. */
export const DEFAULT_MODEL_FORMAT = { channelOrder: 'rgb', divisor: 1, letterbox: { placement: 'centre' } } as const;

/** Digests of the two files in the package, of whatever version it is. */
const TOPOLOGY_SHA256 = 'bfb942eaacc5becf738d536663bc4580a0ae9e560722306e6d4dd7fe4a09de05';
const WEIGHTS_SHA256 = '1b635a15009071f506f9f2b3519b31c072c534888989f30d269ffd44734ef7ef';

export interface DefaultModelOptions {
  /** Whether it may be fetched with npm where it is nowhere on this machine. Defaults to false. */
  readonly allowDownload?: boolean;
  /** Defaults to the user's cache folder. */
  readonly cacheFolder?: string;
  readonly onProgress?: (progress: DownloadProgress) => void;
  readonly signal?: AbortSignal;
  /** Files from which an installed package is looked for, as `require` would. Defaults to this package and the current directory. */
  readonly searchFrom?: readonly (string | URL)[];
  /** Expected digest of the package that npm fetches. Defaults to that of the pinned version. */
  readonly integrity?: string;
}

/**
 * The default model as a file in the cache, or as bytes where no cache can be written.
 * It is made on the user's machine from the npm package @vladmandic/human and never shipped converted: that package is MIT, but
 * the place that its weights come from states no licence.
 * Looked for in this order: the cache; the package where it is installed; the npm registry, if `allowDownload`.
 * Rejects with ERR_YOLO_MODEL_NOT_FOUND, ERR_YOLO_CACHE (no temporary folder to fetch into) and `signal.reason`.
 */
export async function resolveDefaultModel(
  options: DefaultModelOptions = {},
): Promise<{ readonly path: string } | { readonly bytes: Uint8Array }> {
  const {
    onProgress,
    signal,
    integrity,
    searchFrom = [import.meta.url, join(currentFolder(), 'package.json')],
  } = options;
  const folder = cacheFolder(options.cacheFolder);
  const path = folder && join(folder, `${DEFAULT_MODEL_NAME}-${DEFAULT_MODEL_SHA256.slice(0, 16)}.onnx`);
  const state = path === undefined ? 'absent' : await cacheState(path, DEFAULT_MODEL_SHA256);
  signal?.throwIfAborted();
  if (path !== undefined && state === 'intact') return { path };

  let files = await findInstalled(searchFrom);
  if (files === undefined) {
    if (!options.allowDownload) throw notFound(path, state);
    files = await fetchGraphModel({ onProgress, signal, integrity });
  }
  signal?.throwIfAborted();
  onProgress?.({ phase: 'convert', message: 'Converting the default model to ONNX' });
  const bytes = convertDefaultModel(files);
  if (path === undefined) return { bytes };
  onProgress?.({ phase: 'cache', message: `Keeping the default model in ${path}` });
  return (await writeToCache(path, bytes)) ? { path } : { bytes };
}

/**
 * The default model's ONNX file.
 *
 * ```
 *   images      float32 [1, 512, 512, 3]   RGB, 0..255
 *   detections  float32 [1, 100, 6]        x1, y1, x2, y2 in input pixels, confidence, class (COCO's 80), by falling confidence
 * ```
 */
export function convertDefaultModel({ topology, weights }: GraphModelFiles): Uint8Array {
  return convertGraphModel(readGraphModel(topology, weights), {
    input: ['tower_0/images', 'images'],
    output: ['tower_0/detections', 'detections'],
    name: DEFAULT_MODEL_NAME,
    metadata: {
      description: 'CenterNet with MobileNetV3, 80 classes of COCO, 512 x 512, end to end',
      source: `models/centernet.json of the npm package ${PACKAGE} ${PACKAGE_VERSION}`,
      license: `MIT according to ${PACKAGE}; none found where its weights come from`,
      names: namesMetadata(COCO_LABELS),
    },
  });
}

/** Class names as readers of such files expect them: a Python dict of index and name. */
function namesMetadata(labels: readonly string[]): string {
  return `{${labels.map((label, index) => `${index}: '${label}'`).join(', ')}}`;
}

/** The model's two files from an installed package, or undefined. Files with other contents do not count, whatever their version. */
async function findInstalled(searchFrom: readonly (string | URL)[]): Promise<GraphModelFiles | undefined> {
  for (const from of searchFrom) {
    let folder: string;
    try {
      // The package exports neither its models nor its package.json: its main file is the way in, and its root lies above.
      folder = dirname(createRequire(from).resolve(PACKAGE));
    } catch {
      continue;
    }
    for (; folder !== dirname(folder); folder = dirname(folder)) {
      const files = await readModels(join(folder, 'models'));
      if (files !== undefined) return files;
    }
  }
  return undefined;
}

async function readModels(folder: string): Promise<GraphModelFiles | undefined> {
  try {
    const topology = await readFile(join(folder, 'centernet.json'));
    const weights = await readFile(join(folder, 'centernet.bin'));
    const pinned = sha256Of(topology) === TOPOLOGY_SHA256 && sha256Of(weights) === WEIGHTS_SHA256;
    return pinned ? { topology, weights } : undefined;
  } catch {
    return undefined;
  }
}

function notFound(path: string | undefined, state: CacheState): YoloError {
  const cached =
    state === 'damaged' ? `the copy at ${path} is damaged` : `there is no copy at ${path ?? '(no home folder)'}`;
  return new YoloError(
    'ERR_YOLO_MODEL_NOT_FOUND',
    `No model was given, and the default one is not on this machine: ${cached}, and ${PACKAGE} ${PACKAGE_VERSION} ` +
      `is installed neither beside this package nor in ${currentFolder()}. One of these helps: run \`npx migraphx-yolo detect <photo>\` ` +
      `once, which fetches it (28.6 MB, with npm); pass allowDownload: true; npm install ${PACKAGE}@${PACKAGE_VERSION}; ` +
      `or pass a model of yours, model: 'yours.onnx'`,
    { phase: 'load', detail: { cache: path, cacheState: state, package: `${PACKAGE}@${PACKAGE_VERSION}` } },
  );
}
