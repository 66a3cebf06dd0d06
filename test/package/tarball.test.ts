import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Detector } from '../../lib/index.js';
import { ownCacheFolder, PHOTO } from '../support/default-detector.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const { version, optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const BUILD_MS = 180_000;
const INSTALL_MS = 300_000;

const folder = mkdtempSync(join(tmpdir(), 'yolo-package-'));
const clone = join(folder, 'clone');
const consumer = join(folder, 'consumer');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cacheFolder = ownCacheFolder();
/** As a user's shell: without what the npm that runs these tests tells its scripts. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_(lifecycle|package|command|config_local)|NODE_OPTIONS|VITEST)/.test(name),
  ),
);

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Outcome> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, {
      cwd: options.cwd ?? consumer,
      env: { ...env, MIGRAPHX_YOLO_CACHE: cacheFolder, ...options.env },
      shell: process.platform === 'win32',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.on('error', fail).on('close', (code) => done({ code, stdout, stderr }));
  });
}

async function runOk(...args: Parameters<typeof run>): Promise<string> {
  const outcome = await run(...args);
  if (outcome.code !== 0)
    throw new Error(`${args[0]} ${args[1].join(' ')} ended with ${outcome.code}\n${outcome.stdout}\n${outcome.stderr}`);
  return outcome.stdout;
}

/** Runs a script of the consumer's and gives what it prints last as JSON. */
async function script(name: string, source: string, options: Parameters<typeof run>[2] = {}): Promise<Outcome> {
  writeFileSync(join(consumer, name), source);
  return run(process.execPath, [name], options);
}

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}
let packed: Packed;
let tarball: string;

beforeAll(async () => {
  // Built from a copy: the checkout's own dist may be old, or in use by other tests.
  const left = /[\\/](node_modules|dist|coverage|out|\.git)$/;
  cpSync(root, clone, { recursive: true, filter: (path) => !left.test(path) });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction');
  const stdout = await runOk('npm', ['pack', '--json', '--pack-destination', folder], { cwd: clone });
  // What the build prints comes first.
  [packed] = JSON.parse(stdout.slice(stdout.search(/^\[$/m)));
  tarball = join(folder, packed.filename);
}, BUILD_MS);

describe('the packed package', () => {
  it('holds what users need and nothing else', () => {
    const paths = packed.files.map((file) => file.path);
    const expected =
      /^(dist\/.+\.(c|m)?js(\.map)?|dist\/.+\.d\.c?ts|assets\/(aeroplane\.jpg|SOURCES\.md)|docs\/[a-z-]+\.md|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|LICENSE|package\.json)$/;
    expect(paths.filter((path) => !expected.test(path))).toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining([
        'dist/index.js',
        'dist/index.cjs',
        'dist/index.d.ts',
        'dist/index.d.cts',
        'dist/core/index.js',
        'dist/core/index.cjs',
        'dist/onnxruntime-worker.mjs',
        'dist/cli.js',
        'assets/aeroplane.jpg',
        'LICENSE',
        // README leads there.
        'docs/errors.md',
      ]),
    );
  });

  it('stays small, with no model in it', () => {
    expect(packed.size).toBeLessThan(1_000_000);
    expect(packed.unpackedSize).toBeLessThan(4_000_000);
    expect(packed.files.filter((file) => /\.(onnx|bin|node)$/.test(file.path))).toEqual([]);
  });

  it('passes publint without a warning', async () => {
    const publint = join(root, 'node_modules/publint/src/cli.js');
    const { code, stdout, stderr } = await run(process.execPath, [publint, 'run', tarball, '--strict'], {
      cwd: folder,
    });
    expect({ code, output: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, output: '' });
  });
});

