import { requireArray } from './checks.js';

// float16: sign 1 bit | exponent 5 bits, bias 15 | fraction 10 bits
// float32: sign 1 bit | exponent 8 bits, bias 127 | fraction 23 bits

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** The value of a float16 given by its bits, 0..65535. Exact; NaN stays NaN, signed zeros and infinities keep their sign. */
export function float16BitsToFloat32(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** The bits of the float16 nearest to `value` as a float32; halves go to even, beyond 65504 to infinity, NaN to one quiet NaN. */
export function float32ToFloat16Bits(value: number): number {
  FLOAT[0] = value;
  const sign = (BITS[0] >>> 16) & 0x8000;
  const magnitude = BITS[0] & 0x7fffffff;
  if (magnitude >= 0x47800000) return sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00);
  if (magnitude < 0x38800000) {
    // Below 2^-14 a float16 counts in steps of 2^-24, as float32 does from 0.5 on: the addition rounds to them, halves to even.
    FLOAT[0] = Math.abs(FLOAT[0]) + 0.5;
    return sign | (BITS[0] - 0x3f000000);
  }
  const odd = (magnitude >>> 13) & 1;
  return sign | ((magnitude - 0x38000000 + 0xfff + odd) >>> 13);
}

/**
 * Float16 bits as float32, exact. A Float16Array of newer runtimes is given as
 * `new Uint16Array(array.buffer, array.byteOffset, array.length)`.
 * @param into at least as long as `bits`; defaults to a new array. Returned.
 * @throws YoloError ERR_YOLO_SHAPE_MISMATCH when `into` is shorter, ERR_YOLO_INVALID_ARGUMENT for arrays of another type
 */
export function float16ToFloat32Array(bits: Uint16Array, into?: Float32Array): Float32Array {
  requireArray('bits', bits, ['Uint16Array'], 0);
  const out = into ?? new Float32Array(bits.length);
  requireArray('into', out, ['Float32Array'], bits.length);
  const words = new Uint32Array(out.buffer, out.byteOffset, bits.length);
  for (let i = 0; i < bits.length; i++) {
    const half = bits[i];
    const magnitude = half & 0x7fff;
    if (magnitude >= 0x0400 && magnitude < 0x7c00)
      words[i] = ((half & 0x8000) << 16) | ((magnitude << 13) + 0x38000000);
    else out[i] = float16BitsToFloat32(half);
  }
  return out;
}

/**
 * Float32 as float16 bits, rounded to the nearest, halves to even.
 * @param into at least as long as `values`; defaults to a new array. Returned.
 * @throws YoloError ERR_YOLO_SHAPE_MISMATCH when `into` is shorter, ERR_YOLO_INVALID_ARGUMENT for arrays of another type
 */
export function float32ToFloat16Array(values: Float32Array, into?: Uint16Array): Uint16Array {
  requireArray('values', values, ['Float32Array'], 0);
  const out = into ?? new Uint16Array(values.length);
  requireArray('into', out, ['Uint16Array'], values.length);
  for (let i = 0; i < values.length; i++) out[i] = float32ToFloat16Bits(values[i]);
  return out;
}
