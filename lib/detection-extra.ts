import { types } from 'node:util';
import { type ExtraLayout, extraSize } from './core/extra.js';
import type { Letterbox } from './core/letterbox.js';
import { show } from './show.js';
import type { Tensor } from './types.js';
import { invalid } from './validation.js';

/** What a model finds of one object beside its box and class. */
export interface ObjectExtra {
  /** Of a pose model: each point's x and y in pixels of the upright picture and, where the model gives it, visibility, 0..1. */
  readonly keypoints?: readonly Keypoint[];
  /** Of a model with rotated boxes; `xyxy` is its upright bounds, cut off at the picture's border. */
  readonly rotatedBox?: RotatedBox;
  /** Of a segmentation model: the weight of each of the `maskPrototypes` in this object's mask, before the sigmoid. Views the detections' own memory. */
  readonly maskCoefficients?: Float32Array;
}

export type Keypoint = readonly [x: number, y: number, visibility?: number];

/** In pixels of the upright picture, before the box is turned about its centre. */
export interface RotatedBox {
  readonly cx: number;
  readonly cy: number;
  readonly width: number;
  readonly height: number;
  /** Radians, clockwise as one sees the picture; as the model gives it, in no fixed range. */
  readonly angle: number;
}

/** What masks are made of: that of an object is sigmoid(sum of coefficient * prototype), cut to its box. */
export interface MaskPrototypes {
  /** [1, M, h, w] over the whole input of the model. */
  readonly tensor: Tensor;
  /** Where the picture lies in that input. */
  readonly letterbox: Letterbox;
}

/** What a model finds of each object beside its box and class. */
export interface DetectionExtra {
  readonly layout: ExtraLayout;
  /** [n, values of one object], in pixels of the upright picture where they are places. */
  readonly values: Float32Array;
}

/** @throws ERR_YOLO_INVALID_ARGUMENT unless there is a layout, and a row of finite numbers for each of `count` objects. */
export function checkExtra(extra: Partial<DetectionExtra> | undefined, count: number): void {
  if (extra === undefined) return;
  const { layout, values } = extra ?? {};
  const size = layout === undefined ? 0 : extraSize(layout);
  if (!(types.isFloat32Array(values) && size > 0 && values.length === size * count))
    throw invalid(
      `Expected extra with a layout and ${count} rows of values as Float32Array but received ${show(extra)}`,
      {},
    );
  const fault = values.findIndex((value) => !Number.isFinite(value));
  if (fault >= 0)
    throw invalid(`Detection ${Math.floor(fault / size)} has ${values[fault]} among its extra values`, {
      index: Math.floor(fault / size),
    });
}

export function isSameLayout(a: DetectionExtra | undefined, b: DetectionExtra | undefined): boolean {
  return JSON.stringify(a?.layout) === JSON.stringify(b?.layout);
}

/** What one object has. */
export function extraOf(extra: DetectionExtra | undefined, place: number): ObjectExtra | undefined {
  if (extra === undefined) return undefined;
  const { layout } = extra;
  const size = extraSize(layout);
  const values = extra.values.subarray(size * place, size * (place + 1));
  if (layout.kind === 'mask') return { maskCoefficients: values };
  if (layout.kind === 'rotated') {
    const [cx, cy, width, height, angle] = values as unknown as [number, number, number, number, number];
    return { rotatedBox: { cx, cy, width, height, angle } };
  }
  const { points, dimensions } = layout;
  const pointAt = (point: number) => values.subarray(dimensions * point, dimensions * (point + 1));
  return { keypoints: Array.from({ length: points }, (_, point) => [...pointAt(point)] as unknown as Keypoint) };
}
