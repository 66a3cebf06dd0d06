import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds dist/ where it is older than the sources: workers cannot run TypeScript, and package and command are tested as built. */
export default function build(): void {
  const outputs = ['index.js', 'index.cjs', 'index.d.ts', 'core/index.js', 'cli.js', 'onnxruntime-worker.mjs'];
  const built = outputs.map((file) => join(root, 'dist', file));
  const oldest = Math.min(...built.map((file) => (existsSync(file) ? statSync(file).mtimeMs : 0)));
  const sources = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' }).map((file) =>
    join(root, 'lib', file),
  );
  const newest = Math.max(...[...sources, join(root, 'tsup.config.ts')].map((file) => statSync(file).mtimeMs));
  if (oldest < newest)
    execFileSync(process.execPath, [join(root, 'node_modules/tsup/dist/cli-default.js'), '--silent'], {
      cwd: root,
      stdio: 'inherit',
    });
}
