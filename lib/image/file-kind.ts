import { constants, gunzipSync } from 'node:zlib';

/** Bytes at the start of a file that are enough to tell what it is. */
const LEADING_BYTES = 4096;

/** A file that is not decoded: what it is, and what its owner can do. */
export interface RefusedKind {
  readonly format: string;
  readonly remedy: string;
}

/** A few hundred bytes of it can keep a processor busy for half a minute. */
export const SVG: RefusedKind = { format: 'SVG', remedy: 'it is a drawing, not a picture; draw it to PNG first' };

const CONVERT = 'convert it to JPEG, PNG, WebP, AVIF or TIFF';

const SIGNATURES: readonly (readonly [format: string, offset: number, signature: string])[] = [
  ['BMP', 0, 'BM'],
  ['JPEG 2000', 4, 'jP  '],
  ['JPEG 2000', 0, '\xff\x4f\xff\x51'],
  ['JPEG XL', 0, '\xff\x0a'],
  ['JPEG XL', 4, 'JXL '],
  ['PDF', 0, '%PDF'],
  ['Windows icon', 0, '\0\0\x01\0'],
  ['Photoshop', 0, '8BPS'],
  ['HEIF', 4, 'ftypmif1'],
  ['HEIF', 4, 'ftypmsf1'],
  ['AVIF sequence', 4, 'ftypavis'],
  ['MP4 or QuickTime video', 4, 'ftyp'],
  ['Matroska or WebM video', 0, '\x1a\x45\xdf\xa3'],
  ['ZIP', 0, 'PK\x03\x04'],
];

/**
 * Says what a file is when it is known not to be read: SVG, which is refused on purpose, and formats that the prebuilt decoder lacks.
 * Undefined for all others. Looks at the leading bytes only, never at a name.
 */
export function refusedKind(bytes: Uint8Array): RefusedKind | undefined {
  const leading = bytes.subarray(0, LEADING_BYTES);
  const isGzip = leading[0] === 0x1f && leading[1] === 0x8b;
  const text = asText(isGzip ? inflated(bytes) : leading);
  // No picture begins as markup does, so what kind of markup it is need only be right in the message.
  if (/^[\s\uFEFF\0]*</.test(text)) return markup(text);
  // The decoder looks for a drawing behind other text as well.
  if (/^[\t\n\r\x20-\x7e]*<svg/i.test(text)) return SVG;
  if (isGzip) return { format: 'gzip', remedy: 'unpack it first' };
  const latin1 = Buffer.from(leading.subarray(0, 16)).toString('latin1');
  // AVIF, too, is an ISO file with brands; its still pictures are read.
  const brands = brandsOf(leading);
  if (brands[0] !== 'avis' && brands.includes('avif')) return undefined;
  if (brands.some((brand) => /^he(i[cxms]|v[cxms])$/.test(brand))) return { format: 'HEIC', remedy: CONVERT };
  const known = SIGNATURES.find(([, offset, signature]) => latin1.startsWith(signature, offset));
  if (known !== undefined) return { format: known[0], remedy: CONVERT };
  if (/^\s*[{[]\s*["{[]/.test(text)) return { format: 'JSON', remedy: 'pass a picture' };
  return undefined;
}

function markup(text: string): RefusedKind {
  if (/<!doctype html|<html|<head|<body/i.test(text))
    return { format: 'HTML', remedy: 'a web page was saved in place of the picture; download the picture itself' };
  return /svg/i.test(text) ? SVG : { format: 'XML', remedy: 'pass a picture' };
}

function asText(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const [first, second] = buffer;
  const isLittle = (first === 0xff && second === 0xfe) || (first === 0x3c && second === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c);
  if (isLittle) return buffer.toString('utf16le');
  if (isBig)
    return Buffer.from(buffer.subarray(0, buffer.length & ~1))
      .swap16()
      .toString('utf16le');
  return buffer.toString('utf8');
}

/** As much as the first few kilobytes hold, which is a few megabytes at most. */
function inflated(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes.subarray(0, LEADING_BYTES), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(
      0,
      LEADING_BYTES,
    );
  } catch {
    return new Uint8Array(0);
  }
}

/** The brands of an ISO file, its own first, then those that it is compatible with; of other files none. */
function brandsOf(leading: Uint8Array): string[] {
  const text = Buffer.from(leading.subarray(0, 64)).toString('latin1');
  if (!text.startsWith('ftyp', 4)) return [];
  const length = Math.min(64, (leading[2]! << 8) | leading[3]!);
  // Between them lies a version of four bytes.
  return [text.slice(8, 12), ...(text.slice(16, length).match(/.{4}/gs) ?? [])];
}
