export * from './boxes.js';
export * from './candidates.js';
export * from './half.js';
export * from './input-format.js';
export * from './iou.js';
export * from './letterbox.js';
export { type NmsOptions, nms } from './nms.js';
export * from './pack.js';
export { resizeBilinear } from './resample.js';
