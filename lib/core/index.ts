export * from './boxes.js';
export * from './candidates.js';
export { type ExtraLayout, extraSize, extraToImage, ROTATED_SIZE } from './extra.js';
export * from './half.js';
export { ANCHOR_SETS } from './heads/anchor-maps.js';
export type { Anchors, Family, Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './heads/head.js';
export { HEADS, headNamed } from './heads/index.js';
export {
  type Candidate,
  type Probe,
  type RecogniseOptions,
  type Recognition,
  recognise,
  recogniseModel,
} from './heads/recognise.js';
export * from './input-format.js';
export * from './iou.js';
export * from './letterbox.js';
export { type NmsOptions, nms } from './nms.js';
export * from './pack.js';
export { type Columns, headOutputs, postprocess, type Suppression } from './postprocess.js';
export { resizeBilinear } from './resample.js';
export { probabilisticIou, suppressRotated } from './rotated-nms.js';
