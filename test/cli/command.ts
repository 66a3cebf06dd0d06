import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const cli = resolve(fileURLToPath(import.meta.url), '../../../dist/cli.js');

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly cacheFolder: string;
  readonly stdin?: Uint8Array;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called once, when the first picture's results come. */
  readonly onResult?: (child: ChildProcess) => void;
}

/** Runs the built command in a process of its own. */
export function command(
  args: readonly string[],
  { cwd, cacheFolder, stdin, env: more, onResult }: CommandOptions,
): Promise<Outcome> {
  return new Promise((done, fail) => {
    const env = { ...process.env, MIGRAPHX_YOLO_CACHE: cacheFolder, ...more };
    const child = spawn(process.execPath, [cli, ...args], { cwd, env });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      const isFirst = !stdout.includes('\n');
      stdout += text;
      if (isFirst && stdout.includes('\n')) onResult?.(child);
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.stdin.on('error', () => {}).end(stdin);
    child.on('error', fail).on('close', (code) => done({ code, stdout, stderr }));
  });
}

/** The same as one line of the shell, in which `yolo` is the command. */
export function commandInShell(line: string, { cwd, cacheFolder }: CommandOptions): Promise<Outcome> {
  return new Promise((done) => {
    const env = { ...process.env, MIGRAPHX_YOLO_CACHE: cacheFolder, NODE: process.execPath, CLI: cli };
    execFile('bash', ['-c', `yolo() { "$NODE" "$CLI" "$@"; }; ${line}`], { cwd, env }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : (error.code as number), stdout, stderr }),
    );
  });
}

/** The same on a terminal, where util-linux's `script` makes one; what the terminal shows comes as `stdout`. */
export function commandOnTerminal(args: readonly string[], { cwd, cacheFolder }: CommandOptions): Promise<Outcome> {
  return new Promise((done, fail) => {
    const env = { ...process.env, MIGRAPHX_YOLO_CACHE: cacheFolder, COLUMNS: '100' };
    const line = [process.execPath, cli, ...args].map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['-qec', line, join(cwd, 'typescript')], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.on('error', fail).on('close', (code) => done({ code, stdout, stderr: '' }));
  });
}
