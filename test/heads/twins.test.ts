import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Candidates } from '../../lib/core/candidates.js';
import { COCO_CATEGORY_IDS } from '../../lib/core/coco-categories.js';
import type { HeadLayout, HeadOutputs } from '../../lib/core/heads/head.js';
import { headNamed } from '../../lib/core/heads/index.js';
import { Random } from './random.js';
import { CELLS, layoutOf, transposed } from './synthetic.js';

// Each twin here makes up random rows as the drawing of a head's file has them, lays them into outputs, and says which boxes they
// are; the head has to find the same ones from the outputs.

/** One row of a drawing: a box in input pixels, a score for each class, and what the row has beside them. */
interface Row {
  box: number[];
  scores: number[];
  extra?: number[];
}
interface Run {
  outputs: HeadOutputs;
  rows: Row[];
  layout?: Partial<HeadLayout>;
}
interface Found {
  classId: number;
  confidence: number;
  box: number[];
  extra: number[];
}
type Twin = (random: Random, classCount: number) => Run;

const f32 = Math.fround;
const range = (length: number) => Array.from({ length }, (_, i) => i);
const isConfident = (score: number, threshold: number) => f32(score) > f32(threshold);

const fromCentre = ([cx, cy, w, h]: number[]) => [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2];
/** Corners of the box before it is turned, each turned about the centre. */
function boundsOfTurned(cx: number, cy: number, w: number, h: number, angle: number): number[] {
  const points = [-1, 1].flatMap((a) =>
    [-1, 1].map((b) => {
      const [dx, dy] = [(a * w) / 2, (b * h) / 2];
      return [cx + dx * Math.cos(angle) - dy * Math.sin(angle), cy + dx * Math.sin(angle) + dy * Math.cos(angle)];
    }),
  );
  const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}
const logistic = (x: number) => f32(0.5 + 0.5 * Math.tanh(x / 2));
/** As scores of which only one counts. */
const only = (classId: number, score: number, classCount: number) =>
  range(classCount).map((id) => (id === classId ? score : -1));

function outputsOf(named: Record<string, [dims: number[], data: ArrayLike<number>]>): HeadOutputs {
  return new Map(
    Object.entries(named).map(([name, [dims, data]]) => {
      expect(data.length).toBe(dims.reduce((a, b) => a * b, 1));
      return [name, { dims, data: Float32Array.from(data) }];
    }),
  );
}

function quickly(head: string, classCount: number, run: Run, threshold: number, multiLabel: boolean): Found[] {
  const into = new Candidates();
  into.multiLabel = multiLabel;
  const layout = { ...layoutOf(head, classCount), outputs: [...run.outputs.keys()], ...run.layout };
  headNamed(head).decode(run.outputs, layout, f32(threshold), into);
  const { xyxy, confidence, classId, extra, extraSize: size } = into;
  return range(into.length).map((i) => ({
    classId: classId[i],
    confidence: confidence[i],
    box: [...xyxy.subarray(4 * i, 4 * i + 4)],
    extra: [...extra.subarray(size * i, size * (i + 1))],
  }));
}

function slowly({ rows }: Run, threshold: number, multiLabel: boolean): Found[] {
  return rows.flatMap(({ box, scores, extra = [] }) => {
    const found = scores
      .map((confidence, classId) => ({ classId, confidence, box, extra }))
      .filter(
        ({ confidence }) =>
          isConfident(confidence, threshold) && [...box, ...extra].every((value) => Number.isFinite(value)),
      );
    if (multiLabel) return found;
    const best = Math.max(...found.map(({ confidence }) => confidence));
    return found.filter(({ confidence }) => confidence === best).slice(0, 1);
  });
}

/** Both ways round the same boxes in the same order, but for the last digits of float32. */
function expectSame(actual: Found[], expected: Found[]): void {
  expect(actual.map(({ classId }) => classId)).toEqual(expected.map(({ classId }) => classId));
  for (const [i, { confidence, box, extra }] of actual.entries()) {
    expect(confidence).toBeCloseTo(expected[i].confidence, 6);
    expectClose(box, expected[i].box);
    expectClose(extra, expected[i].extra);
  }
}

