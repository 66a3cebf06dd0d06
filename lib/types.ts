/** Pixels in memory: rows top to bottom without gaps, 8 bits a channel, channels interleaved. */
export interface RawImage {
  /** Exactly `width * height * channels` bytes. Read when the picture's turn comes: leave it unchanged until the promise settles. */
  readonly data: Uint8Array | Uint8ClampedArray;
  /** In pixels, at least 1. */
  readonly width: number;
  /** In pixels, at least 1. */
  readonly height: number;
  /** 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA. Alpha is not premultiplied. */
  readonly channels: 1 | 2 | 3 | 4;
}

/** A picture: a path, a `file:` URL, the bytes of an encoded file (Buffer, Uint8Array, ArrayBuffer, Blob), or pixels. */
export type ImageInput = string | URL | Uint8Array | ArrayBuffer | Blob | RawImage;

/** What every picture becomes before a model sees it: upright, RGB, 8 bits, [height, width, 3]. */
export interface RgbImage {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** What holds the elements of a tensor, by their type: float16 as its raw bits, bool as 0 and 1. */
export interface TensorArrays {
  float32: Float32Array;
  /** Raw bits; `float16ToFloat32Array` of `migraphx-yolo/core` gives their values. */
  float16: Uint16Array;
  float64: Float64Array;
  uint8: Uint8Array;
  int8: Int8Array;
  int32: Int32Array;
  int64: BigInt64Array;
  bool: Uint8Array;
}

/** Element types of tensors that detectors have, named as ONNX Runtime names them. */
export type TensorType = keyof TensorArrays;

/** What is known of a model's input or output before a run. A dimension that the file leaves open is its name, or -1 without one. */
export interface TensorInfo {
  readonly name: string;
  readonly type: TensorType;
  readonly dims: readonly (number | string)[];
}

/** A tensor of one element type, or of one of several. Elements are in row-major order; `type` tells which array `data` is. */
export type Tensor<Type extends TensorType = TensorType> = {
  [Each in Type]: {
    readonly name: string;
    readonly type: Each;
    readonly dims: readonly number[];
    /** As long as the product of `dims`. */
    readonly data: TensorArrays[Each];
  };
}[Type];

/** Where the time of a detection went, in milliseconds. */
export interface DetectionTimings {
  /** Waiting: for its turn to be decoded, and then for a lane. */
  readonly queueMs: number;
  readonly decodeMs: number;
  readonly letterboxMs: number;
  /** The model alone; of a batch, the whole batch's. */
  readonly inferenceMs: number;
  readonly postprocessMs: number;
  /** From the call to the result. */
  readonly totalMs: number;
}
