import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** What a part of lib/ may import of the others. Everything may import `types`, `errors` and `show`. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  core: [],
  onnx: [],
  image: ['core', 'whole-file'],
  model: ['onnx', 'core', 'labels'],
  runtime: ['core', 'model'],
  detections: ['core', 'image', 'labels', 'validation', 'detection-extra'],
  labels: [],
  types: [],
  errors: [],
  stream: [],
  frames: ['validation'],
  options: ['core', 'model', 'postprocessor', 'validation', 'stream'],
  postprocessor: ['core', 'detections', 'options', 'validation'],
  detector: [
    'core',
    'image',
    'model',
    'runtime',
    'detections',
    'options',
    'labels',
    'postprocessor',
    'validation',
    'proof-photo',
    'model-loader',
    'stream',
  ],
  pictures: ['image', 'options', 'validation'],
  cli: ['index', 'model', 'whole-file'],
};
const PARTS = [...new Set([...Object.keys(MAY_IMPORT), ...Object.values(MAY_IMPORT).flat()])];
const FOLDERS = ['core', 'onnx', 'image', 'model', 'runtime', 'cli'];
const ONLY_IN: Record<string, RegExp> = {
  sharp: /^image\//,
  'onnxruntime-node': /^runtime\/onnxruntime-worker\.ts$/,
};
const always = ['types', 'errors', 'show'];

const files = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'));

const partOf = (file: string) => file.replace(/\.[jt]s$/, '').split('/')[0]!;

function importsOf(file: string): string[] {
  return ts.preProcessFile(readFileSync(join(root, 'lib', file), 'utf8')).importedFiles.map((one) => one.fileName);
}

describe('each file of lib', () => {
  it.each(files)('%s imports what its folder may', (file) => {
    const part = partOf(file);
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith('.')) {
        const target = partOf(posix.join(posix.dirname(file), specifier));
        const allowed = MAY_IMPORT[part];
        if (target !== part && allowed !== undefined) expect([...allowed, ...always], specifier).toContain(target);
        continue;
      }
      if (part === 'core') expect.unreachable(`core imports ${specifier}`);
      const owner = ONLY_IN[specifier.split('/')[0]!];
      if (owner !== undefined) expect(file, `imports ${specifier}`).toMatch(owner);
    }
  });
});

describe('the linter', () => {
  const folder = mkdtempSync(join(tmpdir(), 'yolo-lint-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const isFolder = (part: string) => FOLDERS.includes(part);
  const worker = 'lib/runtime/onnxruntime-worker.ts';
  /** By the path of a file that is made up: what it imports. */
  const madeUp = new Map<string, string[]>();
  for (const part of Object.keys(MAY_IMPORT)) {
    const up = isFolder(part) ? '../' : './';
    const others = PARTS.filter((target) => target !== part);
    madeUp.set(isFolder(part) ? `lib/${part}/a-file.ts` : `lib/${part}.ts`, [
      ...others.map((target) => (isFolder(target) ? `${up}${target}/a-file.js` : `${up}${target}.js`)),
      ...Object.keys(ONLY_IN),
      ...(part === 'core' ? ['node:fs'] : []),
    ]);
  }
  madeUp.set(worker, [...Object.keys(ONLY_IN), '../image/a-file.js']);

  /** By path: the imports that the linter refuses. */
  const refused = new Map<string, string[]>();
  beforeAll(() => {
    cpSync(join(root, 'biome.json'), join(folder, 'biome.json'));
    for (const [path, specifiers] of madeUp) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      // Every second one as import(), which has to be refused as well.
      const line = (specifier: string, index: number) =>
        index % 2 === 0 ? `import * as a${index} from '${specifier}';\n` : `await import('${specifier}');\n`;
      writeFileSync(join(folder, path), specifiers.map(line).join(''));
    }
    const { stdout, error } = spawnSync(
      process.execPath,
      [join(root, 'node_modules/@biomejs/biome/bin/biome'), 'lint', '--max-diagnostics=none', '--reporter=json'],
      { cwd: folder, encoding: 'utf8' },
    );
    if (error) throw error;
    for (const { severity, category, location } of JSON.parse(stdout).diagnostics) {
      if (severity !== 'error' || !/noRestrictedImports|noNodejsModules/.test(category)) continue;
      const path = location.path.replaceAll('\\', '/');
      refused.set(path, [...(refused.get(path) ?? []), madeUp.get(path)![location.start.line - 1]!]);
    }
  });

  it.each(Object.entries(MAY_IMPORT))('refuses what lib/%s may not import, and nothing else', (part, allowed) => {
    const path = isFolder(part) ? `lib/${part}/a-file.ts` : `lib/${part}.ts`;
    const forbidden = madeUp.get(path)!.filter((specifier) => {
      if (specifier.startsWith('.')) return ![...allowed, ...always].includes(partOf(specifier.replace(/^\.+\//, '')));
      return !(part === 'image' && specifier === 'sharp');
    });
    expect(refused.get(path)?.sort()).toEqual(forbidden.sort());
  });

  it('lets the worker alone import ONNX Runtime', () => {
    expect(refused.get(worker)?.sort()).toEqual(['../image/a-file.js', 'sharp']);
  });
});
