import { YoloError } from '../errors.js';
import { show } from '../show.js';

/** @throws YoloError ERR_YOLO_INVALID_ARGUMENT unless `value` is a whole number in [least, most] */
export function requireWhole(name: string, value: number, least: number, most = Infinity): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  throw refusal(name, `to be a whole number ${range}`, value);
}

/** @throws YoloError ERR_YOLO_INVALID_ARGUMENT unless `value` is a number, and a finite one */
export function requireNumber(name: string, value: unknown): void {
  if (!Number.isFinite(value)) throw refusal(name, 'to be a finite number', value);
}

/** @throws YoloError ERR_YOLO_INVALID_ARGUMENT unless `value` is one of the words */
export function requireOneOf(name: string, value: unknown, words: readonly string[]): void {
  if (typeof value === 'string' && words.includes(value)) return;
  throw refusal(name, `to be ${words.map((word) => `'${word}'`).join(' or ')}`, value);
}

/** @throws YoloError ERR_YOLO_INVALID_ARGUMENT unless `value` is an object */
export function requireObject(name: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return;
  throw refusal(name, 'to be an object', value);
}

/**
 * @param types the names of the typed arrays that are allowed
 * @throws YoloError ERR_YOLO_INVALID_ARGUMENT for another type, ERR_YOLO_SHAPE_MISMATCH unless it holds as many values as needed
 */
export function requireArray(name: string, array: ArrayLike<number>, types: readonly string[], least: number): void {
  // Not `instanceof`: test runners give each file a realm of its own, with other constructors.
  const type = ArrayBuffer.isView(array) ? (array as Float32Array)[Symbol.toStringTag] : '';
  if (!types.includes(type)) throw refusal(name, `to be a ${types.join(' or ')}`, array);
  if (array.length >= least) return;
  const message = `Expected ${name} to hold at least ${least} values but it holds ${array.length}`;
  throw new YoloError('ERR_YOLO_SHAPE_MISMATCH', message, { phase: 'validate' });
}

function refusal(name: string, expected: string, value: unknown): YoloError {
  return new YoloError('ERR_YOLO_INVALID_ARGUMENT', `Expected ${name} ${expected} but received ${show(value)}`, {
    phase: 'validate',
    detail: { [name]: value },
  });
}
