import { YoloError } from '../errors.js';

/** Bytes that can be read anywhere: a file, or memory. */
export interface ByteSource {
  readonly size: number;
  /** Bytes from `offset`, `length` of them or fewer at the end. Asked within `size` only. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** One field of a message: its number, and where its value lies. */
export interface Field {
  readonly number: number;
  readonly wireType: WireType;
  /** The value of a varint (as far as a number holds it), else 0. */
  readonly value: number;
  /** Offsets of a length-delimited value, from the start of the source. */
  readonly start: number;
  readonly end: number;
}

export type WireType = 0 | 1 | 2 | 5;

/** Enough for what surrounds the weights; more would read the weights themselves. */
const WINDOW_BYTES = 16 * 1024;
/** No name or metadata entry is longer; a length field that says so is damage. */
const MAX_STRING_BYTES = 16 * 1024 * 1024;
const MAX_VARINT_BYTES = 10;
/** More than any graph has of nodes, weights and their parts: gigabytes of tiny fields are damage, and would take minutes to walk over. */
const MAX_FIELDS = 2_000_000;

/**
 * Walks over protobuf messages without loading them: values are skipped by their length, so only what surrounds them is read.
 * Every length is checked against the message around it before it is used.
 */
export class WireReader {
  readonly #source: ByteSource;
  #window: Uint8Array = new Uint8Array(0);
  #windowStart = 0;
  #fieldCount = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** The fields of the message in [start, end), in the order of the file. */
  async *fields(start: number, end: number): AsyncGenerator<Field> {
    let at = start;
    while (at < end) {
      if (++this.#fieldCount > MAX_FIELDS) throw damaged(at, `more than ${MAX_FIELDS} fields`);
      const tag = await this.#varint(at, end);
      const number = Math.floor(tag.value / 8);
      const wireType = tag.value % 8;
      if (number === 0) throw damaged(at, 'a field number of 0');
      const field = await this.#field(number, wireType, tag.end, end);
      yield field;
      at = field.end;
    }
  }

  async string(field: Field): Promise<string> {
    return new TextDecoder().decode(await this.#bytes(field));
  }

  async #field(number: number, wireType: number, at: number, limit: number): Promise<Field> {
    if (wireType === 0) {
      const { value, end } = await this.#varint(at, limit);
      return { number, wireType, value, start: at, end };
    }
    if (wireType === 1 || wireType === 5) {
      const end = at + (wireType === 1 ? 8 : 4);
      if (end > limit) throw cutShort(at, end, limit);
      return { number, wireType, value: 0, start: at, end };
    }
    if (wireType === 2) {
      const length = await this.#varint(at, limit);
      const end = length.end + length.value;
      if (end > limit) throw cutShort(length.end, end, limit);
      return { number, wireType, value: 0, start: length.end, end };
    }
    throw damaged(at, `wire type ${wireType}, which ONNX does not use`);
  }

  async #bytes({ wireType, start, end }: Field): Promise<Uint8Array> {
    if (wireType !== 2) throw damaged(start, `wire type ${wireType} where a text is expected`);
    if (end - start > MAX_STRING_BYTES) throw damaged(start, `a text of ${end - start} bytes`);
    if (!this.#holds(start, end)) return this.#source.read(start, end - start);
    return this.#window.subarray(start - this.#windowStart, end - this.#windowStart);
  }

  // Beyond 2^53 a value loses its last bits; the only such values in ONNX are negative numbers, and none of them is used.
  async #varint(start: number, limit: number): Promise<{ value: number; end: number }> {
    const last = Math.min(start + MAX_VARINT_BYTES, limit);
    if (!this.#holds(start, last)) await this.#fill(start);
    let value = 0;
    let scale = 1;
    for (let at = start; at < last; at++, scale *= 128) {
      const byte = this.#window[at - this.#windowStart];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return { value, end: at + 1 };
    }
    throw last === limit ? cutShort(start, last + 1, limit) : damaged(start, 'a number of more than 10 bytes');
  }

  #holds(start: number, end: number): boolean {
    return start >= this.#windowStart && end <= this.#windowStart + this.#window.length;
  }

  async #fill(start: number): Promise<void> {
    const length = Math.min(WINDOW_BYTES, this.#source.size - start);
    this.#window = await this.#source.read(start, length);
    this.#windowStart = start;
    // A file that shrank since its size was taken.
    if (this.#window.length < length) throw cutShort(start, start + length, start + this.#window.length);
  }
}

function cutShort(start: number, end: number, limit: number): YoloError {
  return damaged(
    start,
    `a value up to byte ${end}, beyond byte ${limit} where what surrounds it ends: the file is cut short or damaged`,
  );
}

function damaged(offset: number, seen: string): YoloError {
  return new YoloError('ERR_YOLO_MODEL_PARSE', `at byte ${offset}: ${seen}`, { phase: 'parse', detail: { offset } });
}
