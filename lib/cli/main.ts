#!/usr/bin/env node
import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { YoloError } from '../index.js';
import { addDetectCommand } from './detect.js';
import { ExitCode } from './exit-code.js';
import { addInspectCommand } from './inspect.js';
import { printable } from './printable.js';

/** Why a command ends before its work is done. */
interface Stop {
  readonly exitCode: number;
  readonly message?: string;
}

const stopping = new AbortController();
const stop = (exitCode: number, message?: string) => stopping.abort({ exitCode, message } satisfies Stop);

// The first signal lets the pictures under way end; a second one finds no listener and ends the process at once.
process.once('SIGINT', () => stop(ExitCode.INTERRUPTED, 'interrupted'));
process.once('SIGTERM', () => stop(ExitCode.TERMINATED, 'terminated'));
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe (`| head`) has seen enough: no error of anybody's.
  if (error.code === 'EPIPE') return stop(ExitCode.OK);
  stop(ExitCode.FAILED, `error: the output cannot be written: ${error.message}`);
});
// Nobody is left to be told.
process.stderr.on('error', () => {});

const { version, description } = createRequire(import.meta.url)('migraphx-yolo/package.json');
const program = new Command('migraphx-yolo')
  .description(description)
  .version(version)
  .showHelpAfterError('Add --help for all options and examples.')
  .exitOverride();
addDetectCommand(program, stopping.signal);
addInspectCommand(program, stopping.signal);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/** Says what is wrong, unless that was done, and with which code the process ends. */
function exitCodeOf(error: unknown): number {
  const { aborted, reason } = stopping.signal;
  if (aborted) {
    const { exitCode, message } = reason as Stop;
    if (message !== undefined) console.error(message);
    return exitCode;
  }
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.OK : ExitCode.USAGE;
  if (!YoloError.is(error)) {
    console.error(error);
    return ExitCode.FAILED;
  }
  console.error(`error: ${printable(error.message)}`);
  return YoloError.is(error, 'ERR_YOLO_INVALID_ARGUMENT') ? ExitCode.USAGE : ExitCode.FAILED;
}
