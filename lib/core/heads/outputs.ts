import { YoloError } from '../../errors.js';
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

export function shapeMismatch(outputs: HeadOutputs, layout: HeadLayout, expected: string): YoloError {
  const name = layout.outputs[0];
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
