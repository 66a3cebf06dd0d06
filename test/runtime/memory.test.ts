import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { slowModel } from '../support/slow-model.js';

const folder = mkdtempSync(join(tmpdir(), 'yolo-memory-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('a thousand calls at once with 1080p JPEGs hold a handful of decoded pictures', () => {
  const model = join(folder, 'slow.onnx');
  writeFileSync(model, slowModel(1));
  const script = `
    import { Detector } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
    import sharp from 'sharp';
    const jpeg = await sharp({ create: { width: 1920, height: 1080, channels: 3, background: 'teal' } }).jpeg().toBuffer();
    const detector = await Detector.create({ model: ${JSON.stringify(model)}, lanes: 2, threads: 1, postprocessor: { name: 'none', decode: () => 1 } });
    await Promise.all(Array.from({ length: 10 }, () => detector.detect(jpeg)));
    const before = process.memoryUsage.rss();
    let peak = 0;
    const watch = setInterval(() => { peak = Math.max(peak, process.memoryUsage.rss()); }, 5);
    const results = await Promise.all(Array.from({ length: 1000 }, () => detector.detect(jpeg)));
    clearInterval(watch);
    console.log(JSON.stringify({ done: results.length, grownMiB: (peak - before) / 2 ** 20, ...detector.stats() }));
    await detector.close();`;
  const root = new URL('../..', import.meta.url);
  const stats = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: root, encoding: 'utf8' }),
  );
  expect(stats).toMatchObject({ done: 1000, queued: 0, decoded: 0 });
  expect(stats.decodedHighWater).toBe(3);
  // All of them decoded at once would be 6,000 MiB.
  expect(stats.grownMiB).toBeLessThan(400);
});
