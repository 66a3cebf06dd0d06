import { describe, expectTypeOf, it } from 'vitest';
import {
  type Detection,
  Detections,
  Detector,
  type DetectorOptions,
  frames,
  type ImageInput,
  type Outputs,
  type Postprocessor,
  type RawImage,
  requireOutput,
  type StreamFailure,
  type StreamItem,
  type StreamResult,
  type Tensor,
  YoloError,
  type YoloErrorCode,
} from '../../lib/index.js';

interface Face {
  readonly eyes: readonly [number, number];
}

declare const faces: Postprocessor<Face[]>;
declare const detector: Detector;
declare const faceDetector: Detector<Face[]>;
declare const pictures: ImageInput[];

describe('Detector.create()', () => {
  it('gives a Detector of Detections without a postprocessor', () => {
    expectTypeOf(Detector.create()).resolves.toEqualTypeOf<Detector<Detections>>();
    expectTypeOf(Detector.create({ model: 'a.onnx' })).resolves.toEqualTypeOf<Detector<Detections>>();
    expectTypeOf(Detector.create({} as DetectorOptions)).resolves.toEqualTypeOf<Detector<Detections>>();
    expectTypeOf<Detector>().toEqualTypeOf<Detector<Detections>>();
  });

  it('takes the type of results from a postprocessor, whether it waits or not', () => {
    expectTypeOf(Detector.create({ postprocessor: faces })).resolves.toEqualTypeOf<Detector<Face[]>>();
    const inferred = Detector.create({
      model: 'a.onnx',
      postprocessor: {
        name: 'sizes',
        decode: async (outputs, image) => {
          expectTypeOf(outputs).toEqualTypeOf<Readonly<Record<string, Tensor>>>();
          expectTypeOf(image.width).toEqualTypeOf<number>();
          expectTypeOf(image.boxesToImage(new Float32Array(4))).toExtend<Float32Array>();
          return { width: image.width };
        },
      },
    });
    expectTypeOf(inferred).resolves.toEqualTypeOf<Detector<{ width: number }>>();
  });

  it('refuses unknown options and wrong kinds', () => {
    // @ts-expect-error a misspelt option
    void Detector.create({ confidenceTreshold: 0.4 });
    // @ts-expect-error a device that does not exist
    void Detector.create({ device: 'tpu' });
    // @ts-expect-error a postprocessor without decode
    void Detector.create({ postprocessor: { name: 'nothing' } });
    void Detector.create({ device: 'gpu:1', imageSize: [640, 384], classes: ['person', 3] as const });
  });
});

describe('Tensor', () => {
  it('has the array of its element type', () => {
    expectTypeOf<Tensor<'float32'>['data']>().toEqualTypeOf<Float32Array>();
    expectTypeOf<Tensor<'int64'>['data']>().toEqualTypeOf<BigInt64Array>();
    expectTypeOf<Tensor<'bool' | 'uint8'>['data']>().toEqualTypeOf<Uint8Array>();
    expectTypeOf<Tensor<'float16'>>().toExtend<Tensor>();
  });

  it('is narrowed by its type', () => {
    const output = {} as Outputs[string];
    if (output.type === 'int64') expectTypeOf(output.data).toEqualTypeOf<BigInt64Array>();
    else if (output.type === 'float32') expectTypeOf(output).toEqualTypeOf<Tensor<'float32'>>();
  });

  it('comes out of requireOutput() with the type that was asked for', () => {
    const outputs: Outputs = {};
    expectTypeOf(requireOutput(outputs, 'a', { type: 'float32', dims: [1, null] })).toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(requireOutput(outputs, 'a', { dims: [1] })).toEqualTypeOf<Tensor>();
    expectTypeOf(requireOutput(outputs, 'a')).toEqualTypeOf<Tensor>();
    // @ts-expect-error a type that does not exist
    requireOutput(outputs, 'a', { type: 'float' });
  });
});

describe('detect()', () => {
  it('gives one result', () => {
    expectTypeOf(detector.detect('a.jpg')).resolves.toEqualTypeOf<Detections>();
    expectTypeOf(faceDetector.detect('a.jpg')).resolves.toEqualTypeOf<Face[]>();
  });

  it('takes every kind of picture', () => {
    expectTypeOf<string | URL | Buffer | Uint8Array | ArrayBuffer | Blob>().toExtend<ImageInput>();
    expectTypeOf<{ data: Buffer; width: number; height: number; channels: 3 }>().toExtend<ImageInput>();
    expectTypeOf<{ data: Uint8ClampedArray; width: number; height: number; channels: 4 }>().toExtend<ImageInput>();
    // @ts-expect-error five channels
    void detector.detect({ data: new Uint8Array(5), width: 1, height: 1, channels: 5 });
    // @ts-expect-error no picture
    void detector.detect(42);
  });

  it('takes options of a call, not those of create()', () => {
    void detector.detect('a.jpg', { confidenceThreshold: 0.4, classes: ['dog', 0], signal: AbortSignal.timeout(1) });
    // @ts-expect-error the number of lanes is chosen at create()
    void detector.detect('a.jpg', { lanes: 2 });
  });
});

