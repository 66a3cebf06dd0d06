import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CsvOptions, Detections } from '../../lib/detections.js';
import { YoloError } from '../../lib/errors.js';

const image = { width: 640, height: 480 };
type Row = [x1: number, y1: number, x2: number, y2: number, confidence: number, classId: number];

function detectionsOf(rows: readonly Row[], labels: readonly string[] = ['cat', 'dog', 'owl'], source?: string) {
  return Detections.from(
    {
      xyxy: Float32Array.from(rows.flatMap((row) => row.slice(0, 4))),
      confidence: Float32Array.from(rows, (row) => row[4]),
      classId: Int32Array.from(rows, (row) => row[5]),
    },
    { labels, image, source },
  );
}

const some = (source?: string) =>
  detectionsOf(
    [
      [64, 48, 192, 144, 0.875, 1],
      [-10, 240, 320, 500, 0.5, 0],
    ],
    undefined,
    source,
  );

const coordinate = fc.float({ min: -50, max: 700, noNaN: true });
const anyRow: fc.Arbitrary<Row> = fc
  .tuple(
    coordinate,
    coordinate,
    coordinate,
    coordinate,
    fc.float({ min: 0, max: 1, noNaN: true }),
    fc.integer({ min: 0, max: 2 }),
  )
  .map(([x1, y1, x2, y2, confidence, classId]) => [
    Math.min(x1, x2),
    Math.min(y1, y2),
    Math.max(x1, x2),
    Math.max(y1, y2),
    confidence,
    classId,
  ]);

function refusal(body: () => unknown): YoloError {
  try {
    body();
  } catch (error) {
    if (YoloError.is(error, 'ERR_YOLO_INVALID_ARGUMENT')) return error;
  }
  throw new Error('Expected ERR_YOLO_INVALID_ARGUMENT');
}

describe('toYolo()', () => {
  it('writes class, centre and size in shares of the picture, cut off at its border', () => {
    expect(some().toYolo()).toBe('1 0.200000 0.200000 0.200000 0.200000\n0 0.250000 0.750000 0.500000 0.500000\n');
    expect(some().toYolo({ includeConfidence: true })).toBe(
      '1 0.200000 0.200000 0.200000 0.200000 0.875000\n0 0.250000 0.750000 0.500000 0.500000 0.500000\n',
    );
    expect(detectionsOf([]).toYolo()).toBe('');
  });

  it('gives the boxes back, to a thousandth of a pixel, whatever they are', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 10 }), (rows) => {
        const detections = detectionsOf(rows);
        const lines = detections.toYolo({ includeConfidence: true }).split('\n').slice(0, -1);
        expect(lines.length).toBe(rows.length);
        for (const [index, line] of lines.entries()) {
          const [classId, cx, cy, width, height, confidence] = line.split(' ').map(Number) as Row;
          for (const number of [cx, cy, width, height]) expect(number >= 0 && number <= 1).toBe(true);
          const { xyxy, ...other } = detections.at(index)!;
          expect(classId).toBe(other.classId);
          expect(confidence).toBeCloseTo(other.confidence, 5);
          const back = [cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2];
          for (const [at, side] of back.entries()) {
            const length = at % 2 === 0 ? image.width : image.height;
            expect(Math.abs(side * length - Math.max(0, Math.min(xyxy[at]!, length)))).toBeLessThan(1e-3);
          }
        }
      }),
    );
  });

  it('refuses other options', () => {
    expect(refusal(() => some().toYolo({ confidence: true } as never)).message).toContain('Unknown key "confidence"');
    expect(refusal(() => some().toYolo({ includeConfidence: 1 as never })).message).toContain('true or false');
  });
});

