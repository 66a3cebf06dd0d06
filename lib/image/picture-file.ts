import { extname } from 'node:path';
import { YoloError } from '../errors.js';
import { show } from '../show.js';
import type { ImageInput, RgbImage } from '../types.js';
import { DEFAULT_LIMIT_INPUT_PIXELS, decodeImage, describeInput, loadSharp } from './decode.js';

/** What the picture must be that boxes are drawn on or cut out of. */
export interface Origin {
  /** In pixels. */
  readonly image: { readonly width: number; readonly height: number };
  /** Whether the boxes are in the upright picture. */
  readonly autoOrient: boolean;
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

/** What pictures are written as. */
export type PictureFormat = (typeof FORMATS)[keyof typeof FORMATS];

/**
 * The format that a path's extension names.
 * @throws ERR_YOLO_INVALID_ARGUMENT for what is no path, and for another extension.
 */
export function formatOf(path: string): PictureFormat {
  const format =
    typeof path === 'string'
      ? (FORMATS as Record<string, PictureFormat | undefined>)[extname(path).toLowerCase()]
      : undefined;
  if (format === undefined)
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `Expected the path of a picture to end in ${Object.keys(FORMATS).join(', ')} but received ${show(path)}`,
      { phase: 'annotate', detail: { path } },
    );
  return format;
}

/**
 * Decodes the picture that detections came from once more. Nothing is fetched a second time: it may be another picture by now. Pixels of three channels are the caller's own, not a copy.
 * @throws ERR_YOLO_INVALID_ARGUMENT for a picture of another size; ERR_YOLO_IMAGE_DECODE.
 */
export async function readAgain(picture: ImageInput, { image, autoOrient }: Origin): Promise<RgbImage> {
  // Detection has let its size pass, whatever the limit was.
  const limitInputPixels = Math.max(DEFAULT_LIMIT_INPUT_PIXELS, image.width * image.height);
  const decoded = await decodeImage(picture, { limitInputPixels, autoOrient, urls: false });
  const { width, height } = decoded;
  if (width !== image.width || height !== image.height)
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `The detections are of a picture of ${image.width}×${image.height}, but ${describeInput(picture)} has ${width}×${height}`,
      { phase: 'annotate', detail: { width, height } },
    );
  return decoded;
}

/**
 * Encodes pixels, with an SVG of their size drawn over them if there is one. They must stay unchanged until it is done.
 * @throws ERR_YOLO_INVALID_ARGUMENT for a size that the format does not take.
 */
export async function encodePicture(
  { data, width, height }: RgbImage,
  format: PictureFormat,
  svg?: Buffer,
): Promise<Buffer> {
  const sharp = await loadSharp();
  try {
    return await sharp(data, { raw: { width, height, channels: 3 }, limitInputPixels: false })
      .composite(svg === undefined ? [] : [{ input: svg, limitInputPixels: false }])
      .removeAlpha()
      .toFormat(format, format === 'jpeg' ? { quality: 92, chromaSubsampling: '4:4:4' } : {})
      .toBuffer();
  } catch (cause) {
    // Formats have greatest sizes: 16383 pixels a side for WebP.
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `A picture of ${width}×${height} cannot be written as ${format}: ${(cause as Error).message}; choose another format`,
      { phase: 'annotate', detail: { format, width, height }, cause },
    );
  }
}