function expectClose(actual: number[], expected: number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [i, value] of actual.entries())
    if (!Object.is(value, expected[i]) && !(Math.abs(value - expected[i]) <= 1e-5 * Math.max(10, Math.abs(value))))
      expect(actual).toEqual(expected);
}

const thresholds = fc.constantFrom(0, 0.001, 0.25, 0.3, 0.5, 0.9);

function check(head: string, twin: Twin, chosen: (found: Found[], run: Run) => Found[] = (found) => found): void {
  let count = 0;
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 4 }), thresholds, fc.boolean(), (seed, classes, least, multi) => {
      const run = twin(new Random(seed), classes);
      const classCount = run.layout?.classCount ?? classes;
      const expected = chosen(slowly(run, least, multi), run);
      expectSame(quickly(head, classCount, run, least, multi), expected);
      count += expected.length;
    }),
    { numRuns: 150 },
  );
  expect(count).toBeGreaterThan(100);
}

/** Values of one row: [0..3] box, then scores. */
const boxAndScores = (random: Random, classCount: number) => [...random.pixels(4), ...random.scores(classCount)];

describe('cells of all strides', () => {
  const columnsOf = (values: number[][]): [number[], Float32Array] => [
    [values[0].length, values.length],
    transposed(values.flat(), values.length, values[0].length),
  ];
  const cells = (random: Random, classCount: number, extraOf: () => number[]) =>
    range(CELLS).map(() => [...boxAndScores(random, classCount), ...extraOf()]);

  it('with mask coefficients', () => {
    check('anchor-free-segment', (random, classCount) => {
      const size = 1 + random.below(5);
      const values = cells(random, classCount, () => random.pixels(size));
      return {
        outputs: outputsOf({ main: columnsOf(values), prototypes: [[size, 2, 2], new Float32Array(4 * size)] }),
        rows: values.map((row) => ({
          box: fromCentre(row),
          scores: row.slice(4, 4 + classCount),
          extra: row.slice(4 + classCount),
        })),
        layout: { extra: { kind: 'mask', size, prototypes: 'prototypes' } },
      };
    });
  });

  it('with keypoints', () => {
    check('anchor-free-pose', (random, classCount) => {
      const points = 1 + random.below(4);
      const dimensions = random.pick([2, 3] as const);
      const values = cells(random, classCount, () => random.pixels(points * dimensions));
      return {
        outputs: outputsOf({ main: columnsOf(values) }),
        rows: values.map((row) => ({
          box: fromCentre(row),
          scores: row.slice(4, 4 + classCount),
          extra: row.slice(4 + classCount),
        })),
        layout: { extra: { kind: 'keypoints', points, dimensions } },
      };
    });
  });

  it('with angles', () => {
    check('anchor-free-obb', (random, classCount) => {
      const values = range(CELLS).map(() => [
        ...random.rotatedBox(),
        ...random.scores(classCount),
        random.orStrange(random.between(-4, 4)),
      ]);
      return {
        outputs: outputsOf({ main: columnsOf(values) }),
        rows: values.map((row) => {
          const [cx, cy, w, h] = row;
          const angle = row[4 + classCount];
          return {
            box: boundsOfTurned(cx, cy, w, h, angle),
            scores: row.slice(4, 4 + classCount),
            extra: [cx, cy, w, h, angle],
          };
        }),
        layout: { extra: { kind: 'rotated' } },
      };
    });
  });

  it('with an objectness of 1', () => {
    check('yolov6', (random, classCount) => {
      const values = range(CELLS).map(() => [...random.pixels(4), 1, ...random.scores(classCount)]);
      return {
        outputs: outputsOf({ main: [[CELLS, 5 + classCount], values.flat()] }),
        rows: values.map((row) => ({ box: fromCentre(row), scores: row.slice(5) })),
      };
    });
  });

  it('as corners, score and class', () => {
    check('unsorted-rows', (random, classCount) => {
      const values = range(CELLS).map(() => [...random.pixels(4), random.score(), random.below(classCount)]);
      return {
        outputs: outputsOf({ main: [[CELLS, 6], values.flat()] }),
        rows: values.map((row) => ({ box: row.slice(0, 4), scores: only(row[5], row[4], classCount) })),
      };
    });
  });
});

