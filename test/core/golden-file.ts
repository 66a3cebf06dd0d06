import { readFileSync } from 'node:fs';
import { shared } from '../support/shared.js';

interface Slice {
  offset: number;
  dtype: 'u8' | 'i32' | 'f32';
  shape: number[];
}

/** The golden file of a name, and the reader of the arrays beside it. */
export function golden(name: string): {
  // biome-ignore lint/suspicious/noExplicitAny: the shape is the golden file's own
  json: any;
  u8(slice: Slice): Uint8Array;
  i32(slice: Slice): Int32Array;
  f32(slice: Slice): Float32Array;
} {
  const json = JSON.parse(readFileSync(shared(`golden/${name}.json`), 'utf8'));
  const bytes = new Uint8Array(readFileSync(shared(`golden/${name}.bin`))).buffer;
  const length = (slice: Slice) => slice.shape.reduce((product, side) => product * side, 1);
  return {
    json,
    u8: (slice) => new Uint8Array(bytes, slice.offset, length(slice)),
    i32: (slice) => new Int32Array(bytes, slice.offset, length(slice)),
    f32: (slice) => new Float32Array(bytes, slice.offset, length(slice)),
  };
}
