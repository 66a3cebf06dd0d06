import { InvalidArgumentError, Option } from 'commander';

// What options of the command take; each throws InvalidArgumentError for anything else.

export const HEAD_HELP = 'how the outputs are read, where that is not recognised (docs/models.md)';

export function anchorsOption(): Option {
  return new Option('--anchors <set>', 'those of a model that was exported without its last layer').choices([
    'yolov5',
    'yolov7',
  ]);
}

export function fraction(text: string): number {
  const value = numberOf(text);
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('Expected a number in 0..1.');
  return value;
}

export function count(text: string): number {
  const value = numberOf(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('Expected a whole number from 1 on.');
  return value;
}

export function lineWidth(text: string): number {
  const value = count(text);
  if (value > 1000) throw new InvalidArgumentError('Expected at most 1000 pixels.');
  return value;
}

export function size(text: string): number | [number, number] {
  const [, width, height] = /^(\d+)(?:x(\d+))?$/.exec(text) ?? [];
  if (width === undefined) throw new InvalidArgumentError('Expected pixels, as 640 or 640x480 (width x height).');
  return height === undefined ? count(width) : [count(width), count(height)];
}

export function classList(text: string, before: readonly (string | number)[] = []): (string | number)[] {
  const classes = text.split(',').map((name) => name.trim());
  if (classes.includes('')) throw new InvalidArgumentError('Expected names or numbers with commas between them.');
  return [...before, ...classes.map((name) => (/^\d+$/.test(name) ? Number(name) : name))];
}

export function classThreshold(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  // A name may have the sign in it.
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected a class and its threshold, as person=0.5 or 0=0.5.');
  return { ...before, [text.slice(0, at).trim()]: fraction(text.slice(at + 1).trim()) };
}

/** NaN for what JavaScript would take for a number but people would not: '', ' ', '0x10'. */
function numberOf(text: string): number {
  return /^\d*\.?\d+(e-?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}
