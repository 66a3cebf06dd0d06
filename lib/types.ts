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

/**
 * An array as `npm i ndarray` makes them: 8-bit levels of shape [height, width] (gray) or [height, width, channels], with 1 to 4
 * channels as in `RawImage`. Any strides: of columns first use `array.transpose(1, 0, 2)`, of channels first
 * `array.transpose(1, 2, 0)`, of blue first `array.step(1, 1, -1)`.
 */
export interface NdArrayImage {
  /** Read when the picture's turn comes: leave it unchanged until the promise settles. */
  readonly data: Uint8Array | Uint8ClampedArray;
  readonly shape: readonly number[];
  /** Elements of `data` from one place of an axis to the next; may be negative. */
  readonly stride: readonly number[];
  /** Element of `data` at [0, 0, 0]. */
  readonly offset: number;
}

/**
 * An instance of sharp, of any copy of it: the picture is what the operations called on it so far make of its input, in the
 * orientation that they give. It is cloned at the call, and stays yours to use.
 */
export interface SharpInstance {
  clone(): SharpInstance;
  toColourspace(space: string): SharpInstance;
  raw(options: { depth: 'uchar' }): SharpInstance;
  toBuffer(options: { resolveWithObject: true }): Promise<{
    data: Uint8Array;
    info: { width: number; height: number; channels: number };
  }>;
}

/** How pictures are fetched that are given by their `http:` or `https:` URL. */
export interface UrlOptions {
  /**
   * Whether addresses may be connected to that are not of the public internet: this machine, its network, a cloud's metadata.
   * Redirects and changing DNS answers are held to it too. Defaults to false.
   */
  readonly allowPrivateAddresses?: boolean;
  /** The most bytes of a picture's file; at least 1. Defaults to 50,000,000. */
  readonly maxBytes?: number;
  /** Milliseconds from the request to the last byte, redirects included; at least 1. Defaults to 30,000. */
  readonly timeoutMs?: number;
  /** The most redirects that are followed, to `http:` and `https:` URLs only. Defaults to 5. */
  readonly maxRedirects?: number;
}

/** A picture: a path, a `file:`, `http:` or `https:` URL, the bytes of an encoded file (Buffer, Uint8Array, ArrayBuffer, Blob), pixels, an ndarray, or a sharp instance. */
export type ImageInput = string | URL | Uint8Array | ArrayBuffer | Blob | RawImage | NdArrayImage | SharpInstance;

/** What every picture becomes before a model sees it: upright, RGB, 8 bits, [height, width, 3]. */
export interface RgbImage {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
  /** The upright picture's own size in pixels, where it was decoded at a smaller one. Defaults to `width` and `height`. */
  readonly original?: { readonly width: number; readonly height: number };
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
