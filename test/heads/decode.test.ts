import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Candidates } from '../../lib/core/candidates.js';
import { HEADS, headNamed } from '../../lib/core/heads/index.js';
import { YoloError } from '../../lib/errors.js';
import { CELLS, layoutOf, outputOf, transposed } from './synthetic.js';

type Row = [x1: number, y1: number, x2: number, y2: number, confidence: number, classId: number];

function decode(head: string, dims: number[], data: ArrayLike<number>, classCount: number, threshold: number): Row[] {
  const into = new Candidates();
  headNamed(head).decode(outputOf(dims, data), layoutOf(head, classCount), Math.fround(threshold), into);
  return Array.from({ length: into.length }, (_, i) => [
    ...(into.xyxy.subarray(4 * i, 4 * i + 4) as unknown as [number, number, number, number]),
    into.confidence[i],
    into.classId[i],
  ]);
}

const f32 = Math.fround;
const corners = (cx: number, cy: number, w: number, h: number) =>
  [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2].map(f32) as [number, number, number, number];
const isNumber = (row: Row) => row.slice(0, 4).every(Number.isFinite);

/** The obvious way: best class of every row, then the threshold. */
function slowly(
  rows: number[][],
  scores: (row: number[]) => number[],
  box: (row: number[], i: number) => number[],
  threshold: number,
) {
  return rows
    .map((row, i): Row => {
      const all = scores(row).map((score) => (Number.isNaN(score) ? -1 : score));
      const best = Math.max(...all);
      const [cx, cy, w, h] = box(row, i);
      return [...corners(cx, cy, w, h), best, all.indexOf(best)];
    })
    .filter((row) => row[4] > f32(threshold) && isNumber(row));
}

const score = fc.oneof(
  fc.float({ min: 0, max: 1, noNaN: true }),
  // Ties and values on the threshold are what goes wrong.
  fc.constantFrom(0, 0.25, f32(0.3), 0.5, 1, Number.NaN),
);
const pixel = fc.oneof(fc.float({ min: -40, max: 80, noNaN: true }), fc.constantFrom(0, Number.NaN, Infinity));
const rowsOf = (count: number, scores: number) =>
  fc.array(
    fc
      .tuple(fc.array(pixel, { minLength: 4, maxLength: 4 }), fc.array(score, { minLength: scores, maxLength: scores }))
      .map((parts) => parts.flat()),
    { minLength: count, maxLength: count },
  );
const threshold = fc.constantFrom(0, 0.001, 0.25, 0.3, 0.5, 0.9);
const objectnessTimesClass = (row: number[]) => row.slice(5).map((value) => f32(row[4] * value));

/** Cells of strides 8, 16, 32 at 32 x 32, in their order. */
const grid = [8, 16, 32].flatMap((stride) =>
  Array.from({ length: (32 / stride) ** 2 }, (_, i) => ({
    stride,
    x: i % (32 / stride),
    y: Math.floor(i / (32 / stride)),
  })),
);

