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
