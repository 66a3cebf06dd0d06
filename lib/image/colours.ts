/** The golden angle: steps of it spread hues evenly, however many classes there are. */
const GOLDEN_ANGLE = 137.50776;

/** Lightnesses by turns, so that classes whose hues come close differ still. */
const LIGHTNESS = [50, 38, 62];

export interface Colours {
  /** `#rrggbb` of lines and label. */
  readonly fill: string;
  /** `#000000` or `#ffffff`, whichever reads better on it. */
  readonly text: string;
}

/** `#rgb` or `#rrggbb`, as CSS has them. */
export const HEX_COLOUR = /^#(?:[\da-f]{3}|[\da-f]{6})$/i;

/**
 * Colours of a class: the same ones always, hue `classId * 137.5°`.
 * @param own `#rgb` or `#rrggbb` that goes before it.
 */
export function coloursOf(classId: number, own?: string): Colours {
  const rgb =
    own === undefined
      ? hslToRgb((classId * GOLDEN_ANGLE) % 360, 0.85, LIGHTNESS[classId % LIGHTNESS.length]! / 100)
      : hexToRgb(own);
  const fill = `#${rgb.map((level) => level.toString(16).padStart(2, '0')).join('')}`;
  // Contrast with black and with white are equal at this luminance (WCAG 2, relative luminance).
  return { fill, text: luminance(rgb) > 0.179 ? '#000000' : '#ffffff' };
}

function hexToRgb(colour: string): number[] {
  const digits = colour.length === 4 ? colour.replace(/[^#]/g, '$&$&') : colour;
  return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
}

function hslToRgb(hue: number, saturation: number, lightness: number): number[] {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  return [0, 8, 4].map((offset) => {
    const step = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(step - 3, 9 - step, 1))));
  });
}

function luminance(rgb: readonly number[]): number {
  const [red, green, blue] = rgb.map((level) => {
    const share = level / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
