import { YoloError } from '../errors.js';

/** @throws YoloError ERR_YOLO_INVALID_ARGUMENT unless `value` is a whole number in [least, most] */
export function requireWhole(name: string, value: number, least: number, most = Infinity): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  const message = `Expected ${name} to be a whole number ${range} but received ${value}`;
  throw new YoloError('ERR_YOLO_INVALID_ARGUMENT', message, { phase: 'validate', detail: { [name]: value } });
}

/** @throws YoloError ERR_YOLO_SHAPE_MISMATCH unless `array` holds as many values as needed */
export function requireLength(name: string, array: { readonly length: number }, least: number): void {
  if (array.length >= least) return;
  const message = `Expected ${name} to hold at least ${least} values but it holds ${array.length}`;
  throw new YoloError('ERR_YOLO_SHAPE_MISMATCH', message, { phase: 'validate' });
}
