import type { RgbImage } from '../types.js';

/** Level that shows through where a picture is transparent: that of the letterbox's border. */
const BACKGROUND = 114;

/**
 * Interleaved 8-bit pixels of 1 to 4 channels as RGB. Gray goes to all three; alpha is composited over level 114,
 * `(level * alpha + 114 * (255 - alpha)) / 255` rounded to the nearest. Three channels are passed on, not copied.
 */
export function toRgb(data: Uint8Array, width: number, height: number, channels: number): RgbImage {
  if (channels === 3) return { data, width, height };
  const out = new Uint8Array(width * height * 3);
  const isGray = channels < 3;
  const hasAlpha = channels === 2 || channels === 4;
  for (let from = 0, to = 0; to < out.length; from += channels, to += 3) {
    const red = data[from]!;
    const green = isGray ? red : data[from + 1]!;
    const blue = isGray ? red : data[from + 2]!;
    const alpha = hasAlpha ? data[from + channels - 1]! : 255;
    out[to] = over(red, alpha);
    out[to + 1] = over(green, alpha);
    out[to + 2] = over(blue, alpha);
  }
  return { data: out, width, height };
}

// 255 is odd, so there are no halves to decide.
function over(level: number, alpha: number): number {
  return ((level * alpha + BACKGROUND * (255 - alpha) + 127) / 255) | 0;
}
