import { distance } from 'fastest-levenshtein';
import { YoloError } from './errors.js';
import { show } from './show.js';

/** Throws where `value` is not allowed; `name` is the option as its user wrote it. */
export type Check = (value: unknown, name: string) => void;

export function invalid(message: string, detail: Record<string, unknown>): YoloError {
  return new YoloError('ERR_YOLO_INVALID_ARGUMENT', message, { phase: 'validate', detail });
}

function refuse(name: string, expected: string, value: unknown): never {
  throw invalid(`Expected ${name} ${expected} but received ${show(value)}`, { option: name, value });
}

/** A finite number in [min, max]. */
export const numberIn =
  (min: number, max: number): Check =>
  (value, name) => {
    if (typeof value !== 'number' || !(value >= min && value <= max)) refuse(name, `in [${min}, ${max}]`, value);
  };

/** A whole number from `min` on; `max` may be Infinity, and then Infinity itself is allowed. */
export const integerFrom =
  (min: number, max = Number.POSITIVE_INFINITY): Check =>
  (value, name) => {
    const whole = Number.isSafeInteger(value) || (value === Number.POSITIVE_INFINITY && max === value);
    const expected =
      max === Number.POSITIVE_INFINITY
        ? `to be a whole number of at least ${min}`
        : `to be a whole number in [${min}, ${max}]`;
    if (!whole || (value as number) < min || (value as number) > max) refuse(name, expected, value);
  };

export const aBoolean: Check = (value, name) => {
  if (typeof value !== 'boolean') refuse(name, 'to be true or false', value);
};

export const aString: Check = (value, name) => {
  if (typeof value !== 'string' || value === '') refuse(name, 'to be a string that is not empty', value);
};

export const aFunction: Check = (value, name) => {
  if (typeof value !== 'function') refuse(name, 'to be a function', value);
};

export const anAbortSignal: Check = (value, name) => {
  if (!(value instanceof AbortSignal)) refuse(name, 'to be an AbortSignal', value);
};

/** One of a few words; a near miss is named. */
export const oneOf =
  (words: readonly string[]): Check =>
  (value, name) => {
    if (typeof value === 'string' && words.includes(value)) return;
    const hint = typeof value === 'string' ? didYouMean(value, words) : '';
    throw invalid(`Expected ${name} to be ${listed(words)} but received ${show(value)}${hint}`, {
      option: name,
      value,
    });
  };

export const arrayOf =
  (item: Check): Check =>
  (value, name) => {
    if (!Array.isArray(value)) refuse(name, 'to be an array', value);
    // Not forEach(): it passes over holes.
    for (const [index, entry] of value.entries()) item(entry, `${name}[${index}]`);
  };

/** Not a Map, a Promise or another object whose contents are no keys: it would pass as one that is empty. */
function requireKeys(value: unknown, name: string): asserts value is object {
  if (Object.prototype.toString.call(value) !== '[object Object]') refuse(name, 'to be an object', value);
}

/** An object with any keys. Undefined values count as absent. */
export const recordOf =
  (item: Check): Check =>
  (value, name) => {
    requireKeys(value, name);
    for (const [key, entry] of Object.entries(value)) {
      if (entry !== undefined) item(entry, `${name}[${JSON.stringify(key)}]`);
    }
  };

/** An object with these keys and no others. Undefined values count as absent. */
export const objectWith =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value, name) => {
    requireKeys(value, name);
    for (const [key, entry] of Object.entries(value)) {
      const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
      if (check === undefined) {
        const known = Object.keys(checks);
        throw invalid(
          `Unknown key ${JSON.stringify(key)} in ${name}${didYouMean(key, known) || `; known are ${known.join(', ')}`}`,
          {
            option: key,
            known,
          },
        );
      }
      if (entry !== undefined) check(entry, name === 'options' ? key : `${name}.${key}`);
    }
  };

/** ", did you mean …?" when one of the words is near, else nothing. */
export function didYouMean(word: string, words: readonly string[]): string {
  let nearest = '';
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of words) {
    const [given, known] = [word.toLowerCase(), candidate.toLowerCase()];
    // The beginning of a word is as near as a slip of one letter: `confidence` for `confidenceThreshold`.
    const edits = word.length >= 3 && known.startsWith(given) ? 1 : distance(given, known);
    if (edits < least) {
      least = edits;
      nearest = candidate;
    }
  }
  return least <= Math.max(2, Math.floor(word.length * 0.4)) ? `; did you mean ${JSON.stringify(nearest)}?` : '';
}

function listed(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`);
  return quoted.length === 1 ? quoted[0]! : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}