describe('installed elsewhere', () => {
  beforeAll(async () => {
    mkdirSync(consumer);
    writeFileSync(join(consumer, 'package.json'), JSON.stringify({ name: 'consumer', private: true, type: 'module' }));
    const runtime = `onnxruntime-node@${optionalDependencies['onnxruntime-node']}`;
    await runOk('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball, runtime], {
      env: { ONNXRUNTIME_NODE_INSTALL: 'skip' },
    });
    await (await Detector.create({ cacheFolder })).close();
  }, INSTALL_MS);

  const detect = `
const detector = await Detector.create({ threads: 1 });
const found = await detector.detect(${JSON.stringify(PHOTO)});
console.log(JSON.stringify([...found].map((one) => one.label)));
`;
  const labels = (stdout: string) => JSON.parse(stdout);
  const AEROPLANE = expect.arrayContaining(['person', 'airplane']);

  it('is imported by ES modules, detects, and ends without close()', async () => {
    const { code, stdout, stderr } = await script('import.mjs', `import { Detector } from 'migraphx-yolo';\n${detect}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(labels(stdout)).toEqual(AEROPLANE);
  });

  it('is required by CommonJS, detects, and ends without close()', async () => {
    const source = `const { Detector } = require('migraphx-yolo');\n(async () => {${detect}})();`;
    const { code, stdout, stderr } = await script('require.cjs', source);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(labels(stdout)).toEqual(AEROPLANE);
  });

  it('ends with code 0 when close() is called, too', async () => {
    const source = `import { Detector } from 'migraphx-yolo';\n${detect}\nawait detector.close();`;
    const { code, stderr } = await script('close.mjs', source);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('has core/ without anything else', async () => {
    const source = (load: string) => `${load}
const kept = nms(new Float32Array([0, 0, 10, 10, 1, 1, 10, 10]), new Float32Array([0.9, 0.8]), { iouThreshold: 0.5 });
console.log(JSON.stringify([...kept]));`;
    for (const [name, load] of [
      ['core.mjs', `import { nms } from 'migraphx-yolo/core';`],
      ['core.cjs', `const { nms } = require('migraphx-yolo/core');`],
    ] as const) {
      expect(await script(name, source(load))).toEqual({ code: 0, stdout: '[0]\n', stderr: '' });
    }
    for (const file of ['index.js', 'index.cjs']) {
      const text = readFileSync(join(consumer, 'node_modules/migraphx-yolo/dist/core', file), 'utf8');
      expect(text).not.toMatch(/\b(require\(|from )['"](node:|sharp|onnxruntime)/);
    }
  });

  it('prints nothing when it is loaded, writes nothing, and starts neither process nor thread', async () => {
    const flag = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
    for (const [name, source] of [
      ['load.mjs', `import 'migraphx-yolo';\nimport 'migraphx-yolo/core';\n`],
      ['load.cjs', `require('migraphx-yolo');\nrequire('migraphx-yolo/core');\n`],
    ] as const) {
      expect(await script(name, source)).toEqual({ code: 0, stdout: '', stderr: '' });
      const confined = await run(process.execPath, [flag, '--allow-fs-read=*', '--no-warnings', name]);
      expect(confined).toEqual({ code: 0, stdout: '', stderr: '' });
    }
  });

  it('reads no files but modules when it is loaded, and loads neither sharp nor ONNX Runtime', async () => {
    const watch = (load: string) => `
import fs from 'node:fs';
import { createRequire, register, syncBuiltinESMExports } from 'node:module';
const log = ${JSON.stringify(join(consumer, 'loaded.txt'))};
fs.writeFileSync(log, '');
register('data:text/javascript,' + encodeURIComponent(\`
import { appendFileSync } from 'node:fs';
export async function load(url, context, next) {
  appendFileSync(\${JSON.stringify(log)}, url + '\\\\n');
  return next(url, context);
}\`));
const touched = [];
for (const owner of [fs, fs.promises]) {
  for (const [name, original] of Object.entries(owner)) {
    if (typeof original !== 'function' || /^[A-Z_]/.test(name)) continue;
    owner[name] = Object.assign(function (...args) {
      touched.push(name + ' ' + String(args[0]));
      return original.apply(this, args);
    }, original);
  }
}
syncBuiltinESMExports();
const require = createRequire(import.meta.url);
${load};
const modules = [...fs.readFileSync(log, 'utf8').split('\\n'), ...Object.keys(require.cache)];
const { sharedObjects } = process.report.getReport();
console.log(JSON.stringify({ touched, modules, sharedObjects }));
`;
    for (const [name, load] of [
      ['watch-import.mjs', `await import('migraphx-yolo'); await import('migraphx-yolo/core')`],
      ['watch-require.mjs', `require('migraphx-yolo'); require('migraphx-yolo/core')`],
    ] as const) {
      const { code, stdout, stderr } = await script(name, watch(load));
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const { touched, modules, sharedObjects } = JSON.parse(stdout);
      expect(modules.some((path: string) => path.includes('migraphx-yolo/dist'))).toBe(true);
      const heavy = /sharp|onnxruntime|vips/;
      expect([...modules, ...sharedObjects].filter((path: string) => heavy.test(path))).toEqual([]);
      // The loader of CommonJS modules itself reads through fs.
      const module = /(node_modules.*\.(c|m)?js|package\.json|loaded\.txt)$|[\\/]node_modules[\\/][^.]*$/;
      expect(touched.filter((line: string) => !module.test(line))).toEqual([]);
    }
  });

  it('tells its errors across its ESM and CommonJS copies', async () => {
    const source = `
import { createRequire } from 'node:module';
import { YoloError } from 'migraphx-yolo';
const other = createRequire(import.meta.url)('migraphx-yolo');
const error = await other.Detector.create({ model: 'nowhere.onnx' }).catch((reason) => reason);
console.log(JSON.stringify([other.YoloError === YoloError, YoloError.is(error), YoloError.is(error, 'ERR_YOLO_MODEL_NOT_FOUND'), error.name]));
`;
    const { stdout } = await script('copies.mjs', source);
    expect(JSON.parse(stdout)).toEqual([false, true, true, 'YoloError']);
  });

  it('has types for NodeNext, in ES modules and CommonJS, with the libraries checked too', async () => {
    const use = `
const detector: Detector = await Detector.create({ model: 'a.onnx', confidenceThreshold: 0.4 });
const [first, second] = await detector.detectBatch(['a.jpg', new Uint8Array(1)]);
const boxes: Detection[] = [...first, ...second];
const sides: readonly [number, number, number, number] = boxes[0]!.xyxy;
const points = await Detector.create({ postprocessor: { name: 'points', decode: (outputs) => Object.keys(outputs) } });
const names: string[] = await points.detect(new URL('file:///a.jpg'));
const kept: Uint32Array = nms(new Float32Array(4), new Float32Array(1), { iouThreshold: 0.5 });
const code: YoloErrorCode = 'ERR_YOLO_CLOSED';
// @ts-expect-error an option that does not exist
await Detector.create({ confidenceTreshold: 0.4 });
await detector.close();
`;
    const imports = `import { Detector, type Detection, type YoloErrorCode } from 'migraphx-yolo';\nimport { nms } from 'migraphx-yolo/core';\n`;
    writeFileSync(join(consumer, 'use.mts'), `${imports}${use}export { sides, names, kept, code };\n`);
    const requires = `import yolo = require('migraphx-yolo');\nimport core = require('migraphx-yolo/core');\nimport Detector = yolo.Detector;\nimport nms = core.nms;\ntype Detection = yolo.Detection;\ntype YoloErrorCode = yolo.YoloErrorCode;\n`;
    writeFileSync(
      join(consumer, 'use.cts'),
      `${requires}export async function use() {${use}return { sides, names, kept, code };\n}\n`,
    );
    const compilerOptions = {
      module: 'NodeNext',
      target: 'ES2022',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    };
    writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.mts', 'use.cts'] }));
    const { code, stdout } = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  });

  it('has the command', async () => {
    expect((await runOk('npx', ['--no-install', 'migraphx-yolo', '--version'])).trim()).toBe(version);
    const { code, stdout } = await run('npx', ['--no-install', 'migraphx-yolo', 'detect', PHOTO, '--json']);
    expect(code).toBe(0);
    expect(stdout).toContain('airplane');
    expect(() => JSON.parse(stdout)).not.toThrow();
    const failed = await run('npx', ['--no-install', 'migraphx-yolo', 'detect', join(folder, 'nowhere.jpg')]);
    expect(failed.code).not.toBe(0);
    expect(failed.stderr).toContain('nowhere.jpg');
  });

  it('is bundled into an application that keeps the worker beside it', async () => {
    const source = `import { Detector } from 'migraphx-yolo';
const detector = await Detector.create({ threads: 1, workerFile: new URL('./onnxruntime-worker.mjs', import.meta.url) });
console.log(JSON.stringify([...(await detector.detect(${JSON.stringify(PHOTO)}))].map((one) => one.label)));
`;
    writeFileSync(join(consumer, 'app.mjs'), source);
    const tsup = join(root, 'node_modules/tsup/dist/cli-default.js');
    const bundling = [
      'app.mjs',
      '--format',
      'esm',
      '--out-dir',
      'bundle',
      '--no-config',
      '--no-external',
      'migraphx-yolo',
    ];
    await runOk(process.execPath, [tsup, ...bundling, '--external', 'sharp', '--target', 'node20']);
    cpSync(
      join(consumer, 'node_modules/migraphx-yolo/dist/onnxruntime-worker.mjs'),
      join(consumer, 'bundle/onnxruntime-worker.mjs'),
    );
    const { code, stdout, stderr } = await run(process.execPath, ['bundle/app.js']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(labels(stdout)).toEqual(AEROPLANE);
  });
});
