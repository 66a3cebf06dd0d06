import { dirname, parse } from 'node:path';
import Table from 'cli-table3';
import { Detections } from '../index.js';
import { fileNameOf, type Picture } from './pictures.js';
import { printable } from './printable.js';

/** The files that were written for a picture. */
export interface Written {
  /** The annotated copy. */
  readonly drawn?: string;
  /** What was cut out, in the order of the detections. */
  readonly crops?: readonly string[];
  /** The YOLO label file. */
  readonly labelFile?: string;
}

/** What goes to stdout, piece by piece, so that the results of many pictures are never all in memory. */
export interface Report {
  /** Something to know about the results, for stderr. */
  readonly remark?: string;
  readonly begin: string;
  /** Called in the order of the pictures, for those that did not fail. */
  picture(picture: Picture, detections: Detections, written: Written): string;
  end(): string;
}

/** For people: a table a picture, and a line of counts. */
export function tableReport(): Report {
  const counts = new Map<string, number>();
  let pictures = 0;
  return {
    begin: '',
    picture({ name }, detections, { drawn, crops = [], labelFile }) {
      pictures++;
      for (const { label } of detections) counts.set(label, (counts.get(label) ?? 0) + 1);
      const { width, height } = detections.image;
      const copy = drawn === undefined ? '' : `, drawn in ${printable(drawn)}`;
      const cut = crops.length === 0 ? '' : `, cut out into ${printable(dirname(crops[0]!))}`;
      const listed = labelFile === undefined ? '' : `, listed in ${printable(labelFile)}`;
      const heading = `${printable(name)} (${width}×${height}): ${plural(detections.length, 'object')}${copy}${cut}${listed}\n`;
      return detections.length === 0 ? heading : `${heading}${table(detections)}\n`;
    },
    end() {
      const all = [...counts].sort(([, a], [, b]) => b - a);
      const total = all.reduce((sum, [, count]) => sum + count, 0);
      const each = all.map(([label, count]) => `${count} ${printable(label)}`).join(', ');
      return `${plural(pictures, 'picture')}, ${plural(total, 'object')}${each && `: ${each}`}\n`;
    },
  };
}

function table(detections: Detections): string {
  const rows = new Table({
    head: ['label', 'confidence', 'x1', 'y1', 'x2', 'y2'],
    colAligns: ['left', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  });
  for (const { label, confidence, xyxy } of detections)
    rows.push([printable(label), confidence.toFixed(3), ...xyxy.map((side) => side.toFixed(1))]);
  return rows.toString();
}

/** For programs: one JSON array, a line for each picture. */
export function jsonReport(): Report {
  return streamedArray(({ name }, detections, { drawn, crops, labelFile }) => [
    JSON.stringify({ file: name, ...detections.toJSON(), saved: drawn, crops, labelFile }),
  ]);
}

/** For spreadsheets: one CSV file, a row for each object. */
export function csvReport(): Report {
  return {
    begin: Detections.toCsv([]),
    picture: ({ name }, detections) => detections.toCsv({ file: name, header: false }),
    end: () => '',
  };
}

/**
 * For evaluators: one JSON array of COCO results, a line for each. A picture's id is the number that its file is named by,
 * where all have one and no two the same; else its place in `pictures`, from 1 on.
 */
export function cocoReport(pictures: readonly Picture[]): Report {
  const numbers = pictures.map((picture) => numberOf(parse(fileNameOf(picture)).name));
  const areIdsFromNames = !numbers.includes(undefined) && new Set(numbers).size === numbers.length;
  const ids = new Map(pictures.map((picture, index) => [picture, areIdsFromNames ? numbers[index]! : index + 1]));
  const report = streamedArray((picture, detections) =>
    detections.toCocoResults({ imageId: ids.get(picture)! }).map((result) => JSON.stringify(result)),
  );
  const remark = 'Not every file is named by a number of its own: image_id is the place of the picture, from 1 on';
  return areIdsFromNames ? report : { ...report, remark };
}

function numberOf(stem: string): number | undefined {
  const number = /^\d+$/.test(stem) ? Number(stem) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

function streamedArray(lines: (...args: Parameters<Report['picture']>) => readonly string[]): Report {
  let separator = '\n';
  return {
    begin: '[',
    picture(...args) {
      let text = '';
      for (const line of lines(...args)) {
        text += separator + line;
        separator = ',\n';
      }
      return text;
    },
    end: () => '\n]\n',
  };
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