describe('decoding equals a slow and obvious twin', () => {
  it('for anchor-free columns and for anchor-free rows', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }).chain((classes) => rowsOf(CELLS, classes)),
        threshold,
        (rows, least) => {
          const classes = rows[0].length - 4;
          const expected = slowly(
            rows,
            (row) => row.slice(4),
            (row) => row,
            least,
          );
          expect(decode('anchor-free-rows', [CELLS, 4 + classes], rows.flat(), classes, least)).toEqual(expected);
          const columns = transposed(rows.flat(), CELLS, 4 + classes);
          expect(decode('anchor-free', [4 + classes, CELLS], columns, classes, least)).toEqual(expected);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('for three anchors a cell with objectness', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }).chain((classes) => rowsOf(3 * CELLS, 1 + classes)),
        threshold,
        (rows, least) => {
          const classes = rows[0].length - 5;
          expect(decode('anchor-based', [3 * CELLS, 5 + classes], rows.flat(), classes, least)).toEqual(
            slowly(rows, objectnessTimesClass, (row) => row, least),
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  it('for YOLOX, decoded and undecoded', () => {
    const logs = fc.float({ min: -4, max: 5, noNaN: true });
    const rows = fc.array(
      fc
        .tuple(fc.array(logs, { minLength: 4, maxLength: 4 }), fc.array(score, { minLength: 3, maxLength: 3 }))
        .map((parts) => parts.flat()),
      { minLength: CELLS, maxLength: CELLS },
    );
    fc.assert(
      fc.property(rows, threshold, (values, least) => {
        const dims = [CELLS, 7];
        expect(decode('yolox-decoded', dims, values.flat(), 2, least)).toEqual(
          slowly(values, objectnessTimesClass, (row) => row, least),
        );
        const decoded = (row: number[], i: number) => {
          const { stride, x, y } = grid[i];
          return [
            f32((row[0] + x) * stride),
            f32((row[1] + y) * stride),
            f32(Math.exp(row[2])) * stride,
            f32(Math.exp(row[3])) * stride,
          ];
        };
        expect(decode('yolox', dims, values.flat(), 2, least)).toEqual(
          slowly(values, objectnessTimesClass, decoded, least),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('for end-to-end rows', () => {
    const row = fc.tuple(pixel, pixel, pixel, pixel, score, fc.integer({ min: 0, max: 4 }));
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 30 }), threshold, (rows, least) => {
        const expected = rows
          .map((values) => values.map(f32) as Row)
          .filter((values) => values[4] > f32(least) && isNumber(values));
        expect(decode('end-to-end', [rows.length, 6], rows.flat(), 5, least)).toEqual(expected);
      }),
    );
  });
});

/** Columns of a head that takes any number of rows. */
function anyRowsOf(name: string): number | undefined {
  if (name.startsWith('nms-flat')) return 7;
  if (name === 'rt-detr-rows') return 5;
  return /^end-to-end|^rt-detr$|^unsorted-rows|^paddle/.test(name) ? 6 : undefined;
}

describe('decoding', () => {
  it('keeps scores greater than the threshold as float32, not equal ones', () => {
    const atThreshold = f32(0.3);
    expect(decode('end-to-end', [1, 6], [1, 1, 9, 9, atThreshold, 0], 1, 0.3)).toEqual([]);
    expect(decode('end-to-end', [1, 6], [1, 1, 9, 9, atThreshold + 2 ** -25, 0], 1, 0.3)).toHaveLength(1);
  });

  it('drops the rows of zeros that pad an end-to-end output, at any threshold', () => {
    const rows = [1, 2, 3, 4, 0.9, 1, ...new Array(6 * 299).fill(0)];
    for (const least of [0, 0.001, 0.25]) expect(decode('end-to-end', [300, 6], rows, 2, least)).toHaveLength(1);
  });

  it('refuses a class that the labels do not have, naming it and the option', () => {
    for (const classId of [7, -1, Number.NaN])
      expect(() => decode('end-to-end', [1, 6], [1, 2, 3, 4, 0.9, classId], 7, 0.25)).toThrow(
        /class (7|-1|NaN).*`labels`/,
      );
  });

  it('works on as many cells as a larger picture has, after a smaller one', () => {
    const large = { ...layoutOf('anchor-free', 1), inputWidth: 64, inputHeight: 64 };
    const into = new Candidates();
    const cells = 64 + 16 + 4;
    headNamed('anchor-free').decode(outputOf([5, cells], new Float32Array(5 * cells).fill(0.5)), large, 0.25, into);
    expect(into.length).toBe(cells);
  });

  it('refuses sizes that contradict the layout, for every head', () => {
    for (const { name, decode: decodeInto } of HEADS) {
      for (const dims of [
        [7, 7],
        [3],
        [2, 21, 6],
        [CELLS + 1, 8],
        [8, CELLS + 1],
        [5, CELLS + 2],
        [CELLS + 2, 6],
        [CELLS + 2, 5],
      ]) {
        const data = new Float32Array(dims.reduce((a, b) => a * b));
        const attempt = () => decodeInto(outputOf(dims, data), layoutOf(name, 1), 0.25, new Candidates());
        if (dims.length === 2 && anyRowsOf(name) === dims[1]) expect(attempt).not.toThrow();
        else expect(attempt, `${name} ${dims}`).toThrow(expect.objectContaining({ code: 'ERR_YOLO_SHAPE_MISMATCH' }));
      }
      const missing = () => decodeInto(new Map(), layoutOf(name, 1), 0.25, new Candidates());
      expect(missing).toThrow(/no such output/);
      const short = () => decodeInto(outputOf([CELLS, 6], [1, 2, 3]), layoutOf(name, 1), 0.25, new Candidates());
      expect(short).toThrow(YoloError);
    }
  });

  it('knows its heads by name, and lists them where a name is wrong', () => {
    expect(HEADS.map(({ name }) => headNamed(name).name)).toEqual(HEADS.map(({ name }) => name));
    expect(() => headNamed('yolo')).toThrow(/anchor-free.*"yolo"/);
  });
});
