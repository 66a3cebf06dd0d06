export type { ExtraLayout } from './core/extra.js';
export type { Anchors, HeadLayout } from './core/heads/head.js';
export type { Candidate } from './core/heads/recognise.js';
export type { InputFormat } from './core/input-format.js';
export type { Letterbox, LetterboxOptions } from './core/letterbox.js';
export type {
  DetectionExtra,
  Keypoint,
  MaskPrototypes,
  ObjectExtra,
  RotatedBox,
} from './detection-extra.js';
export {
  type AnnotateOptions,
  type CocoOptions,
  type CocoResult,
  type CropOptions,
  type CsvOptions,
  type Detection,
  type DetectionColumns,
  Detections,
  type DetectionsContext,
  type DetectionsJson,
  type YoloOptions,
} from './detections.js';
export { Detector, type DetectorStats, type Results } from './detector.js';
export { YoloError, type YoloErrorCode, type YoloErrorOptions, type YoloErrorPhase } from './errors.js';
export { type FramesOptions, frames } from './frames.js';
export { COCO_LABELS } from './labels.js';
export type { DownloadProgress } from './model/source.js';
export type { ModelInfo } from './model-loader.js';
export type {
  DetectionOptions,
  DetectOptions,
  DetectorOptions,
  Device,
  InputFormatOptions,
  StreamOptions,
} from './options.js';
export { type FetchImageOptions, fetchImage, type ToNdarrayOptions, toNdarray } from './pictures.js';
export {
  type Outputs,
  type Postprocessor,
  type PostprocessorImage,
  type PostprocessorOptions,
  requireOutput,
} from './postprocessor.js';
export type { OnStreamError, StreamFailure, StreamItem, StreamResult } from './stream.js';
export type {
  DetectionTimings,
  ImageInput,
  NdArrayImage,
  RawImage,
  RgbImage,
  SharpInstance,
  Tensor,
  TensorArrays,
  TensorInfo,
  TensorType,
  UrlOptions,
} from './types.js';
