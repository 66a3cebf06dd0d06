import type { Tensor } from '../types.js';
import { Candidates } from './candidates.js';
import { type ExtraLayout, extraSize, extraToImage } from './extra.js';
import { float16ToFloat32Array } from './half.js';
import type { HeadLayout, HeadOutputs } from './heads/head.js';
import { headNamed } from './heads/index.js';
import { refuseNaN } from './heads/outputs.js';
import type { Letterbox } from './letterbox.js';
import { boxesToImage } from './letterbox.js';
import { nms } from './nms.js';
import { suppressRotated } from './rotated-nms.js';

/** Which candidates become detections. */
export interface Suppression {
  /** A box is kept when its confidence is greater than this. */
  readonly confidenceThreshold: number;
  /** Thresholds of single classes, by class id, which hold in place of the general one. */
  readonly classThresholds?: ReadonlyMap<number, number>;
  /** Of two boxes that overlap by more than this the worse one goes; null where the model has suppressed already. */
  readonly iouThreshold: number | null;
  /** Whether boxes of different classes suppress each other. */
  readonly classAgnostic: boolean;
  /** The most boxes, best first. */
  readonly maxDetections: number;
  /** Whether a box counts once for each class above the threshold. Defaults to false: for its best class only. */
  readonly multiLabel?: boolean;
  /** The most boxes of one class, best first. Defaults to no limit. */
  readonly maxPerClass?: number;
  /** Class ids to keep, ascending; undefined keeps all. */
  readonly classes?: readonly number[];
}

/** Detections in columns: xyxy [n, 4], confidence [n], falling, and classId [n]. */
export interface Columns {
  readonly xyxy: Float32Array;
  readonly confidence: Float32Array;
  readonly classId: Int32Array;
  /** [n, values of one object] where the layout has `extra`: keypoints and rotated boxes in the picture's pixels. */
  readonly extra?: Float32Array;
}

/**
 * Outputs of one picture of a batch as float32, by name, without the batch dimension.
 * Float32 is viewed, not copied. An output whose first dimension has no such picture is left out.
 * @param names the outputs wanted; defaults to all.
 * @param batchSize pictures of the run: an output whose first dimension counts something else is given whole. Defaults to not known.
 */
export function headOutputs(
  tensors: readonly Tensor[],
  batchIndex: number,
  names?: readonly string[],
  batchSize?: number,
): HeadOutputs {
  const outputs = new Map<string, { dims: readonly number[]; data: Float32Array; type: Tensor['type'] }>();
  for (const { name, type, dims, data } of tensors) {
    if (names !== undefined && !names.includes(name)) continue;
    if (batchSize !== undefined && dims[0] !== batchSize) {
      outputs.set(name, { dims, data: toFloat32(data), type });
      continue;
    }
    if (dims.length === 0 || batchIndex >= dims[0]) continue;
    const length = data.length / dims[0];
    const values = data.subarray(batchIndex * length, (batchIndex + 1) * length);
    outputs.set(name, { dims: dims.slice(1), data: toFloat32(values), type });
  }
  return outputs;
}

function toFloat32(values: Tensor['data']): Float32Array {
  if (values instanceof Float32Array) return values;
  if (values instanceof Uint16Array) return float16ToFloat32Array(values);
  if (values instanceof BigInt64Array) return Float32Array.from(values, Number);
  return Float32Array.from(values);
}

/**
 * From one picture's outputs to detections in its own pixels, by falling confidence.
 * Decodes, keeps the classes and confidences wanted, suppresses, keeps the best and inverts the letterbox; nothing is returned that `scratch` holds.
 * @param scratch reused from call to call; defaults to a new one.
 * @throws ERR_YOLO_SHAPE_MISMATCH when the outputs contradict the layout.
 * @throws ERR_YOLO_DEVICE when nothing is found and the outputs are not numbers.
 */
export function postprocess(
  outputs: HeadOutputs,
  layout: HeadLayout,
  suppression: Suppression,
  letterbox: Letterbox,
  scratch: Candidates = new Candidates(),
): Columns {
  const { inputWidth, inputHeight } = letterbox;
  const { confidenceThreshold, maxDetections, classes, classThresholds } = suppression;
  const { multiLabel = false, maxPerClass = Infinity } = suppression;
  scratch.clear();
  scratch.multiLabel = multiLabel;
  headNamed(layout.head).decode(
    outputs,
    { ...layout, inputWidth, inputHeight },
    Math.fround(Math.min(confidenceThreshold, ...(classThresholds?.values() ?? []))),
    scratch,
  );
  if (scratch.length === 0) refuseNaN(outputs, layout.outputs);
  if (classThresholds !== undefined)
    scratch.keep(
      (classId, confidence) => confidence > Math.fround(classThresholds.get(classId) ?? confidenceThreshold),
    );
  if (classes !== undefined) {
    const wanted = new Set(classes);
    scratch.keep((classId) => wanted.has(classId));
  }
  // Boxes beyond a class's share leave room for others.
  const sorted = suppress(scratch, layout, suppression, maxPerClass === Infinity ? maxDetections : Infinity);
  const order = maxPerClass === Infinity ? sorted : bestPerClass(sorted, scratch.classId, maxPerClass);
  return pick(scratch, order, Math.min(order.length, maxDetections), layout.extra, letterbox);
}

/** Indices of the boxes that stay, by falling confidence; perhaps more than `most`. */
function suppress(
  candidates: Candidates,
  { extra }: HeadLayout,
  { iouThreshold, classAgnostic }: Suppression,
  most: number,
): Uint32Array {
  if (iouThreshold === null) return byFallingConfidence(candidates);
  const classId = classAgnostic ? undefined : candidates.classId;
  if (extra?.kind === 'rotated')
    return suppressRotated(candidates.extra, byFallingConfidence(candidates), iouThreshold, classId);
  const { xyxy, confidence, length: count } = candidates;
  return nms(xyxy, confidence, { iouThreshold, classId, count, maxDetections: most });
}

function byFallingConfidence({ confidence, length }: Candidates): Uint32Array {
  return Uint32Array.from({ length }, (_, i) => i).sort((a, b) => confidence[b] - confidence[a] || a - b);
}

function bestPerClass(order: Uint32Array, classId: Int32Array, most: number): Uint32Array {
  const counts = new Map<number, number>();
  return order.filter((i) => {
    const count = (counts.get(classId[i]) ?? 0) + 1;
    counts.set(classId[i], count);
    return count <= most;
  });
}

function pick(
  candidates: Candidates,
  order: ArrayLike<number>,
  count: number,
  extraLayout: ExtraLayout | undefined,
  letterbox: Letterbox,
): Columns {
  const size = extraLayout === undefined ? 0 : extraSize(extraLayout);
  const xyxy = new Float32Array(4 * count);
  const confidence = new Float32Array(count);
  const classId = new Int32Array(count);
  const extra = new Float32Array(size * count);
  for (let n = 0; n < count; n++) {
    const i = order[n];
    xyxy.set(candidates.xyxy.subarray(4 * i, 4 * i + 4), 4 * n);
    confidence[n] = candidates.confidence[i];
    classId[n] = candidates.classId[i];
    extra.set(candidates.extra.subarray(size * i, size * (i + 1)), size * n);
  }
  boxesToImage(xyxy, count, letterbox);
  if (extraLayout === undefined) return { xyxy, confidence, classId };
  extraToImage(extra, count, extraLayout, letterbox);
  return { xyxy, confidence, classId, extra };
}
