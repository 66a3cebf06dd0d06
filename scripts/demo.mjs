// Detects on the photo that ships with the project, with no model given, and draws the boxes: `npm run demo`.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';

const root = fileURLToPath(new URL('..', import.meta.url));
const photo = join(root, 'assets/aeroplane.jpg');
const drawn = join(root, 'out/demo.png');
const fromHere = (path) => relative(process.cwd(), path);

buildWhereStale();
const { Detector } = await import('../dist/index.js');

const detector = await Detector.create({ allowDownload: true, onProgress: ({ message }) => console.error(message) });
const detections = await detector.detect(photo);
mkdirSync(join(root, 'out'), { recursive: true });
await detections.annotate(drawn);
await detector.close();

const table = new Table({
  head: ['label', 'confidence', 'x1', 'y1', 'x2', 'y2'],
  colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
  style: { head: [], border: [], compact: true },
});
for (const { label, confidence, xyxy } of detections)
  table.push([label, confidence.toFixed(3), ...xyxy.map((side) => side.toFixed(1))]);
const { model, device, fallbackReason } = detector;
console.log(`${fromHere(photo)}, ${detections.image.width}×${detections.image.height}, ${detections.length} objects`);
console.log(table.toString());
console.log(`Model: ${model.name}, ${model.inputWidth}×${model.inputHeight}`);
console.log(`Device: ${device}${fallbackReason === undefined ? '' : ` (${fallbackReason})`}`);
console.log(`Drawn in ${fromHere(drawn)}`);

/** dist/ is made by `npm ci`; a source that was edited since makes it old. */
function buildWhereStale() {
  const library = join(root, 'dist/index.js');
  const sources = readdirSync(join(root, 'lib'), { recursive: true }).map((file) => join(root, 'lib', file));
  const newest = Math.max(...sources.map((file) => statSync(file).mtimeMs));
  if (existsSync(library) && statSync(library).mtimeMs >= newest) return;
  console.error('Building the library');
  const tsup = join(root, 'node_modules/tsup/dist/cli-default.js');
  execFileSync(process.execPath, [tsup, '--silent'], { cwd: root, stdio: 'inherit' });
}
