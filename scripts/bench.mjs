// Runs every benchmark of test/bench in a process of its own, prints its rows, and writes docs/performance.md.
// `npm run bench -- nms decode` runs some of them and writes nothing.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';

const folder = new URL('../test/bench/', import.meta.url);
const page = new URL('../docs/performance.md', import.meta.url);
const wanted = process.argv.slice(2);
const MARK = '<!-- figures: written by `npm run bench` -->';

const names = readdirSync(folder)
  .filter((file) => file.endsWith('.mjs') && !['inputs.mjs', 'measure.mjs'].includes(file))
  .map((file) => file.slice(0, -'.mjs'.length))
  .filter((name) => wanted.length === 0 || wanted.includes(name))
  .sort();

let markdown = `${MARK}\n\n${machine()}\n`;
let missed = 0;
for (const name of names) {
  const { title, rows } = runOne(name);
  const table = new Table({ head: [title, 'measured', 'bar', ''], style: { head: [], border: [], compact: true } });
  markdown += `\n### ${title}\n\n| what | measured | bar |\n|---|---|---|\n`;
  for (const row of rows) {
    if (row.ok === false) missed++;
    table.push([row.name, row.value, row.bar ?? '', row.ok === undefined ? '' : row.ok ? 'met' : 'MISSED']);
    markdown += `| ${row.name} | ${row.value} | ${row.bar ?? ''} |\n`;
  }
  console.log(table.toString());
}
if (wanted.length === 0) {
  const text = readFileSync(page, 'utf8');
  writeFileSync(page, `${text.slice(0, text.indexOf(MARK))}${markdown}`);
  console.log('Written to docs/performance.md');
}
if (missed > 0) {
  console.error(`${missed} bars missed`);
  process.exitCode = 1;
}

/** Its rows travel over file descriptor 3, so that whatever it prints is seen as it is. */
function runOne(name) {
  const file = new URL(`${name}.mjs`, folder).href;
  const code = `import { writeSync } from 'node:fs'; const { run } = await import(${JSON.stringify(file)}); writeSync(3, JSON.stringify(await run()));`;
  const child = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', code], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    maxBuffer: 1 << 26,
  });
  if (child.status !== 0) throw new Error(`Benchmark ${name} ended with ${child.status ?? child.signal}`);
  return JSON.parse(child.output[3].toString());
}

function machine() {
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${new Date().toISOString().slice(0, 10)}: ${cpus()[0].model.trim()}, ${availableParallelism()} processors, ${memory} GiB, Linux ${release().split('-')[0]}, Node ${process.version}.`;
}
