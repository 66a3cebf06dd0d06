/** What the process ends with; 128 and more as shells have it for signals. */
export const ExitCode = Object.freeze({
  OK: 0,
  /** Some pictures failed, or nothing could be started. */
  FAILED: 1,
  /** The arguments are wrong, or name no picture. */
  USAGE: 2,
  INTERRUPTED: 130,
  TERMINATED: 143,
});
