import { defineConfig } from 'tsup';

const shared = { target: 'node20', outDir: 'dist', sourcemap: true, shims: true } as const;

export default defineConfig([
  {
    ...shared,
    entry: { index: 'lib/index.ts', 'core/index': 'lib/core/index.ts' },
    format: ['esm', 'cjs'],
    dts: true,
    clean: true,
  },
  // One self-contained file each: a bundled application copies the worker beside its own bundle.
  {
    ...shared,
    entry: { 'onnxruntime-worker': 'lib/runtime/onnxruntime-worker.ts' },
    format: ['esm'],
    splitting: false,
    outExtension: () => ({ js: '.mjs' }),
  },
  // The command uses the library as its users do, so that there is one copy of it and one place for its worker and assets.
  { ...shared, entry: { cli: 'lib/cli/main.ts' }, format: ['esm'], splitting: false },
]);
