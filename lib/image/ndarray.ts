import { setImmediate } from 'node:timers/promises';
import { types } from 'node:util';
import { show } from '../show.js';
import type { NdArrayImage } from '../types.js';

/** Pixels moved in one go: this runs on the caller's thread, which others wait for. */
const SLICE = 1 << 17;

/** An ndarray's axes as rows, columns and channels, with a step of one element in each; gray ones have a single channel. */
interface Axes {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly rowStride: number;
  readonly columnStride: number;
  readonly channelStride: number;
}

/** Whether it means to be an ndarray of `npm i ndarray`; whether it is a picture is another question. */
export function isNdArrayShaped(input: unknown): input is NdArrayImage {
  return typeof input === 'object' && input !== null && 'data' in input && 'shape' in input && 'stride' in input;
}

export function axesOf({ shape, stride }: NdArrayImage): Axes {
  const [height, width, channels = 1] = shape as [number, number, number?];
  const [rowStride, columnStride, channelStride = 1] = stride as [number, number, number?];
  return { height, width, channels, rowStride, columnStride, channelStride };
}

/** The first lengths, which may be anything until they are checked. */
export function listed(lengths: readonly unknown[], separator = ''): string {
  return Array.from(lengths.slice(0, 8), (one) => (typeof one === 'number' ? String(one) : show(one))).join(separator);
}

/** What keeps it from being a picture, as the second half of a sentence; undefined where nothing does. */
export function ndArrayProblem({ data, shape, stride, offset }: NdArrayImage): string | undefined {
  if (!Array.isArray(shape) || !Array.isArray(stride)) return 'shape and stride are no arrays';
  const axes = `[${listed(shape, ', ')}]`;
  if (shape.length < 2 || shape.length > 3) return `its shape is ${axes}`;
  // Spread: every() passes over holes.
  if (![...shape].every((length) => Number.isSafeInteger(length) && length >= 1)) return `its shape is ${axes}`;
  if (shape.length === 3 && shape[2]! > 4) {
    const hint = shape[0]! <= 4 ? '; where channels come first, pass array.transpose(1, 2, 0)' : '';
    return `its shape ${axes} has ${shape[2]} channels${hint}`;
  }
  if (!(types.isUint8Array(data) || types.isUint8ClampedArray(data)))
    return 'its data are no Uint8Array of 8-bit levels';
  if (stride.length !== shape.length || ![offset, ...stride].every(Number.isSafeInteger))
    return `stride [${listed(stride, ', ')}] and offset ${listed([offset])} are not whole numbers, one stride for each axis`;
  const ends = shape.map((length, axis) => (length - 1) * stride[axis]!);
  const first = ends.reduce((sum, end) => sum + Math.min(end, 0), offset);
  const last = ends.reduce((sum, end) => sum + Math.max(end, 0), offset);
  if (first < 0 || last >= data.length)
    return `its elements ${first} to ${last} are not all in its data, which have ${data.length}`;
  return undefined;
}

/** Its elements in rows without gaps, [height, width, channels]: its own memory where they lie like that, else a copy. */
export async function packedElements(array: NdArrayImage): Promise<Uint8Array> {
  const axes = axesOf(array);
  const { height, width, channels } = axes;
  const data = new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.length);
  const length = height * width * channels;
  if (isPacked(axes)) return data.subarray(array.offset, array.offset + length);
  const out = new Uint8Array(length);
  const rows = Math.max(1, Math.floor(SLICE / width));
  for (let y = 0; y < height; y += rows) {
    if (y > 0) await setImmediate();
    copyRows(data, array.offset, axes, out, y, Math.min(y + rows, height));
  }
  return out;
}

// The stride of an axis of one element is never taken.
function isPacked({ height, width, channels, rowStride, columnStride, channelStride }: Axes): boolean {
  return (
    (channels === 1 || channelStride === 1) &&
    (width === 1 || columnStride === channels) &&
    (height === 1 || rowStride === width * channels)
  );
}

function copyRows(data: Uint8Array, offset: number, axes: Axes, out: Uint8Array, from: number, until: number): void {
  const { width, channels, rowStride, columnStride, channelStride } = axes;
  let to = from * width * channels;
  for (let y = from; y < until; y++) {
    for (let x = 0; x < width; x++) {
      const at = offset + y * rowStride + x * columnStride;
      for (let channel = 0; channel < channels; channel++) out[to++] = data[at + channel * channelStride]!;
    }
  }
}
