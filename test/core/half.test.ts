import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  float16BitsToFloat32,
  float16ToFloat32Array,
  float32ToFloat16Array,
  float32ToFloat16Bits,
} from '../../lib/core/index.js';
import { YoloError } from '../../lib/errors.js';

const ALL = Uint16Array.from({ length: 65536 }, (_, bits) => bits);

/** By the definition, with no bit tricks. */
function valueOfBits(bits: number): number {
  const sign = bits >= 0x8000 ? -1 : 1;
  const exponent = Math.floor(bits / 1024) % 32;
  const fraction = (bits % 1024) / 1024;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15));
}

describe('float16', () => {
  it('has the exact value for each of the 65,536 bit patterns', () => {
    const values = float16ToFloat32Array(ALL);
    for (let bits = 0; bits < 65536; bits++) {
      if (Object.is(values[bits], valueOfBits(bits)) && Object.is(float16BitsToFloat32(bits), valueOfBits(bits)))
        continue;
      expect.fail(`${bits}: ${values[bits]}, ${float16BitsToFloat32(bits)}, not ${valueOfBits(bits)}`);
    }
  });

  it('returns to the same bits, and NaN to one NaN', () => {
    const bits = float32ToFloat16Array(float16ToFloat32Array(ALL));
    for (let i = 0; i < 65536; i++) {
      const expected = Number.isNaN(valueOfBits(i)) ? 0x7e00 : i;
      if ((bits[i] & (expected === 0x7e00 ? 0x7fff : 0xffff)) !== expected) expect.fail(`${i} became ${bits[i]}`);
    }
  });

  it('rounds a float32 to the nearest, halves to even', () => {
    expect(float32ToFloat16Bits(2049)).toBe(float32ToFloat16Bits(2048));
    expect(float16BitsToFloat32(float32ToFloat16Bits(2051))).toBe(2052);
    expect(float16BitsToFloat32(float32ToFloat16Bits(65519))).toBe(65504);
    expect(float16BitsToFloat32(float32ToFloat16Bits(65520))).toBe(Infinity);
    expect(float16BitsToFloat32(float32ToFloat16Bits(-1e30))).toBe(-Infinity);
    expect(float32ToFloat16Bits(2 ** -25)).toBe(0);
    expect(float32ToFloat16Bits(1.5 * 2 ** -24)).toBe(2);
    expect(float32ToFloat16Bits(-(2 ** -26))).toBe(0x8000);
    expect(float32ToFloat16Bits(2 ** -14 - 2 ** -26)).toBe(0x0400);
    const finite = Array.from({ length: 0x7c00 }, (_, bits) => valueOfBits(bits));
    fc.assert(
      fc.property(fc.float({ min: 0, max: 65504, noNaN: true }), (value) => {
        const bits = float32ToFloat16Bits(value);
        const off = Math.abs(finite[bits] - value);
        for (const beside of [bits - 1, bits + 1]) {
          const offBeside = Math.abs((finite[beside] ?? Infinity) - value);
          expect(off < offBeside || (off === offBeside && bits % 2 === 0)).toBe(true);
        }
        expect(float32ToFloat16Bits(-value)).toBe(bits | 0x8000);
      }),
      { numRuns: 2000 },
    );
  });

  it('is written into the arrays given, inside a larger buffer too', () => {
    const buffer = new Float32Array(6);
    const into = buffer.subarray(2, 5);
    expect(float16ToFloat32Array(Uint16Array.of(0x3c00, 0xc000), into)).toBe(into);
    expect(Array.from(buffer)).toEqual([0, 0, 1, -2, 0, 0]);
    const bits = new Uint16Array(2);
    expect(float32ToFloat16Array(Float32Array.of(1, -2), bits)).toBe(bits);
    expect(Array.from(bits)).toEqual([0x3c00, 0xc000]);
  });

  it('is not written into an array that is too short', () => {
    expect(() => float16ToFloat32Array(new Uint16Array(2), new Float32Array(1))).toThrow(/at least 2 .* 1/);
    expect(() => float32ToFloat16Array(new Float32Array(2), new Uint16Array(1))).toThrow(YoloError);
  });
});
