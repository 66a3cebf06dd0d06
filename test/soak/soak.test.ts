import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { channelMeter } from '../support/channel-meter.js';

/** `npm run soak` sets it; without, a few seconds' worth of the same. */
const isFull = process.env.SOAK === 'full';
const [CALLS, CYCLES] = isFull ? [5000, 200] : [240, 12];
/**
 * What the last third of the samples may hold, as a share of what the first third did. Memory of native code settles after some
 * ten thousand calls only: until then it grows by a few hundredths. A leak of 10 KB a call would be beyond the limit.
 */
const MOST = isFull ? { heap: 1.05, rss: 1.15 } : { heap: 1.15, rss: 1.3 };

interface Holdings {
  readonly heapUsed: number;
  readonly external: number;
  readonly arrayBuffers: number;
  readonly rss: number;
  /** null where the system does not tell. */
  readonly threads: number | null;
  readonly resources: readonly string[];
}

interface Report {
  readonly before: Holdings;
  readonly ofCalls: readonly Holdings[];
  readonly ofCycles: readonly Holdings[];
  readonly after: Holdings;
  readonly failed: number;
  readonly stats: { readonly queued: number; readonly decoded: number; readonly lanesReplaced: number };
}

const folder = mkdtempSync(join(tmpdir(), 'yolo-soak-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function soaked(): Promise<Report> {
  const [model, photo] = [join(folder, 'meter.onnx'), join(folder, 'photo.jpg')];
  writeFileSync(model, channelMeter());
  await sharp({ create: { width: 320, height: 240, channels: 3, background: 'teal' } }).toFile(photo);
  const script = fileURLToPath(new URL('soak.mjs', import.meta.url));
  const args = ['--expose-gc', script, model, photo, String(CALLS), String(CYCLES)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
  return JSON.parse(stdout);
}

/** The median of the last third of the samples by that of the first third. */
function growth(samples: readonly Holdings[], kind: 'heapUsed' | 'external' | 'rss' | 'threads'): number {
  const third = Math.floor(samples.length / 3);
  const median = (some: readonly Holdings[]) => some.map((one) => one[kind] ?? 1).sort((a, b) => a - b)[third >> 1]!;
  return median(samples.slice(-third)) / median(samples.slice(0, third));
}

describe(`a process, over ${CALLS} calls of one detector and ${CYCLES} detectors made and closed`, async () => {
  const report = await soaked();
  const phases = Object.entries({ calls: report.ofCalls, cycles: report.ofCycles });

  for (const [phase, samples] of phases) {
    it(`holds no more of the heap and of memory after the ${phase} than at their beginning`, () => {
      const ratios = {
        heap: growth(samples, 'heapUsed'),
        external: growth(samples, 'external'),
        rss: growth(samples, 'rss'),
        threads: growth(samples, 'threads'),
      };
      if (isFull) console.log(phase, ratios);
      expect(ratios.heap).toBeLessThan(MOST.heap);
      expect(ratios.external).toBeLessThan(MOST.heap);
      expect(ratios.rss).toBeLessThan(MOST.rss);
    });

    it(`has the same handles after each part of the ${phase}, and no more threads`, () => {
      for (const { resources } of samples) expect(resources).toEqual(samples[0]!.resources);
      // Not the same number: the picture decoder's own pool has now one more, now one less.
      expect(growth(samples, 'threads')).toBeLessThan(1.15);
    });
  }

  it('waits for nothing once all is closed', () => {
    expect(report.after.resources).toEqual(report.before.resources);
    expect(report.stats).toMatchObject({ queued: 0, decoded: 0, lanesReplaced: 0 });
    expect(report.failed).toBeGreaterThan(CALLS / 12);
  });
});
