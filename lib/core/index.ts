export * from './boxes.js';
export * from './candidates.js';
export * from './half.js';
export type { Family, Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './heads/head.js';
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
