import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
// Inside the package, so that its own name resolves to what is published.
const folder = join(root, 'out/docs-code');

const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(join(root, 'docs')).map((file) => `docs/${file}`)];
const blocks = pages
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code], index) => ({
      name: `${page.replaceAll(/\W/g, '-')}-${index + 1}.mts`,
      code: code!,
    })),
  );

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every block of TypeScript in README and docs compiles against the built package', () => {
  expect(blocks.length).toBeGreaterThan(8);
  mkdirSync(folder, { recursive: true });
  for (const { name, code } of blocks) writeFileSync(join(folder, name), code);
  const program = ts.createProgram(
    blocks.map(({ name }) => join(folder, name)),
    {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
      types: ['node'],
    },
  );
  const problems = ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) =>
        `${file?.fileName.split('/').at(-1)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  expect(problems).toEqual([]);
});

test('every link between the pages leads to a file', () => {
  for (const page of pages.filter((file) => file.endsWith('.md'))) {
    const text = readFileSync(join(root, page), 'utf8');
    const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g)].map(([, target]) =>
      join(root, page, '..', target!),
    );
    for (const target of targets) expect(() => readFileSync(target), `${page} → ${target}`).not.toThrow();
  }
});
