import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
// It is CommonJS: in Node its functions are found on the default export only.
import opentype, { type Font, type PathCommand } from 'opentype.js';
import { YoloError } from '../errors.js';

// One face in several files, each with some of the scripts: Latin first, the others read when a text needs them.
const SUBSETS = ['latin', 'latin-ext', 'cyrillic', 'cyrillic-ext', 'greek', 'vietnamese', 'hebrew', 'symbols', 'math'];

const fonts = new Map<string, Font>();

/** The outlines of a text. */
export interface Lettering {
  /** SVG path data, baseline at y = 0, beginning at x = 0. */
  readonly path: string;
  /** In pixels. */
  readonly width: number;
}

/**
 * Letters as outlines: text in an SVG would be drawn with the machine's own fonts, of which a container has none.
 * A character that the font lacks becomes a hollow box.
 * @param size of the letters (em), in pixels.
 */
export function lettering(text: string, size: number): Lettering {
  let width = 0;
  let path = '';
  for (const character of inDrawingOrder(text)) {
    const font = fontWith(character);
    if (font === undefined) {
      path += hollowBox(width, size);
      width += 0.7 * size;
      continue;
    }
    const glyph = font.charToGlyph(character);
    path += glyph.getPath(width, 0, size).commands.map(pathData).join('');
    width += ((glyph.advanceWidth ?? 0) * size) / font.unitsPerEm;
  }
  return { path, width };
}

// Hebrew, the one script here that runs from right to left.
function inDrawingOrder(text: string): string {
  return text.replace(/[\u0590-\u05ff]+(?: +[\u0590-\u05ff]+)*/g, (run) => [...run].reverse().join(''));
}

function fontWith(character: string): Font | undefined {
  for (const subset of SUBSETS) {
    const font = load(subset);
    if (font.charToGlyphIndex(character) > 0) return font;
  }
  return undefined;
}

function load(subset: string): Font {
  const known = fonts.get(subset);
  if (known !== undefined) return known;
  const file = `@fontsource/open-sans/files/open-sans-${subset}-600-normal.woff`;
  let bytes: Buffer;
  try {
    bytes = readFileSync(createRequire(import.meta.url).resolve(file));
  } catch (cause) {
    // Of an application bundled into one file without its node_modules.
    throw new YoloError(
      'ERR_YOLO_BINDING_NOT_FOUND',
      `The letters of labels (${file}) cannot be read: ${(cause as Error).message.split('\n', 1)[0]}. Keep the package @fontsource/open-sans installed beside the application`,
      { phase: 'annotate', detail: { package: '@fontsource/open-sans' }, cause },
    );
  }
  const { buffer, byteOffset, byteLength } = bytes;
  const font = opentype.parse(buffer.slice(byteOffset, byteOffset + byteLength));
  fonts.set(subset, font);
  return font;
}

// Not toPathData() of opentype.js: 2.0.0 runs a coordinate that rounds to -0 into the one before it.
function pathData(command: PathCommand): string {
  const coordinates: number[] = [];
  if (command.type === 'Q' || command.type === 'C') coordinates.push(command.x1, command.y1);
  if (command.type === 'C') coordinates.push(command.x2, command.y2);
  if (command.type !== 'Z') coordinates.push(command.x, command.y);
  return command.type + coordinates.map((at) => at.toFixed(2)).join(' ');
}

function hollowBox(x: number, size: number): string {
  const [left, right, top, line] = [x + 0.1 * size, x + 0.6 * size, -0.7 * size, 0.06 * size];
  return `M${left} 0H${right}V${top}H${left}ZM${left + line} ${-line}V${top + line}H${right - line}V${-line}Z`;
}
