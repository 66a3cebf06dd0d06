/**
 * Times functions interleaved, one of each in turn, so that a busy machine slows them alike.
 * @param {Record<string, () => unknown>} subjects
 * @param {{ rounds?: number, warmup?: number }} options
 * @returns {Record<string, number>} median milliseconds of each
 */
export function interleave(subjects, { rounds = 60, warmup = 15 } = {}) {
  const names = Object.keys(subjects);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (const name of names) {
      const start = performance.now();
      subjects[name]();
      const elapsed = performance.now() - start;
      if (round >= 0) times[name].push(elapsed);
    }
  }
  return Object.fromEntries(names.map((name) => [name, median(times[name])]));
}

/** @param {number[]} values @returns {number} */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A row of a table of results, judged against the most that it may be. */
export function judged(name, value, unit, most) {
  if (most === undefined) return { name, value: shown(value, unit) };
  return { name, value: shown(value, unit), bar: `at most ${most} ${unit}`.trim(), ok: value <= most };
}

/** The same, judged against the least that it may be. */
export function judgedFrom(name, value, unit, least) {
  return { name, value: shown(value, unit), bar: `at least ${least} ${unit}`.trim(), ok: value >= least };
}

function shown(number, unit) {
  return `${number < 10 ? number.toFixed(2) : number.toFixed(1)} ${unit}`.trim();
}
