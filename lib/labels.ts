import { YoloError } from './errors.js';

/** The 80 class names of COCO, in the order that detectors use. */
export const COCO_LABELS: readonly string[] = Object.freeze([
  ...['person', 'bicycle', 'car', 'motorcycle', 'airplane', 'bus', 'train', 'truck', 'boat', 'traffic light'],
  ...['fire hydrant', 'stop sign', 'parking meter', 'bench', 'bird', 'cat', 'dog', 'horse', 'sheep', 'cow'],
  ...['elephant', 'bear', 'zebra', 'giraffe', 'backpack', 'umbrella', 'handbag', 'tie', 'suitcase', 'frisbee'],
  ...['skis', 'snowboard', 'sports ball', 'kite', 'baseball bat', 'baseball glove', 'skateboard', 'surfboard'],
  ...['tennis racket', 'bottle', 'wine glass', 'cup', 'fork', 'knife', 'spoon', 'bowl', 'banana', 'apple'],
  ...['sandwich', 'orange', 'broccoli', 'carrot', 'hot dog', 'pizza', 'donut', 'cake', 'chair', 'couch'],
  ...['potted plant', 'bed', 'dining table', 'toilet', 'tv', 'laptop', 'mouse', 'remote', 'keyboard', 'cell phone'],
  ...['microwave', 'oven', 'toaster', 'sink', 'refrigerator', 'book', 'clock', 'vase', 'scissors', 'teddy bear'],
  ...['hair drier', 'toothbrush'],
]);

/** More classes than any detector has; an index beyond it is damage, and not worth the memory. */
const MAX_CLASSES = 100_000;

/**
 * One name for each class: `forced`, else the model's own, else COCO's for 80 classes, else class0, class1 …
 * @param metadata the ONNX file's metadata_props.
 * @throws ERR_YOLO_INVALID_ARGUMENT when `forced` has another length than the model has classes.
 */
export function labelsFor(
  classCount: number,
  metadata: Readonly<Record<string, string>> = {},
  forced?: readonly string[],
): readonly string[] {
  if (forced !== undefined) {
    if (forced.length !== classCount)
      throw new YoloError(
        'ERR_YOLO_INVALID_ARGUMENT',
        `Expected labels to have ${classCount} names, one for each class of the model, but received ${forced.length}`,
        { phase: 'validate', detail: { option: 'labels', expected: classCount, received: forced.length } },
      );
    return forced;
  }
  const own = labelsFromMetadata(metadata);
  if (own?.length === classCount) return own;
  if (classCount === COCO_LABELS.length) return COCO_LABELS;
  return Array.from({ length: classCount }, (_, id) => `class${id}`);
}

/** Class names that a model brings in its `names` entry, in class order; undefined when it has none that can be read. */
export function labelsFromMetadata(metadata: Readonly<Record<string, string>>): readonly string[] | undefined {
  return metadata.names === undefined ? undefined : parseNames(metadata.names);
}

/**
 * Class names from a list or from a dict by class id, as Python or JSON write them: `{0: 'person', 1: "cat's"}`, `["a", "b"]`.
 * Ids without a name are called class<id>. Undefined for any other text.
 */
export function parseNames(text: string): readonly string[] | undefined {
  const scanner = new Scanner(text);
  const names = scanner.take('{')
    ? parseDict(scanner)
    : scanner.take('[')
      ? parseList(scanner, ']')
      : scanner.take('(')
        ? parseList(scanner, ')')
        : undefined;
  return names !== undefined && names.length > 0 && scanner.atEnd() ? names : undefined;
}

function parseDict(scanner: Scanner): string[] | undefined {
  const byId = new Map<number, string>();
  while (!scanner.take('}')) {
    const id = scanner.integer() ?? integerOf(scanner.string());
    if (id === undefined || id >= MAX_CLASSES || !scanner.take(':')) return undefined;
    const name = scanner.string();
    if (name === undefined) return undefined;
    byId.set(id, name);
    if (!scanner.take(',') && !scanner.sees('}')) return undefined;
  }
  const length = [...byId.keys()].reduce((most, id) => Math.max(most, id + 1), 0);
  return Array.from({ length }, (_, id) => byId.get(id) ?? `class${id}`);
}

function parseList(scanner: Scanner, closing: string): string[] | undefined {
  const names: string[] = [];
  while (!scanner.take(closing)) {
    const name = scanner.string();
    if (name === undefined) return undefined;
    names.push(name);
    if (!scanner.take(',') && !scanner.sees(closing)) return undefined;
  }
  return names;
}

function integerOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\x07',
  '0': '\0',
};

/** Reads the literals that Python and JSON share, one after the other; spaces between them do not count. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  sees(character: string): boolean {
    this.#skipSpace();
    return this.#text[this.#at] === character;
  }

  take(character: string): boolean {
    const seen = this.sees(character);
    if (seen) this.#at++;
    return seen;
  }

  atEnd(): boolean {
    this.#skipSpace();
    return this.#at === this.#text.length;
  }

  integer(): number | undefined {
    this.#skipSpace();
    const digits = this.#match(/\d+/y);
    return digits === undefined ? undefined : Number(digits);
  }

  /** A text in single or double quotes, its escapes resolved. */
  string(): string | undefined {
    this.#skipSpace();
    this.#match(/[uU]/y);
    const quote = this.#text[this.#at];
    if (quote !== "'" && quote !== '"') return undefined;
    this.#at++;
    let out = '';
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at++];
      if (character === quote) return out;
      out += character === '\\' ? this.#escape() : character;
    }
    return undefined;
  }

  #escape(): string {
    const code = this.#match(/x[\da-fA-F]{2}|u[\da-fA-F]{4}|U00(?:0[\da-fA-F]|10)[\da-fA-F]{4}/y);
    if (code !== undefined) return String.fromCodePoint(Number.parseInt(code.slice(1), 16));
    const character = this.#text[this.#at++] ?? '';
    return ESCAPES[character] ?? character;
  }

  #skipSpace(): void {
    this.#match(/\s+/y);
  }

  /** What the sticky pattern matches here; the position moves behind it. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }
}
