import { setImmediate } from 'node:timers/promises';
import type { RgbImage } from '../types.js';

/** Pixels made in one go, about a millisecond's: this runs on the caller's thread, which others wait for. */
const SLICE = 1 << 17;

/** Level that shows through where a picture is transparent: that of the letterbox's border. */
const BACKGROUND = 114;

/**
 * Interleaved 8-bit pixels of 1 to 4 channels as RGB. Gray goes to all three; alpha is composited over level 114,
 * `(level * alpha + 114 * (255 - alpha)) / 255` rounded to the nearest (255 is odd: there are no halves). Three channels are passed on, not copied.
 */
export async function toRgb(data: Uint8Array, width: number, height: number, channels: number): Promise<RgbImage> {
  if (channels === 3) return { data, width, height };
  const out = new Uint8Array(width * height * 3);
  for (let start = 0; start < width * height; start += SLICE) {
    if (start > 0) await setImmediate();
    const end = start + SLICE;
    const slice = data.subarray(start * channels, end * channels);
    if (channels === 1) spreadGray(slice, out.subarray(start * 3, end * 3));
    else composite(slice, out.subarray(start * 3, end * 3), channels);
  }
  return { data: out, width, height };
}

function spreadGray(data: Uint8Array, out: Uint8Array): void {
  for (let from = 0, to = 0; to < out.length; from++, to += 3) {
    const level = data[from]!;
    out[to] = level;
    out[to + 1] = level;
    out[to + 2] = level;
  }
}

// Almost all pixels of almost all pictures are opaque: those are copied.
function composite(data: Uint8Array, out: Uint8Array, channels: number): void {
  const [toGreen, toBlue, toAlpha] = channels === 2 ? [0, 0, 1] : [1, 2, 3];
  for (let from = 0, to = 0; to < out.length; from += channels, to += 3) {
    const red = data[from]!;
    const green = data[from + toGreen]!;
    const blue = data[from + toBlue]!;
    const alpha = data[from + toAlpha]!;
    if (alpha === 255) {
      out[to] = red;
      out[to + 1] = green;
      out[to + 2] = blue;
    } else {
      const below = BACKGROUND * (255 - alpha) + 128;
      out[to] = over255(red * alpha + below);
      out[to + 1] = over255(green * alpha + below);
      out[to + 2] = over255(blue * alpha + below);
    }
  }
}

// `(sum - 128) / 255` to the nearest, without a division: exact for all sums of two products of levels.
function over255(sum: number): number {
  return (sum + (sum >> 8)) >> 8;
}
