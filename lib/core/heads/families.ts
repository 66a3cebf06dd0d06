import type { Family } from './head.js';

/** YOLOv5 and everything after it by the same makers, YOLOv7 too: RGB from 0 to 1, the picture in the middle. */
export const ULTRALYTICS: Family = {
  name: 'Ultralytics',
  channelOrder: 'rgb',
  divisor: 255,
  placement: 'centre',
  iouThreshold: 0.7,
};

/** YOLOX: BGR levels as they are, the picture in the top-left corner. */
export const YOLOX: Family = {
  name: 'YOLOX',
  channelOrder: 'bgr',
  divisor: 1,
  placement: 'top-left',
  iouThreshold: 0.45,
};

/** YOLOv6 (Meituan): RGB from 0 to 1, the picture in the middle. */
export const YOLOV6: Family = { ...ULTRALYTICS, name: 'YOLOv6', iouThreshold: 0.45 };

/** YOLOv4 and YOLOv3 as PyTorch exports them: RGB from 0 to 1, stretched. */
export const YOLOV4: Family = {
  name: 'YOLOv4',
  channelOrder: 'rgb',
  divisor: 255,
  placement: 'stretch',
  iouThreshold: 0.6,
};

/** YOLO-NAS: RGB from 0 to 1, the picture in the middle. */
export const YOLO_NAS: Family = { ...ULTRALYTICS, name: 'YOLO-NAS' };

/** RT-DETR, D-FINE, DEIM: RGB from 0 to 1, stretched; nothing to suppress. */
export const RT_DETR: Family = {
  name: 'RT-DETR',
  channelOrder: 'rgb',
  divisor: 255,
  placement: 'stretch',
  iouThreshold: null,
};

const IMAGENET = {
  mean: [0.485 * 255, 0.456 * 255, 0.406 * 255],
  std: [0.229 * 255, 0.224 * 255, 0.225 * 255],
} as const;

/** DETR and RF-DETR: RGB by ImageNet's mean and deviation, stretched; nothing to suppress. */
export const DETR: Family = {
  name: 'DETR',
  channelOrder: 'rgb',
  divisor: 1,
  ...IMAGENET,
  placement: 'stretch',
  iouThreshold: null,
};

/** PP-YOLOE and its kin (PaddleDetection), which normalise in the graph or take 0..1: RGB, stretched. */
export const PADDLE: Family = {
  name: 'PaddleDetection',
  channelOrder: 'rgb',
  divisor: 255,
  placement: 'stretch',
  iouThreshold: 0.7,
};

/** The same with levels by ImageNet's mean and deviation, as older ones take them. */
export const PADDLE_NORMALISED: Family = { ...PADDLE, name: 'PaddleDetection, normalised', divisor: 1, ...IMAGENET };

const MMDET = {
  channelOrder: 'bgr',
  divisor: 1,
  mean: [103.53, 116.28, 123.675],
  std: [57.375, 57.12, 58.395],
} as const;

/** RTMDet (MMDetection): BGR by mean and deviation, the picture in the top-left corner. */
export const RTMDET: Family = { name: 'RTMDet', ...MMDET, placement: 'top-left', iouThreshold: 0.6 };

/** NanoDet: BGR by mean and deviation, the picture in the middle. */
export const NANODET: Family = { name: 'NanoDet', ...MMDET, placement: 'centre', iouThreshold: 0.45 };