describe('detectBatch()', () => {
  it('keeps the length of a tuple', () => {
    expectTypeOf(detector.detectBatch(['a.jpg', 'b.jpg'])).resolves.toEqualTypeOf<[Detections, Detections]>();
    expectTypeOf(faceDetector.detectBatch(['a.jpg', new Uint8Array(1)])).resolves.toEqualTypeOf<[Face[], Face[]]>();
    expectTypeOf(detector.detectBatch([])).resolves.toEqualTypeOf<[]>();
  });

  it('gives an array for an array', () => {
    expectTypeOf(detector.detectBatch(pictures)).resolves.toEqualTypeOf<Detections[]>();
    expectTypeOf(detector.detectBatch(pictures as readonly ImageInput[])).resolves.toEqualTypeOf<Detections[]>();
  });
});

describe('stream()', () => {
  type Items<Item> = AsyncGenerator<Item, void, undefined>;

  it('gives the pictures of its source with what was found, and no errors', () => {
    const paths: string[] = [];
    expectTypeOf(detector.stream(paths)).toEqualTypeOf<Items<StreamResult<string, Detections>>>();
    expectTypeOf(detector.stream(paths, { inFlight: 2 })).toEqualTypeOf<Items<StreamResult<string, Detections>>>();
    expectTypeOf(detector.stream(paths, { onError: 'throw' })).toEqualTypeOf<Items<StreamResult<string, Detections>>>();
    expectTypeOf(faceDetector.stream(pictures)).toEqualTypeOf<Items<StreamResult<ImageInput, Face[]>>>();
    expectTypeOf(faceDetector.stream(frames(process.stdin, { width: 1, height: 1 }))).toEqualTypeOf<
      Items<StreamResult<RawImage, Face[]>>
    >();
  });

  it('gives results or failures where errors are yielded, told by either field', () => {
    type Item = StreamResult<ImageInput, Face[]> | StreamFailure<ImageInput>;
    expectTypeOf(faceDetector.stream(pictures, { onError: 'yield' })).toEqualTypeOf<Items<Item>>();
    const mode = 'yield' as 'throw' | 'yield';
    expectTypeOf(faceDetector.stream(pictures, { onError: mode })).toEqualTypeOf<Items<Item>>();
    const item = {} as StreamItem<ImageInput, Face[], 'yield'>;
    if (item.error === undefined) expectTypeOf(item.detections).toEqualTypeOf<Face[]>();
    else expectTypeOf(item.error).toEqualTypeOf<YoloError>();
    const { detections, error } = item;
    if (error === undefined) expectTypeOf(detections).toEqualTypeOf<Face[]>();
  });

  it('takes pictures only, and its own options', () => {
    // @ts-expect-error numbers are no pictures
    void detector.stream([1, 2]);
    // @ts-expect-error a mode that does not exist
    void detector.stream(pictures, { onError: 'skip' });
    // @ts-expect-error five channels
    void frames(process.stdin, { width: 1, height: 1, channels: 5 });
  });
});

describe('Detections', () => {
  it('hold columns, and give one object a box', () => {
    expectTypeOf<Detections>().toExtend<Iterable<Detection>>();
    expectTypeOf<Detections['xyxy']>().toEqualTypeOf<Float32Array>();
    expectTypeOf<Detections['confidence']>().toEqualTypeOf<Float32Array>();
    expectTypeOf<Detections['length']>().toEqualTypeOf<number>();
    expectTypeOf(Detections.from).returns.toEqualTypeOf<Detections>();
    expectTypeOf<Detection['label']>().toEqualTypeOf<string>();
    expectTypeOf<Detection['classId']>().toEqualTypeOf<number>();
    expectTypeOf<Detection['confidence']>().toEqualTypeOf<number>();
    expectTypeOf<Detection['xyxy'][0 | 1 | 2 | 3]>().toEqualTypeOf<number>();
    expectTypeOf<Detection['xyxy']['length']>().toEqualTypeOf<4>();
  });
});

describe('YoloError', () => {
  it('is told from other errors by is()', () => {
    const caught: unknown = undefined;
    if (YoloError.is(caught)) {
      expectTypeOf(caught).toEqualTypeOf<YoloError>();
      expectTypeOf(caught.code).toEqualTypeOf<YoloErrorCode>();
    }
    // @ts-expect-error a code that does not exist
    YoloError.is(caught, 'ERR_YOLO_NOTHING');
  });
});
