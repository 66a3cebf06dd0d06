import { describe, expect, it } from 'vitest';
import { YoloError } from '../../lib/errors.js';
import { checkDetectOptions, checkDetectorOptions, resolveClasses, resolveClassThresholds } from '../../lib/options.js';

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    expect(YoloError.is(error, 'ERR_YOLO_INVALID_ARGUMENT')).toBe(true);
    return (error as YoloError).message;
  }
  throw new Error('nothing was refused');
}

describe('options of create()', () => {
  const refused: [options: unknown, message: string][] = [
    [null, 'Expected options to be an object but received null'],
    ['yolov8n.onnx', 'Expected options to be an object but received "yolov8n.onnx" (string)'],
    [{ confidenceThreshold: 25 }, 'Expected confidenceThreshold in [0, 1] but received 25 (number)'],
    [{ confidenceThreshold: Number.NaN }, 'Expected confidenceThreshold in [0, 1] but received NaN (number)'],
    [{ iouThreshold: '0.5' }, 'Expected iouThreshold in [0, 1] but received "0.5" (string)'],
    [{ maxDetections: 0 }, 'Expected maxDetections to be a whole number of at least 1 but received 0 (number)'],
    [{ classThresholds: 0.5 }, 'Expected classThresholds to be an object but received 0.5 (number)'],
    [{ classThresholds: [0.5] }, 'Expected classThresholds to be an object but received an array of 1'],
    [{ classThresholds: { person: 2 } }, 'Expected classThresholds["person"] in [0, 1] but received 2 (number)'],
    [{ lanes: 1.5 }, 'Expected lanes to be a whole number in [1, 256] but received 1.5 (number)'],
    [{ maxQueue: -1 }, 'Expected maxQueue to be a whole number of at least 0 but received -1 (number)'],
    [{ classAgnostic: 1 }, 'Expected classAgnostic to be true or false but received 1 (number)'],
    [{ multiLabel: 'yes' }, 'Expected multiLabel to be true or false but received "yes" (string)'],
    [{ maxPerClass: 0 }, 'Expected maxPerClass to be a whole number of at least 1 but received 0 (number)'],
    [{ classes: 'person' }, 'Expected classes to be an array but received "person" (string)'],
    [{ classes: ['person', -1] }, 'Expected classes[1] to be a whole number of at least 0 but received -1 (number)'],
    [{ labels: ['a', ''] }, 'Expected labels[1] to be a string that is not empty but received "" (string)'],
    [{ model: 7 }, 'Expected model to be a path, a file: URL or bytes but received 7 (number)'],
    [
      { device: 'cuda' },
      "Expected device to be 'auto', 'cpu', 'gpu', 'webgpu' or 'ref' but received \"cuda\" (string)",
    ],
    [{ rectangle: 1 }, 'Expected rectangle to be true or false but received 1 (number)'],
    [{ imageSize: [640] }, 'Expected imageSize to be a number or [width, height] but received an array of 1'],
    [{ imageSize: [640, 0] }, 'Expected imageSize to be a whole number in [1, 16384] but received 0 (number)'],
    [{ inputFormat: { divisor: 0 } }, 'Expected inputFormat.divisor'],
    [{ inputFormat: { divisor: 1e-50 } }, 'Expected inputFormat.divisor in [0.000001, 1000000] but received 1e-50'],
    [
      { classThresholds: new Map([['person', 0.5]]) },
      'Expected classThresholds to be an object but received an object (Map)',
    ],
    [Promise.resolve({}), 'Expected options to be an object but received an object (Promise)'],
    [{ labels: new Array(2) }, 'Expected labels[0] to be a string that is not empty but received undefined'],
    [{ classes: new Array(1) }, 'Expected classes[0] to be a whole number of at least 0 but received undefined'],
    [{ inputFormat: { mean: [1, 2] } }, 'Expected inputFormat.mean to have 3 numbers but received an array of 2'],
    [{ inputFormat: { mean: [1, 2, 3] } }, 'Expected inputFormat.mean and inputFormat.std together'],
    [
      { inputFormat: { letterbox: { placement: 'center' } } },
      "Expected inputFormat.letterbox.placement to be 'centre', 'top-left' or 'stretch' but received \"center\" (string); did you mean \"centre\"?",
    ],
    [{ postprocessor: {} }, 'Expected postprocessor.name to be a string that is not empty but received undefined'],
    [{ postprocessor: { name: 'x' } }, 'Expected postprocessor.decode to be a function but received undefined'],
    [{ signal: {} }, 'Expected signal to be an AbortSignal but received an object (Object)'],
    [{ onProgress: true }, 'Expected onProgress to be a function but received true (boolean)'],
  ];

  it.each(refused)('%o are refused, saying what was expected and received', (options, message) => {
    expect(messageOf(() => checkDetectorOptions(options))).toContain(message);
  });

  it('that do not exist are refused with the nearest that does', () => {
    expect(messageOf(() => checkDetectorOptions({ confidenceTreshold: 0.5 }))).toBe(
      'Unknown key "confidenceTreshold" in options; did you mean "confidenceThreshold"?',
    );
    expect(messageOf(() => checkDetectOptions({ confidence: 0.4 }))).toContain('did you mean "confidenceThreshold"?');
    expect(messageOf(() => checkDetectorOptions({ inputFormat: { layout: 'nchw' } }))).toContain(
      'known are channelOrder',
    );
    expect(messageOf(() => checkDetectOptions({ constructor: 1 }))).toContain('Unknown key "constructor"');
  });

  it('may be undefined, or all there is', () => {
    expect(() => checkDetectorOptions({ model: undefined, lanes: undefined })).not.toThrow();
    expect(() =>
      checkDetectorOptions({
        ...{ model: new Uint8Array(1), device: 'gpu:1', lanes: 2, threads: 1, maxQueue: Number.POSITIVE_INFINITY },
        ...{ maxBatch: 4, imageSize: [640, 384], rectangle: true, head: 'yolox', labels: ['a'], limitInputPixels: 1e6 },
        ...{ inputFormat: { mean: [0, 0, 0], std: [1, 1, 1], letterbox: { padValue: 0, scaleUp: false } } },
        ...{ allowDownload: true, cacheFolder: '/tmp', onProgress() {}, workerFile: new URL('file:///w.mjs') },
        ...{ confidenceThreshold: 0, iouThreshold: 1, classes: ['a', 0], signal: new AbortController().signal },
      }),
    ).not.toThrow();
  });

  it('may be an instance of a class', () => {
    class Settings {
      confidenceThreshold = 0.5;
    }
    expect(() => checkDetectorOptions(new Settings())).not.toThrow();
    expect(() => checkDetectOptions(Object.assign(Object.create(null), { classes: ['cat'] }))).not.toThrow();
  });

  it('take a postprocessor that is an instance of a class', () => {
    class Faces {
      readonly name = 'faces';
      readonly extra = 1;
      decode(): number {
        return this.extra;
      }
    }
    expect(() => checkDetectorOptions({ postprocessor: new Faces() })).not.toThrow();
  });
});