describe('suppressed rows', () => {
  const rowsOf = (random: Random, classCount: number, boxOf: () => number[], extraOf: () => number[]) =>
    range(random.below(30)).map(() => [...boxOf(), random.score(), random.below(classCount), ...extraOf()]);
  const main = (values: number[][], columns: number): [number[], number[]] => [[values.length, columns], values.flat()];

  it('with mask coefficients', () => {
    check('end-to-end-segment', (random, classCount) => {
      const size = 1 + random.below(5);
      const values = rowsOf(
        random,
        classCount,
        () => random.pixels(4),
        () => random.pixels(size),
      );
      return {
        outputs: outputsOf({ main: main(values, 6 + size), prototypes: [[size, 2, 2], new Float32Array(4 * size)] }),
        rows: values.map((row) => ({
          box: row.slice(0, 4),
          scores: only(row[5], row[4], classCount),
          extra: row.slice(6),
        })),
        layout: { extra: { kind: 'mask', size, prototypes: 'prototypes' } },
      };
    });
  });

  it('with keypoints', () => {
    check('end-to-end-pose', (random, classCount) => {
      const points = 1 + random.below(4);
      const dimensions = random.pick([2, 3] as const);
      const values = rowsOf(
        random,
        classCount,
        () => random.pixels(4),
        () => random.pixels(points * dimensions),
      );
      return {
        outputs: outputsOf({ main: main(values, 6 + points * dimensions) }),
        rows: values.map((row) => ({
          box: row.slice(0, 4),
          scores: only(row[5], row[4], classCount),
          extra: row.slice(6),
        })),
        layout: { extra: { kind: 'keypoints', points, dimensions } },
      };
    });
  });

  it('with angles', () => {
    check('end-to-end-obb', (random, classCount) => {
      const values = rowsOf(
        random,
        classCount,
        () => random.rotatedBox(),
        () => [random.orStrange(random.between(-4, 4))],
      );
      return {
        outputs: outputsOf({ main: main(values, 7) }),
        rows: values.map(([cx, cy, w, h, score, classId, angle]) => ({
          box: boundsOfTurned(cx, cy, w, h, angle),
          scores: only(classId, score, classCount),
          extra: [cx, cy, w, h, angle],
        })),
        layout: { extra: { kind: 'rotated' } },
      };
    });
  });

  it.each([
    { head: 'nms-flat', row: (box: number[], score: number, id: number) => [0, ...box, id, score] },
    { head: 'nms-flat-score-class', row: (box: number[], score: number, id: number) => [0, ...box, score, id] },
    { head: 'nms-flat-box-last', row: (box: number[], score: number, id: number) => [0, id, score, ...box] },
    { head: 'paddle-rows', row: (box: number[], score: number, id: number) => [id, score, ...box] },
  ])('of one table for all pictures: $head', ({ head, row }) => {
    check(head, (random, classCount) => {
      const found = range(random.below(20)).map(() => ({
        box: random.pixels(4),
        score: random.score(),
        // -1 stands for nothing.
        id: random.below(classCount + 1) - 1,
      }));
      const columns = row([0, 0, 0, 0], 0, 0).length;
      const table = found.flatMap(({ box, score, id }) => row(box, score, id));
      return {
        outputs: outputsOf({ table: [[found.length, columns], table], count: [[1], [found.length]] }),
        rows: found.map(({ box, score, id }) => ({ box, scores: only(id, score, classCount) })),
      };
    });
  });

  it('of four outputs, as many as are counted', () => {
    check('nms-counted', (random, classCount) => {
      const count = random.below(25);
      const rows = 1 + random.below(20);
      const boxes = range(rows).map(() => random.pixels(4));
      const scores = random.scores(rows);
      // What lies beyond the count is never looked at, so that a class which is none is no error there.
      const classes = range(rows).map((row) => (row < count ? random.below(classCount) : -1));
      return {
        outputs: outputsOf({
          count: [[1], [count]],
          boxes: [[rows, 4], boxes.flat()],
          scores: [[rows], scores],
          classes: [[rows], classes],
        }),
        rows: boxes.map((box, row) => ({ box, scores: only(classes[row], scores[row], classCount) })).slice(0, count),
      };
    });
  });

  it('of boxes with scores, and labels', () => {
    check('nms-dets-labels', (random, classCount) => {
      const rows = random.below(20);
      const dets = range(rows).map(() => [...random.pixels(4), random.score()]);
      const labels = range(rows).map(() => random.below(classCount));
      return {
        outputs: outputsOf({ dets: [[rows, 5], dets.flat()], labels: [[rows], labels] }),
        rows: dets.map((row, i) => ({ box: row.slice(0, 4), scores: only(labels[i], row[4], classCount) })),
      };
    });
  });
});

