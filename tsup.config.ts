import { defineConfig, type Options } from 'tsup';

const shared: Options = {
  target: 'node20',
  outDir: 'dist',
  sourcemap: true,
  shims: true,
  // tsup leaves dependencies outside by itself, but not optional ones.
  external: ['onnxruntime-node'],
};

const library = { index: 'lib/index.ts', 'core/index': 'lib/core/index.ts' };

export default defineConfig([
  // The command shares its chunks with the library: there is one copy of it, and one place for its worker and assets.
  { ...shared, entry: { ...library, cli: 'lib/cli/main.ts' }, format: ['esm'], splitting: true },
  { ...shared, entry: library, format: ['cjs'] },
  { ...shared, entry: library, format: ['esm', 'cjs'], dts: { only: true } },
  // One file of its own, which a bundled application copies beside its bundle.
  {
    ...shared,
    entry: { 'onnxruntime-worker': 'lib/runtime/onnxruntime-worker.ts' },
    format: ['esm'],
    splitting: false,
    outExtension: () => ({ js: '.mjs' }),
  },
]);
