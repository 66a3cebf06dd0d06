import { describe, expect, it } from 'vitest';
import {
  createLetterbox,
  cxcywhToXyxy,
  float16ToFloat32Array,
  float32ToFloat16Array,
  nms,
  pointsToImage,
  resizeBilinear,
  xyxyToXywh,
} from '../../lib/core/index.js';
import { YoloError } from '../../lib/errors.js';

const square = createLetterbox(10, 10, 10, 10);
// biome-ignore lint/suspicious/noExplicitAny: misuse
const any = (value: unknown): any => value;

describe('misuse of the parts is answered with what was expected', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['a letterbox without options', () => createLetterbox(1, 1, 1, 1, any(null)), /options to be an object .* null/],
    ['a misspelt placement', () => createLetterbox(1, 1, 1, 1, any({ placement: 'center' })), /'centre' .* "center"/],
    ['a letterbox of no placement', () => createLetterbox(1, 1, 1, 1, any({})), /placement .* received undefined/],
    ['a side in text', () => createLetterbox(any('1'), 1, 1, 1), /imageWidth .* received "1" \(string\)/],
    ['points in an array', () => pointsToImage(any([1, 2]), 1, square), /Float32Array or Float64Array .* array of 2/],
    ['half a point', () => pointsToImage(new Float32Array(2), 0.5, square), /count .* 0\.5/],
    ['boxes in an array', () => xyxyToXywh(any([1, 2, 3, 4])), /boxes to be a Float32Array .* an array of 4/],
    ['boxes of integers', () => cxcywhToXyxy(any(new Int32Array(4))), /Float32Array or Float64Array .*\(Int32Array\)/],
    ['a box and a half', () => xyxyToXywh(new Float32Array(6)), /4 values each but it holds 6/],
    ['too short a result', () => xyxyToXywh(new Float32Array(8), new Float32Array(4)), /into .* at least 8 .* 4/],
    [
      'nothing to suppress',
      () => nms(any(undefined), any(undefined), { iouThreshold: 0.5 }),
      /confidence .* undefined/,
    ],
    [
      'boxes in lists',
      () => nms(any([[0, 0, 1, 1]]), new Float32Array(1), { iouThreshold: 0.5 }),
      /xyxy .* array of 1/,
    ],
    ['no options', () => nms(new Float32Array(4), new Float32Array(1), any(undefined)), /options .* undefined/],
    [
      'a threshold in text',
      () => nms(new Float32Array(4), new Float32Array(1), any({ iouThreshold: '0.5' })),
      /"0\.5"/,
    ],
    ['bits as floats', () => float16ToFloat32Array(any(new Float32Array(1))), /bits to be a Uint16Array/],
    ['floats as numbers', () => float32ToFloat16Array(any([1])), /values to be a Float32Array/],
    ['no picture', () => resizeBilinear(any(null), 1, 1), /image to be an object .* null/],
    [
      'five channels',
      () => resizeBilinear(any({ data: new Uint8Array(5), width: 1, height: 1, channels: 5 }), 1, 1),
      /channels .* from 1 to 4 .* 5/,
    ],
    [
      'pixels of 16 bits',
      () => resizeBilinear(any({ data: new Uint16Array(3), width: 1, height: 1, channels: 3 }), 1, 1),
      /Uint8Array or Uint8ClampedArray .* \(Uint16Array\)/,
    ],
    ['a symbol', () => createLetterbox(any(Symbol('a')), 1, 1, 1), /Symbol\(a\) \(symbol\)/],
    [
      'a function',
      () =>
        createLetterbox(
          any(() => 1),
          1,
          1,
          1,
        ),
      /received a function/,
    ],
    ['an object of no class', () => createLetterbox(any(Object.create(null)), 1, 1, 1), /an object \(object\)/],
  ])('%s', (_, misuse, message) => {
    let thrown: unknown;
    try {
      misuse();
    } catch (error) {
      thrown = error;
    }
    expect(YoloError.is(thrown)).toBe(true);
    expect((thrown as Error).message).toMatch(message);
  });

  it('arrays of another realm are arrays', async () => {
    const { runInNewContext } = await import('node:vm');
    const boxes = runInNewContext('new Float32Array([0, 0, 2, 4])');
    expect([...xyxyToXywh(boxes)]).toEqual([0, 0, 2, 4]);
  });
});