/** Inputs that are wider than high, and no whole number of strides. */
const WIDE = { inputWidth: 72, inputHeight: 40 };
const levelsOf = ({ inputWidth, inputHeight }: typeof WIDE, strides: number[]) =>
  strides.map((stride) => ({ stride, across: Math.ceil(inputWidth / stride), down: Math.ceil(inputHeight / stride) }));

describe('maps of each stride', () => {
  const input = { inputWidth: 96, inputHeight: 32 };
  const anchors = [
    [10, 13, 16, 30],
    [30, 61, 62, 45],
    [116, 90, 156, 198],
  ];

  it.each([{ head: 'anchor-maps' }, { head: 'anchor-maps-channels' }])('with anchors: $head', ({ head }) => {
    check(head, (random, classCount) => {
      const levels = levelsOf(input, [8, 16, 32]);
      const rows: Row[] = [];
      const named: Record<string, [number[], number[]]> = {};
      for (const [level, { stride, across, down }] of levels.entries()) {
        const values = 5 + classCount;
        const map: number[] = new Array(2 * values * across * down);
        for (const anchor of [0, 1]) {
          for (const y of range(down)) {
            for (const x of range(across)) {
              const logits = random.logits(values);
              for (const [k, logit] of logits.entries()) {
                const at =
                  head === 'anchor-maps'
                    ? ((anchor * down + y) * across + x) * values + k
                    : ((anchor * values + k) * down + y) * across + x;
                map[at] = logit;
              }
              const s = logits.map(logistic);
              const w = (2 * s[2]) ** 2 * anchors[level][2 * anchor];
              const h = (2 * s[3]) ** 2 * anchors[level][2 * anchor + 1];
              rows.push({
                box: fromCentre([(2 * s[0] - 0.5 + x) * stride, (2 * s[1] - 0.5 + y) * stride, w, h]),
                scores: s.slice(5).map((score) => f32(s[4] * score)),
              });
            }
          }
        }
        named[`map${level}`] = [head === 'anchor-maps' ? [2, down, across, values] : [2 * values, down, across], map];
      }
      return { outputs: outputsOf(named), rows, layout: { ...input, anchors } };
    });
  });

  const mean = (logits: number[]) => {
    const weights = logits.map(Math.exp);
    return weights.reduce((sum, weight, bin) => sum + weight * bin, 0) / weights.reduce((a, b) => a + b, 0);
  };
  const around = (x: number, y: number, [left, top, right, bottom]: number[]) => [
    x - left,
    y - top,
    x + right,
    y + bottom,
  ];

  /** Rows of cells, as tables [cells, columns] or as maps [columns, h, w]. */
  function distances(
    random: Random,
    classCount: number,
    columns: number,
    isMap: boolean,
    rowOf: (values: number[], stride: number, x: number, y: number) => number[],
    areLogits: boolean,
  ): Run {
    const levels = levelsOf(WIDE, [8, 16, 32]);
    const rows: Row[] = [];
    const classes: Record<string, [number[], ArrayLike<number>]> = {};
    const sides: Record<string, [number[], ArrayLike<number>]> = {};
    for (const { stride, across, down } of levels) {
      const cells = across * down;
      const scores = range(cells).map(() => (areLogits ? random.logits(classCount) : random.scores(classCount)));
      const values = range(cells).map(() => (isMap && areLogits ? random.pixels(columns) : random.logits(columns)));
      for (const cell of range(cells))
        rows.push({
          box: rowOf(values[cell], stride, cell % across, Math.floor(cell / across)),
          scores: areLogits ? scores[cell].map(logistic) : scores[cell],
        });
      const output = (table: number[][], width: number): [number[], ArrayLike<number>] =>
        isMap ? [[width, down, across], transposed(table.flat(), cells, width)] : [[cells, width], table.flat()];
      classes[`classes${stride}`] = output(scores, classCount);
      sides[`distances${stride}`] = output(values, columns);
    }
    return { outputs: outputsOf({ ...classes, ...sides }), rows, layout: WIDE };
  }

  const fromMiddle = (bins: number) => (values: number[], stride: number, x: number, y: number) =>
    around(
      (x + 0.5) * stride,
      (y + 0.5) * stride,
      range(4).map((side) => mean(values.slice(side * bins, (side + 1) * bins)) * stride),
    );

  it('with distances in bins, a row a cell', () => {
    check('nanodet', (random, classCount) => {
      const bins = random.pick([4, 8, 11]);
      return distances(random, classCount, 4 * bins, false, fromMiddle(bins), false);
    });
  });

  it('with distances in bins, as maps', () => {
    check('distance-bins', (random, classCount) => distances(random, classCount, 64, true, fromMiddle(16), false));
  });

  it('with distances in pixels', () => {
    check('rtmdet', (random, classCount) =>
      distances(random, classCount, 4, true, (values, stride, x, y) => around(x * stride, y * stride, values), true),
    );
  });
});

