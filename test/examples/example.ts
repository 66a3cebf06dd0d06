import { type ChildProcess, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = resolve(fileURLToPath(import.meta.url), '../../../examples');

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningExample {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
}

/** Starts an example in a process of its own, as its user does, on the built library. */
export function start(name: string, args: readonly string[], env: Record<string, string> = {}): RunningExample {
  const child = spawn(process.execPath, [join(folder, `${name}.mjs`), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const outcome = new Promise<Outcome>((done, fail) => {
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.on('error', fail).on('close', (code) => done({ code, stdout, stderr }));
  });
  return { child, outcome };
}

/** Runs it to its end. */
export function run(name: string, args: readonly string[], cacheFolder: string): Promise<Outcome> {
  return start(name, args, { MIGRAPHX_YOLO_CACHE: cacheFolder }).outcome;
}
