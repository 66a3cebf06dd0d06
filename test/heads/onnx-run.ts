import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import ort from 'onnxruntime-node';
import sharp from 'sharp';
import { type RecogniseOptions, type Recognition, recogniseModel } from '../../lib/core/heads/recognise.js';
import type { InputFormat } from '../../lib/core/input-format.js';
import { createLetterbox } from '../../lib/core/letterbox.js';
import { TensorPacker } from '../../lib/core/pack.js';
import { type Columns, headOutputs, postprocess } from '../../lib/core/postprocess.js';
import { modelSignature, type PictureInput, pictureInput, readModelFile } from '../../lib/model/signature.js';
import type { RgbImage, Tensor } from '../../lib/types.js';

// As the library's worker does: with a Float16Array, ONNX Runtime finds no data in float16 tensors.
Reflect.deleteProperty(globalThis, 'Float16Array');

const DEFAULT_SIZE = [640, 640] as const;

/** A photo as golden values have it: upright, RGB, its colour profile ignored. */
export async function readPhoto(path: string): Promise<RgbImage> {
  const { data, info } = await sharp(path, { ignoreIcc: true })
    .autoOrient()
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}

export function mirror({ data, width, height }: RgbImage): RgbImage {
  const out = new Uint8Array(data.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = 3 * (y * width + x);
      out.set(data.subarray(from, from + 3), 3 * (y * width + width - 1 - x));
    }
  }
  return { data: out, width, height };
}

/** A model in ONNX Runtime on this thread, with nothing of the library's runtime. */
export class OnnxModel {
  runs = 0;
  readonly #session: ort.InferenceSession;
  readonly #packer = new TensorPacker();

  private constructor(
    session: ort.InferenceSession,
    readonly file: Awaited<ReturnType<typeof readModelFile>>,
    readonly input: PictureInput,
    readonly width: number,
    readonly height: number,
  ) {
    this.#session = session;
  }

  static async load(path: string, size: readonly [width: number, height: number] = DEFAULT_SIZE): Promise<OnnxModel> {
    const packed = readFileSync(path);
    const bytes = path.endsWith('.gz') ? gunzipSync(packed) : packed;
    const file = await readModelFile({ name: path, bytes });
    const input = pictureInput(file.inputs);
    const session = await ort.InferenceSession.create(bytes, { intraOpNumThreads: 1, logSeverityLevel: 4 });
    return new OnnxModel(session, file, input, input.width ?? size[0], input.height ?? size[1]);
  }

  async run(image: RgbImage, format: InputFormat): Promise<Tensor[]> {
    this.runs++;
    const { width, height } = this;
    const length = 3 * width * height;
    const data = { float32: Float32Array, float16: Uint16Array, uint8: Uint8Array }[format.type].from({ length });
    const letterbox = createLetterbox(image.width, image.height, width, height, format.letterbox);
    this.#packer.pack(image, letterbox, format, data, 0);
    const dims = format.layout === 'nchw' ? [1, 3, height, width] : [1, height, width, 3];
    const tensor = new ort.Tensor(format.type, data as Float32Array, dims);
    const feeds: Record<string, ort.Tensor> = { [this.input.name]: tensor };
    for (const { name, type, holds } of this.input.sideInputs) {
      const pair = { ones: [1, 1], 'width-height': [width, height], 'height-width': [height, width] }[holds];
      feeds[name] = new ort.Tensor(type, type === 'int64' ? pair.map(BigInt) : pair, [1, 2]);
    }
    const results = await this.#session.run(feeds);
    return this.#session.outputNames.map((name) => {
      const output = results[name];
      return { name, type: output.type, dims: output.dims, data: output.data } as Tensor;
    });
  }

  recognise(photo: RgbImage, options: Omit<RecogniseOptions, 'picture'> = {}): Promise<Recognition> {
    const signature = modelSignature(this.file, this.input, this.width, this.height);
    const mirrored = mirror(photo);
    return recogniseModel(signature, { ...options, picture: photo }, (format, isMirrored) =>
      this.run(isMirrored ? mirrored : photo, format),
    );
  }

  async detect(image: RgbImage, { layout, format, iouThreshold }: Recognition): Promise<Columns> {
    const letterbox = createLetterbox(image.width, image.height, this.width, this.height, format.letterbox);
    const suppression = { confidenceThreshold: 0.25, iouThreshold, classAgnostic: false, maxDetections: 300 };
    return postprocess(headOutputs(await this.run(image, format), 0, undefined, 1), layout, suppression, letterbox);
  }

  release(): Promise<void> {
    return this.#session.release();
  }
}