describe('queries', () => {
  const inPixels = (box: number[]) =>
    fromCentre([
      box[0] * WIDE.inputWidth,
      box[1] * WIDE.inputHeight,
      box[2] * WIDE.inputWidth,
      box[3] * WIDE.inputHeight,
    ]);

  it('with score and class', () => {
    check('rt-detr', (random, classCount) => {
      const values = range(random.below(20)).map(() => [
        ...random.fractions(4),
        random.score(),
        random.below(classCount),
      ]);
      return {
        outputs: outputsOf({ main: [[values.length, 6], values.flat()] }),
        rows: values.map((row) => ({ box: inPixels(row), scores: only(row[5], row[4], classCount) })),
        layout: WIDE,
      };
    });
  });

  it('with a score for each class', () => {
    check('rt-detr-rows', (random, classCount) => {
      const values = range(1 + random.below(20)).map(() => [...random.fractions(4), ...random.scores(classCount)]);
      return {
        outputs: outputsOf({ main: [[values.length, 4 + classCount], values.flat()] }),
        rows: values.map((row) => ({ box: inPixels(row), scores: row.slice(4) })),
        layout: WIDE,
      };
    });
  });

  it.each([
    { head: 'detr', classCount: 7, labelOf: (classId: number) => classId },
    { head: 'detr-coco-ids', classCount: 80, labelOf: (classId: number) => COCO_CATEGORY_IDS[classId] },
  ])('with label, corners and score: $head', ({ head, classCount, labelOf }) => {
    check(head, (random) => {
      const rows = range(random.below(20)).map(() => ({
        id: random.below(classCount),
        box: random.pixels(4),
        score: random.score(),
      }));
      return {
        outputs: outputsOf({
          labels: [[rows.length], rows.map(({ id }) => labelOf(id))],
          boxes: [[rows.length, 4], rows.flatMap(({ box }) => box)],
          scores: [[rows.length], rows.map(({ score }) => score)],
        }),
        rows: rows.map(({ box, id, score }) => ({ box, scores: only(id, score, classCount) })),
        layout: { classCount },
      };
    });
  });

  /** Columns of logits: the classes as they are, or by COCO's category ids. */
  const columnsOf = (random: Random, classCount: number): { classCount: number; columns: (number | undefined)[] } => {
    if (random.below(4) > 0) return { classCount, columns: range(classCount) };
    const classes = new Map(COCO_CATEGORY_IDS.map((category, classId) => [category, classId]));
    return { classCount: 80, columns: range(91).map((category) => classes.get(category)) };
  };

  it('with logits: of all pairs the best, as many as there are queries', () => {
    const best = (found: Found[], { outputs }: Run): Found[] => {
      const most = outputs.get('boxes')?.dims[0] ?? 0;
      const ranked = [...found].sort((a, b) => b.confidence - a.confidence);
      const kept = new Set(ranked.slice(0, most));
      return found.filter((one) => kept.has(one));
    };
    const twin: Twin = (random, classes) => {
      const { classCount, columns } = columnsOf(random, classes);
      const boxes = range(1 + random.below(6)).map(() => random.fractions(4));
      const logits = boxes.map(() => random.logits(columns.length));
      return {
        outputs: outputsOf({
          logits: [[boxes.length, columns.length], logits.flat()],
          boxes: [[boxes.length, 4], boxes.flat()],
        }),
        // A row for each pair, so that all of them count whether or not a box has many labels.
        rows: boxes.flatMap((box, query) =>
          columns.flatMap((classId, column) =>
            classId === undefined
              ? []
              : [{ box: inPixels(box), scores: only(classId, logistic(logits[query][column]), classCount) }],
          ),
        ),
        layout: { ...WIDE, classCount },
      };
    };
    check('detr-logits', twin, best);
  });

  it('with logits that have one for nothing', () => {
    check('detr-softmax', (random, classes) => {
      const { classCount, columns } = columnsOf(random, classes);
      const boxes = range(1 + random.below(12)).map(() => random.fractions(4));
      const logits = boxes.map(() => random.logits(columns.length + 1));
      return {
        outputs: outputsOf({
          logits: [[boxes.length, columns.length + 1], logits.flat()],
          boxes: [[boxes.length, 4], boxes.flat()],
        }),
        rows: boxes.map((box, query) => {
          const weights = logits[query].map(Math.exp);
          const all = weights.reduce((a, b) => a + b, 0);
          const scores: number[] = [];
          for (const [column, classId] of columns.entries())
            if (classId !== undefined) scores[classId] = f32(weights[column] / all);
          return { box: inPixels(box), scores };
        }),
        layout: { ...WIDE, classCount },
      };
    });
  });

  it.each([
    { head: 'split-boxes', toPixels: (box: number[]) => box },
    {
      head: 'split-boxes-fractions',
      toPixels: (box: number[]) => box.map((value, i) => value * (i % 2 === 0 ? WIDE.inputWidth : WIDE.inputHeight)),
    },
  ])('or cells, with boxes and scores in two outputs: $head', ({ head, toPixels }) => {
    check(head, (random, classCount) => {
      // Never as many as classes, which would leave open which way round scores lie.
      const count = 5 + random.below(20);
      const boxes = range(count).map(() => (head === 'split-boxes' ? random.pixels(4) : random.fractions(4)));
      const scores = boxes.map(() => random.scores(classCount));
      const byClass = random.below(2) === 0;
      return {
        outputs: outputsOf({
          boxes: [
            random.pick([
              [count, 4],
              [count, 1, 4],
            ]),
            boxes.flat(),
          ],
          scores: byClass
            ? [[classCount, count], transposed(scores.flat(), count, classCount)]
            : [[count, classCount], scores.flat()],
        }),
        rows: boxes.map((box, row) => ({ box: toPixels(box), scores: scores[row] })),
        layout: WIDE,
      };
    });
  });
});
