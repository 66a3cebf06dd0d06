import { boxesToImage, type Letterbox, pointsToImage } from './core/letterbox.js';
import type { DetectionsContext } from './detections.js';
import { YoloError } from './errors.js';
import type { DetectionOptions } from './options.js';
import type { Tensor, TensorType } from './types.js';
import { didYouMean, invalid } from './validation.js';

/** A model's outputs for one picture, by name: the first dimension is 1. */
export type Outputs = Readonly<Record<string, Tensor>>;

/** What a custom postprocessor is told of the picture, and the way back to its pixels. */
export class PostprocessorImage {
  /** Size of the picture, upright, in pixels. */
  readonly width: number;
  readonly height: number;
  /** Where the picture lay in the model's input. */
  readonly letterbox: Letterbox;
  /** Class names, as far as the model or the `labels` option gives them. */
  readonly labels: readonly string[];
  /** What `Detections.from(columns, image.context)` wants: labels, size, timings up to here, and the file that `annotate()` draws on. */
  readonly context: DetectionsContext;

  /** @internal */
  constructor(letterbox: Letterbox, context: DetectionsContext) {
    this.width = letterbox.imageWidth;
    this.height = letterbox.imageHeight;
    this.letterbox = letterbox;
    this.labels = context.labels;
    this.context = context;
  }

  /**
   * Moves boxes [n, 4], x1, y1, x2, y2, from pixels of the model's input to pixels of the picture, in place, and clips
   * them to it. Returns the array.
   */
  boxesToImage<Xyxy extends Float32Array | Float64Array>(xyxy: Xyxy): Xyxy {
    requireMultiple('xyxy', xyxy, 4);
    boxesToImage(xyxy, xyxy.length / 4, this.letterbox);
    return xyxy;
  }

  /** As `boxesToImage()`, for points [n, 2], x, y, which are not clipped. */
  pointsToImage<Xy extends Float32Array | Float64Array>(xy: Xy): Xy {
    requireMultiple('xy', xy, 2);
    pointsToImage(xy, xy.length / 2, this.letterbox);
    return xy;
  }
}

/** What `create()` and the call asked for, with the defaults of `DetectOptions`. They are the postprocessor's to apply: nothing else does. */
export interface PostprocessorOptions
  extends Required<
    Pick<DetectionOptions, 'confidenceThreshold' | 'classAgnostic' | 'maxDetections' | 'maxPerClass' | 'multiLabel'>
  > {
  /** Undefined where none was given: it belongs to a family of models, which is the postprocessor's to know. */
  readonly iouThreshold: number | undefined;
  /** By class id. */
  readonly classThresholds: ReadonlyMap<number, number> | undefined;
  /** Class ids to keep, ascending; undefined keeps all. */
  readonly classes: readonly number[] | undefined;
  /** Of the call: `detect()` rejects when it is aborted; a postprocessor that waits for something can stop then. */
  readonly signal: AbortSignal | undefined;
}

/**
 * Turns a model's raw outputs into whatever its user wants; runs on the thread that called `detect()`.
 * With one, the model's outputs are not recognised, and `inputFormat` says how pixels go in.
 */
export interface Postprocessor<T> {
  /** Shown in error messages. */
  readonly name: string;
  /**
   * Called once a picture; may be async. `outputs` has every output by name, its first dimension 1; the arrays are the
   * postprocessor's to keep. `requireOutput()` takes one out of them, checked.
   * An error that it throws becomes the `cause` of a YoloError with this postprocessor's name.
   */
  decode(outputs: Outputs, image: PostprocessorImage, options: PostprocessorOptions): T | Promise<T>;
}

/**
 * The output of that name, which is of that type and shape; what is left out is not checked.
 *
 * `dims` has null where any size will do, as in `[1, 85, null]`.
 * @throws YoloError ERR_YOLO_INVALID_ARGUMENT for a name that the model does not have, with the nearest that it has;
 * ERR_YOLO_SHAPE_MISMATCH for an output of another type or shape.
 */
export function requireOutput<Type extends TensorType = TensorType>(
  outputs: Outputs,
  name: string,
  expected: { readonly type?: Type; readonly dims?: readonly (number | null)[] } = {},
): Tensor<Type> {
  if (!Object.hasOwn(outputs, name)) {
    const names = Object.keys(outputs);
    const hint = didYouMean(name, names) || `; it has ${Object.values(outputs).map(described).join(', ')}`;
    throw invalid(`The model has no output ${JSON.stringify(name)}${hint}`, { output: name, outputs: names });
  }
  const output = outputs[name]!;
  const { type = output.type, dims = output.dims } = expected;
  const fits =
    dims.length === output.dims.length && dims.every((size, axis) => size === null || size === output.dims[axis]);
  if (type !== output.type || !fits)
    throw new YoloError(
      'ERR_YOLO_SHAPE_MISMATCH',
      `Expected the output ${described({ name, type, dims })} but the model's is ${output.type} [${output.dims.join(', ')}]: it is another model, or exported otherwise, than the postprocessor was written for`,
      { phase: 'postprocess', detail: { output: name, type: output.type, dims: output.dims } },
    );
  return output as Tensor<Type>;
}

function described({ name, type, dims }: { name: string; type: TensorType; dims: readonly (number | null)[] }): string {
  return `${JSON.stringify(name)} ${type} [${dims.map((size) => size ?? 'any').join(', ')}]`;
}

function requireMultiple(name: string, { length }: { length: number }, columns: number): void {
  if (length % columns !== 0)
    throw invalid(`Expected ${name} to have ${columns} numbers a row but it has ${length} in all`, { length });
}
