import { BUSY, STOP } from './lane-protocol.js';

/** The longest that process exit waits for native code to end. */
const PATIENCE_MS = 10_000;

const guarded = new Set<Int32Array>();

/**
 * Makes process exit wait, at most 10 seconds, until the lane with these flags runs no native code: tearing its thread
 * down inside ONNX Runtime would abort the process and change its exit code. Gives back the function that ends the guard.
 */
export function guardAtExit(flags: Int32Array): () => void {
  // One listener for all lanes of all detectors, there only while there are lanes.
  if (guarded.size === 0) process.on('exit', waitForLanes);
  guarded.add(flags);
  return () => {
    if (guarded.delete(flags) && guarded.size === 0) process.off('exit', waitForLanes);
  };
}

function waitForLanes(): void {
  for (const flags of guarded) Atomics.store(flags, STOP, 1);
  const deadline = performance.now() + PATIENCE_MS;
  for (const flags of guarded) Atomics.wait(flags, BUSY, 1, Math.max(0, deadline - performance.now()));
}
