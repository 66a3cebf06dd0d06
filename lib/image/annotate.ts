import type { ImageInput } from '../types.js';
import { writeWhole } from '../whole-file.js';
import { type Colours, coloursOf } from './colours.js';
import { isPixels } from './input.js';
import { lettering } from './lettering.js';
import { encodePicture, formatOf, type Origin, type PictureFormat, readAgain } from './picture-file.js';

/** What is drawn: a picture's size and its boxes in pixels, best first. */
export interface Drawing extends Origin, Iterable<DrawnBox> {}

export interface DrawnBox {
  readonly xyxy: readonly [number, number, number, number];
  readonly confidence: number;
  readonly classId: number;
  readonly label: string;
}

/** How it is drawn. */
export interface Style {
  readonly hasLabels: boolean;
  /** Of frames, in pixels; undefined for one that suits the picture. */
  readonly lineWidth?: number;
  /** `#rgb` or `#rrggbb` by class id; a class without one has its usual colour. */
  readonly colours: readonly (string | undefined)[];
}

/** The style with all that depends on the picture. */
interface Pens {
  readonly line: number;
  readonly coloursOf: (classId: number) => Colours;
}

/** In UTF-16 units. */
const LONGEST_LABEL = 64;

/** The picture with boxes and labels drawn on it, as PNG. */
export function annotateToPng(picture: ImageInput, drawing: Drawing, style: Style): Promise<Buffer> {
  return draw(picture, drawing, style, 'png');
}

/** The same, into a file of the format that its extension names. */
export async function annotateFile(path: string, picture: ImageInput, drawing: Drawing, style: Style): Promise<void> {
  const format = formatOf(path);
  await writeWhole(path, await draw(picture, drawing, style, format), 'picture', 'annotate');
}

async function draw(picture: ImageInput, drawing: Drawing, style: Style, format: PictureFormat): Promise<Buffer> {
  const image = await readAgain(picture, drawing);
  // The encoder reads on another thread, and takes no shared memory: of the caller's own pixels it gets a copy.
  const pixels = isPixels(picture) ? { ...image, data: new Uint8Array(image.data) } : image;
  return encodePicture(pixels, format, Buffer.from(overlay(drawing, style)));
}

/** Frames first and labels over them, both with the best on top. */
function overlay(drawing: Drawing, { hasLabels, lineWidth, colours }: Style): string {
  const { width, height } = drawing.image;
  const pens: Pens = {
    // Of a line thicker than half the picture there would be nothing to see.
    line: lineWidth === undefined ? usualLineWidth(width, height) : Math.min(lineWidth, width / 2, height / 2),
    coloursOf: (classId) => coloursOf(classId, colours[classId]),
  };
  const frames: string[] = [];
  const labels: string[] = [];
  const taken: Rectangle[] = [];
  for (const box of drawing) {
    frames.push(drawFrame(box, width, height, pens));
    if (hasLabels) labels.push(drawLabel(box, width, height, pens, taken));
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${frames.reverse().join('')}${labels.reverse().join('')}</svg>`;
}

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

function usualLineWidth(width: number, height: number): number {
  // Of a picture that is very flat its lower side counts.
  return Math.max(1, Math.round(Math.min((width + height) * 0.0015, Math.min(width, height) * 0.02)));
}

function drawFrame({ xyxy: [x1, y1, x2, y2], classId }: DrawnBox, width: number, height: number, pens: Pens): string {
  const { line } = pens;
  // Half a line inside the picture: at its border the other half would be cut off.
  const [minX, minY, maxX, maxY] = [line / 2, line / 2, width - line / 2, height - line / 2];
  const x = clamp(x1, minX, maxX);
  const y = clamp(y1, minY, maxY);
  const size = `width="${clamp(x2, x, maxX) - x}" height="${clamp(y2, y, maxY) - y}"`;
  return `<rect x="${x}" y="${y}" ${size} fill="none" stroke="${pens.coloursOf(classId).fill}" stroke-width="${line}"/>`;
}

/** A label at its box and always inside the picture, where no better box has its own, if there is such a place. */
function drawLabel(box: DrawnBox, width: number, height: number, pens: Pens, taken: Rectangle[]): string {
  const { confidence, classId, label } = box;
  const colours = pens.coloursOf(classId);
  const text = `${shortened(label)} ${confidence.toFixed(2)}`;
  const wanted = Math.max(10, Math.round((width + height) * 0.01));
  const usual = lettering(text, wanted);
  // A label as wide and as high as the picture at most, even if that makes it small.
  const size = Math.min(wanted, (wanted * width) / (usual.width + 0.6 * wanted), height / 1.3);
  const letters = size === wanted ? usual : lettering(text, size);
  const margin = 0.3 * size;
  const spots = labelSpots(box, width, height, pens.line, letters.width + 2 * margin, 1.3 * size);
  const spot = spots.find((one) => !taken.some((other) => overlap(one, other))) ?? spots[0]!;
  taken.push(spot);
  return (
    `<rect x="${spot.x}" y="${spot.y}" width="${spot.width}" height="${spot.height}" fill="${colours.fill}"/>` +
    `<path transform="translate(${spot.x + margin} ${spot.y + size})" fill="${colours.text}" d="${letters.path}"/>`
  );
}

/** Nobody reads more of it, and outlines of long texts take seconds. */
function shortened(label: string): string {
  return label.length > LONGEST_LABEL ? `${label.slice(0, LONGEST_LABEL - 1)}…` : label;
}

/** Where a label may stand, best first: above the box, in its upper edge, in its lower edge, below it, and down its side. */
function labelSpots(
  { xyxy: [x1, y1, , y2] }: DrawnBox,
  pictureWidth: number,
  pictureHeight: number,
  line: number,
  width: number,
  height: number,
): Rectangle[] {
  const half = line / 2;
  const upper = clamp(y1 - half, 0, Math.max(0, pictureHeight - height));
  const [above, lower, below] = [y1 - half - height, y2 + half - height, y2 + half];
  const down = [1, 2, 3, 4].map((step) => upper + step * height).filter((y) => y < lower);
  return [above, upper, lower, below, ...down]
    .filter((y) => y === upper || (y >= 0 && y + height <= pictureHeight))
    .map((y) => ({ x: clamp(x1 - half, 0, Math.max(0, pictureWidth - width)), y, width, height }));
}

function overlap(a: Rectangle, b: Rectangle): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}
