import { expect, it } from 'vitest';
import { Candidates } from '../../lib/core/candidates.js';

it('holds more boxes than it began with room for, each in its row', () => {
  const candidates = new Candidates();
  for (let n = 0; n < 1000; n++) candidates.push(n, n + 0.25, n + 0.5, n + 0.75, n / 1000, n % 80);
  expect(candidates.length).toBe(1000);
  for (const n of [0, 255, 256, 511, 512, 999]) {
    expect([...candidates.xyxy.subarray(4 * n, 4 * n + 4)]).toEqual([n, n + 0.25, n + 0.5, n + 0.75]);
    expect(candidates.confidence[n]).toBe(Math.fround(n / 1000));
    expect(candidates.classId[n]).toBe(n % 80);
  }
});

it('keeps its memory when it is cleared', () => {
  const candidates = new Candidates();
  for (let n = 0; n < 1000; n++) candidates.push(0, 0, 1, 1, 0.5, 0);
  const { xyxy } = candidates;
  candidates.clear();
  candidates.push(1, 2, 3, 4, 0.5, 7);
  expect(candidates.length).toBe(1);
  expect(candidates.xyxy).toBe(xyxy);
});
