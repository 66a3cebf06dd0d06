// npm run fuzz: the tests of test/fuzz with all of their inputs. `FUZZ_SEED=7 npm run fuzz` gives other inputs,
// `npm run fuzz -- test/fuzz/onnx.test.ts` one file of them.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const given = process.argv.slice(2);
const { status } = spawnSync(process.execPath, [vitest, 'run', ...(given.length > 0 ? given : ['test/fuzz'])], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  env: { ...process.env, FUZZ: 'full' },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