/** The fields of a CSV file by RFC 4180, read character by character. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (isQuoted) {
      if (character !== '"') field += character;
      else if (text[at + 1] === '"') {
        field += '"';
        at++;
      } else isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === ',') {
      row.push(field);
      field = '';
    } else if (character === '\r' && text[at + 1] === '\n') {
      rows.push([...row, field]);
      row = [];
      field = '';
      at++;
    } else field += character;
  }
  expect([row, field, isQuoted]).toEqual([[], '', false]);
  return rows;
}

const HEADER = 'file,label,classId,confidence,x1,y1,x2,y2\r\n';

describe('toCsv()', () => {
  it('writes a row for each detection under the names of the columns', () => {
    expect(some('photos/a.jpg').toCsv()).toBe(
      `${HEADER}photos/a.jpg,dog,1,0.875,64,48,192,144\r\nphotos/a.jpg,cat,0,0.5,-10,240,320,500\r\n`,
    );
    expect(some().toCsv({ header: false })).toBe(',dog,1,0.875,64,48,192,144\r\n,cat,0,0.5,-10,240,320,500\r\n');
    expect(some('a.jpg').toCsv({ file: 'b.jpg', header: false })).toMatch(/^b\.jpg,/);
    expect(some('https://me:secret@cameras.example/1.jpg?token=secret').toCsv({ header: false })).toMatch(
      /^https:\/\/cameras\.example\/1\.jpg\?\.\.\.,/,
    );
    expect(detectionsOf([]).toCsv()).toBe(HEADER);
  });

  it('joins several pictures under one line of names', () => {
    const [a, b] = [some('a.jpg'), some('b.jpg')];
    const joined = a.toCsv() + b.toCsv({ header: false });
    const byFile = new Map([
      ['a.jpg', a],
      ['b.jpg', b],
    ]);
    expect(Detections.toCsv(byFile)).toBe(joined);
    expect(Detections.toCsv(Object.entries(Object.fromEntries(byFile)))).toBe(joined);
    expect(Detections.toCsv([])).toBe(HEADER);
    expect(HEADER + Detections.toCsv(byFile, { header: false })).toBe(joined);
  });

  it('gives every name back through a reader of RFC 4180, and the numbers of toJSON()', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({ unit: fc.constantFrom(...'",;\r\n\t=a'), minLength: 1 }),
    );
    fc.assert(
      fc.property(
        fc.array(anyRow, { maxLength: 5 }),
        name,
        fc.array(name, { minLength: 3, maxLength: 3 }),
        (rows, file, labels) => {
          const detections = detectionsOf(rows, labels);
          const [header, ...read] = parseCsv(detections.toCsv({ file, escapeFormulas: false }));
          expect(header).toEqual(HEADER.trim().split(','));
          const { detections: expected } = detections.toJSON();
          expect(read).toEqual(
            expected.map(({ label, classId, confidence, xyxy }) => [
              file,
              label,
              ...[classId, confidence, ...xyxy].map(String),
            ]),
          );
          for (const [, , classId, ...others] of read)
            expect([classId, ...others].every((number) => Number.isFinite(Number(number)))).toBe(true);
        },
      ),
    );
  });

  it.each(['=1+1', '+1', '-dash.jpg', '@SUM(A1)', '\t=1', ' =1', '\r\n=1', '＝1', '=HYPERLINK("http://a", "b")'])(
    'lets no spreadsheet take %j for a formula',
    (name) => {
      const one = (options: CsvOptions) => parseCsv(detectionsOf([[0, 0, 1, 1, 0.5, 0]], [name]).toCsv(options))[1]!;
      expect(one({ file: name }).slice(0, 2)).toEqual([`'${name}`, `'${name}`]);
      expect(one({ file: name, escapeFormulas: false }).slice(0, 2)).toEqual([name, name]);
    },
  );

  it('keeps names that are no formulas, and coordinates below zero', () => {
    const [file, label, , , x1] = parseCsv(
      detectionsOf([[-3, 0, 1, 1, 0.5, 0]], ["o'clock=2"]).toCsv({ file: 'a-b.jpg' }),
    )[1]!;
    expect([file, label, x1]).toEqual(['a-b.jpg', "o'clock=2", '-3']);
  });

  it('refuses what is no picture and other options', () => {
    const misuse: [() => unknown, RegExp][] = [
      [() => some().toCsv({ name: 'a' } as never), /Unknown key "name"/],
      [() => some().toCsv({ file: 5 as never }), /Expected file to be a string/],
      [() => Detections.toCsv(undefined as never), /given detections by file/],
      [
        () => Detections.toCsv([some()] as never),
        /\[file, detections\] of each picture but received an object \(Detections\)/,
      ],
      [() => Detections.toCsv([5] as never), /but received 5/],
      [() => Detections.toCsv([[1, some()]] as never), /Expected file to be a string/],
      [() => Detections.toCsv([], { file: 'a' } as never), /Unknown key "file"/],
    ];
    for (const [body, message] of misuse) expect(refusal(body).message).toMatch(message);
  });
});