describe('classes', () => {
  const labels = ['person', 'bicycle', 'car', 'person'];

  it('become ids, ascending and each once; a name that two classes have means both', () => {
    expect(resolveClasses(['car', 'person', 2], labels)).toEqual([0, 2, 3]);
    expect(resolveClasses([], labels)).toEqual([]);
    expect(resolveClasses(['person', 0], labels)).toEqual([0, 3]);
  });

  it('that the model does not have are refused', () => {
    expect(messageOf(() => resolveClasses(['persn'], labels))).toBe(
      'The model has no class "persn"; did you mean "person"?',
    );
    expect(messageOf(() => resolveClasses([4], labels))).toBe('Expected a class id in [0, 3] but received 4');
  });
});

describe('thresholds of classes', () => {
  const labels = ['person', 'bicycle', 'car', 'person', '0'];

  it('are taken by name or number, a name first; a name that two classes have means both', () => {
    expect(resolveClassThresholds({ car: 0.5, 1: 0.4 }, labels)).toEqual(
      new Map([
        [1, 0.4],
        [2, 0.5],
      ]),
    );
    expect(resolveClassThresholds({ person: 0 }, labels)).toEqual(
      new Map([
        [0, 0],
        [3, 0],
      ]),
    );
    expect(resolveClassThresholds({ 0: 0.3 }, labels)).toEqual(new Map([[4, 0.3]]));
    expect(resolveClassThresholds({ car: undefined as unknown as number }, labels)).toEqual(new Map());
  });

  it('are refused for a class that the model does not have, and twice for one class', () => {
    expect(messageOf(() => resolveClassThresholds({ bycicle: 0.5 }, labels))).toBe(
      'The model has no class "bycicle"; did you mean "bicycle"?',
    );
    expect(messageOf(() => resolveClassThresholds({ 7: 0.5 }, labels))).toBe(
      'Expected a class id in [0, 4] but received 7',
    );
    expect(messageOf(() => resolveClassThresholds({ car: 0.5, 2: 0.4 }, labels))).toBe(
      'Expected one threshold for each class, but classThresholds has two for class 2 ("car")',
    );
  });
});
