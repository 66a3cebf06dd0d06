import type { Matrix } from './outputs.js';

/** What is known of the first four columns of a table. */
export interface BoxValues {
  /** Rows whose third and fourth value are not less than the first and second, as in corners. */
  readonly ordered: number;
  /** Rows whose third or fourth value is below 0, as no size is. */
  readonly negative: number;
  /** The greatest of all values; -Infinity for no rows. */
  readonly greatest: number;
}

export function boxValues({ data, rows, columns }: Matrix): BoxValues {
  let ordered = 0;
  let negative = 0;
  let greatest = -Infinity;
  for (let row = 0; row < rows; row++) {
    const at = row * columns;
    if (data[at + 2] >= data[at] && data[at + 3] >= data[at + 1]) ordered++;
    if (data[at + 2] < 0 || data[at + 3] < 0) negative++;
    greatest = Math.max(greatest, data[at], data[at + 1], data[at + 2], data[at + 3]);
  }
  return { ordered, negative, greatest };
}

/** Says so when boxes from 0 to 1 cannot be centres and sizes: sizes below 0, values in pixels, or corners in every row. */
export function centreFractionsContradiction(matrix: Matrix): string | undefined {
  const { ordered, negative, greatest } = boxValues(matrix);
  if (negative > 0) return `${negative} of ${matrix.rows} boxes have a size below 0`;
  if (greatest > 2) return `boxes reach ${greatest}: pixels, not fractions of the input`;
  if (!(greatest > 0)) return 'no box has a size';
  return ordered === matrix.rows ? 'all boxes could be corners as well' : undefined;
}
