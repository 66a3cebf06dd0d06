import { writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { YoloError } from '../errors.js';
import type { ImageInput } from '../types.js';
import { coloursOf } from './colours.js';
import { DEFAULT_LIMIT_INPUT_PIXELS, decodeImage, describeInput, loadSharp } from './decode.js';
import { lettering } from './lettering.js';

/** What is drawn: a picture's size and its boxes in pixels, best first. */
export interface Drawing extends Iterable<DrawnBox> {
  readonly image: { readonly width: number; readonly height: number };
}

export interface DrawnBox {
  readonly xyxy: readonly [number, number, number, number];
  readonly confidence: number;
  readonly classId: number;
  readonly label: string;
}

const FORMATS = {
  '.png': 'png',
  '.jpg': 'jpeg',
  '.jpeg': 'jpeg',
  '.webp': 'webp',
  '.avif': 'avif',
  '.tif': 'tiff',
  '.tiff': 'tiff',
} as const;

type Format = (typeof FORMATS)[keyof typeof FORMATS];

/** The picture with boxes and labels drawn on it, as PNG. */
export function annotateToPng(picture: ImageInput, drawing: Drawing): Promise<Buffer> {
  return encode(picture, drawing, 'png');
}

/** The same, into a file of the format that its extension names. */
export async function annotateFile(path: string, picture: ImageInput, drawing: Drawing): Promise<void> {
  const format = typeof path === 'string' ? formatOf(path) : undefined;
  if (format === undefined)
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `Expected the path of a picture to end in ${Object.keys(FORMATS).join(', ')} but received ${typeof path === 'string' ? JSON.stringify(path) : describeInput(path)}`,
      { phase: 'annotate', detail: { path } },
    );
  const file = await encode(picture, drawing, format);
  try {
    await writeFile(path, file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such folder (ENOENT)' : message;
    throw failed(`Cannot write the picture ${path}: ${reason}`, { path, code }, cause);
  }
}

function formatOf(path: string): Format | undefined {
  return (FORMATS as Record<string, Format | undefined>)[extname(path).toLowerCase()];
}

async function encode(picture: ImageInput, drawing: Drawing, format: Format): Promise<Buffer> {
  // Detection has let its size pass, whatever the limit was.
  const limitInputPixels = Math.max(DEFAULT_LIMIT_INPUT_PIXELS, drawing.image.width * drawing.image.height);
  const { data, width, height } = await decodeImage(picture, { limitInputPixels });
  if (width !== drawing.image.width || height !== drawing.image.height)
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `The detections are of a picture of ${drawing.image.width}×${drawing.image.height}, but ${describeInput(picture)} has ${width}×${height}`,
      { phase: 'annotate', detail: { width, height } },
    );
  const sharp = await loadSharp();
  const drawn = Buffer.from(overlay(drawing));
  try {
    return await sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false })
      .composite([{ input: drawn, limitInputPixels: false }])
      .removeAlpha()
      .toFormat(format, format === 'jpeg' ? { quality: 92, chromaSubsampling: '4:4:4' } : {})
      .toBuffer();
  } catch (cause) {
    // Formats have greatest sizes: 16383 pixels a side for WebP.
    throw failed(
      `A picture of ${width}×${height} cannot be written as ${format}: ${(cause as Error).message}; choose another format`,
      { format, width, height },
      cause,
    );
  }
}

function failed(message: string, detail: Record<string, unknown>, cause: unknown): YoloError {
  return new YoloError('ERR_YOLO_INVALID_ARGUMENT', message, { phase: 'annotate', detail, cause });
}

function overlay(drawing: Drawing): string {
  const { width, height } = drawing.image;
  // The best are drawn last, over the others.
  const boxes = [...drawing].reverse().map((box) => drawBox(box, width, height));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${boxes.join('')}</svg>`;
}

/** A frame, and a label above it; where there is no room above, inside it, and always inside the picture. */
function drawBox(
  { xyxy: [x1, y1, x2, y2], confidence, classId, label }: DrawnBox,
  width: number,
  height: number,
): string {
  const side = (width + height) / 2;
  const line = Math.max(1, Math.round(side * 0.003));
  // Half a line inside the picture: at its border the other half would be cut off.
  const [minX, minY, maxX, maxY] = [line / 2, line / 2, width - line / 2, height - line / 2];
  const frameX = clamp(x1, minX, maxX);
  const frameY = clamp(y1, minY, maxY);
  const frameWidth = clamp(x2, frameX, maxX) - frameX;
  const frameHeight = clamp(y2, frameY, maxY) - frameY;
  const colours = coloursOf(classId);
  const text = `${label} ${confidence.toFixed(2)}`;
  const wanted = Math.max(10, Math.round(side * 0.02));
  // A label as wide as the picture at most, even if that makes it small.
  const size = Math.min(wanted, (wanted * width) / (lettering(text, wanted).width + 0.6 * wanted));
  const letters = lettering(text, size);
  const margin = 0.3 * size;
  const labelWidth = letters.width + 2 * margin;
  const labelHeight = 1.3 * size;
  const left = Math.max(0, Math.min(x1 - line / 2, width - labelWidth));
  const above = y1 - line / 2 - labelHeight;
  const top = Math.max(0, Math.min(above >= 0 ? above : y1 - line / 2, height - labelHeight));
  return (
    `<rect x="${frameX}" y="${frameY}" width="${frameWidth}" height="${frameHeight}" fill="none" stroke="${colours.fill}" stroke-width="${line}"/>` +
    `<rect x="${left}" y="${top}" width="${labelWidth}" height="${labelHeight}" fill="${colours.fill}"/>` +
    `<path transform="translate(${left + margin} ${top + size})" fill="${colours.text}" d="${letters.path}"/>`
  );
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
