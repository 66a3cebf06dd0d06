import { YoloError } from '../../errors.js';
import { type Strides, stridesFor } from './cells.js';
import type { HeadLayout, HeadOutputs } from './head.js';

/** One output as a matrix of float32. */
export interface Matrix {
  readonly data: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

/**
 * The layout's first output as a matrix with `rows` or `columns` as the layout has them.
 * @throws ERR_YOLO_SHAPE_MISMATCH when the run gave another shape than the layout was found with.
 */
export function matrixOf(
  outputs: HeadOutputs,
  layout: HeadLayout,
  expected: { rows?: number; columns?: number },
): Matrix {
  const name = layout.outputs[0];
  const output = outputs.get(name);
  const [rows, columns] = output?.dims ?? [];
  if (
    output === undefined ||
    output.dims.length !== 2 ||
    rows * columns !== output.data.length ||
    (expected.rows ?? rows) !== rows ||
    (expected.columns ?? columns) !== columns
  )
    throw shapeMismatch(outputs, layout, `[${expected.rows ?? 'n'}, ${expected.columns ?? 'n'}]`);
  return { data: output.data, rows, columns };
}

/**
 * The layout's output of that number as rows of `columns` values; dimensions of 1 do not count.
 * @throws ERR_YOLO_SHAPE_MISMATCH when the run gave no such output, or another number of rows than `rows`.
 */
export function tableOf(
  outputs: HeadOutputs,
  layout: HeadLayout,
  index: number,
  columns: number,
  rows?: number,
): Matrix {
  const output = outputs.get(layout.outputs[index]);
  const length = output?.data.length ?? 0;
  const count = rows ?? length / columns;
  if (
    output === undefined ||
    count * columns !== length ||
    !Number.isInteger(count) ||
    !hasRowsOf(output.dims, columns)
  )
    throw shapeMismatch(outputs, layout, `${rows ?? 'n'} rows of ${columns}`, index);
  return { data: output.data, rows: count, columns };
}

function hasRowsOf(dims: readonly number[], columns: number): boolean {
  return columns === 1 || (dims.at(-1) === columns && dims.slice(0, -1).filter((dim) => dim !== 1).length <= 1);
}

/** Says so when values from `start` to `end` are no scores, which lie from 0 to 1. */
export function scoresContradiction(data: Float32Array, start: number, end: number): string | undefined {
  for (let at = start; at < end; at++) {
    if (data[at] < 0 || data[at] > 1) return `a score of ${data[at]}, outside 0..1`;
  }
  return undefined;
}

/** Says so when the greatest of all coordinates or sizes is none in pixels. */
export function fractionsContradiction(greatest: number): string | undefined {
  return greatest > 0 && greatest <= 2 ? `boxes reach ${greatest} only: fractions of the input, not pixels` : undefined;
}

/**
 * No boxes must mean that nothing is there, so outputs that are no numbers are an error then.
 * One value in ten is the least that a lost column of scores makes (one of six columns, one of five rows).
 * @throws ERR_YOLO_DEVICE, naming the output and its precision.
 */
export function refuseNaN(outputs: HeadOutputs, names: readonly string[]): void {
  for (const name of names) {
    const output = outputs.get(name);
    if (output === undefined) continue;
    const { data, type = 'float32' } = output;
    let count = 0;
    for (let i = 0; i < data.length; i++) if (Number.isNaN(data[i])) count++;
    if (count > 0 && count * 10 >= data.length)
      throw new YoloError(
        'ERR_YOLO_DEVICE',
        `${count} of ${data.length} values of output ${JSON.stringify(name)} (${type}) are NaN, so no box can be read. ` +
          'float16 arithmetic gives this when it overflows: use a float32 model, or another device.',
        { phase: 'postprocess', detail: { output: name, type, nanCount: count, valueCount: data.length } },
      );
  }
}

/**
 * The strides whose cells make up `rows`.
 * @throws ERR_YOLO_SHAPE_MISMATCH when there are none at the layout's input size.
 */
export function stridesOf(outputs: HeadOutputs, layout: HeadLayout, rows: number, anchorsPerCell: number): Strides {
  const strides = stridesFor(rows, layout.inputWidth, layout.inputHeight, anchorsPerCell);
  if (strides === undefined)
    throw shapeMismatch(outputs, layout, `made of ${anchorsPerCell} for each cell of the input`);
  return strides;
}

export function shapeMismatch(outputs: HeadOutputs, layout: HeadLayout, expected: string, index = 0): YoloError {
  const name = layout.outputs[index];
  const output = outputs.get(name);
  const seen =
    output === undefined ? 'no such output' : `[${output.dims.join(', ')}] with ${output.data.length} values`;
  return new YoloError(
    'ERR_YOLO_SHAPE_MISMATCH',
    `Output ${JSON.stringify(name)} should be ${expected} for one picture (head ${layout.head}, ${layout.classCount} classes, ` +
      `input ${layout.inputWidth}x${layout.inputHeight}) but the run gave ${seen}. ` +
      'Check that the model file is the one that was recognised, or set `head`.',
    { phase: 'postprocess', detail: { output: name, head: layout.head, expected, dims: output?.dims } },
  );
}
