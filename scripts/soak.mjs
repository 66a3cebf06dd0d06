// npm run soak: 5,000 calls of one detector and 200 detectors made and closed, in a process whose heap, memory, threads and
// handles are watched. A few minutes; `npm test` has a short one.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/soak'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  env: { ...process.env, SOAK: 'full' },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
