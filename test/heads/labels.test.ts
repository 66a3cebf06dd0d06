import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { COCO_LABELS, labelsFor, labelsFromMetadata, parseNames } from '../../lib/labels.js';

/** As Python's repr() writes a text. */
function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (character === '\\' || character === quote) out += `\\${character}`;
    else if (character === '\n') out += '\\n';
    else if (character === '\t') out += '\\t';
    else if (character === '\r') out += '\\r';
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (code > 0xffff) out += `\\U${code.toString(16).padStart(8, '0')}`;
    else if (code > 0x2000) out += `\\u${code.toString(16).padStart(4, '0')}`;
    else out += character;
  }
  return out + quote;
}

const name = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom("dog's bowl", 'naïve "quoted", {braces}: 2', 'a, b', "{0: 'x'}", '\\', '😀', '', 'it\'s "both"'),
);
const names = fc.array(name, { minLength: 1, maxLength: 20 });

describe('class names of a model', () => {
  it('are read from a Python dict, whatever is in them', () => {
    fc.assert(
      fc.property(names, (all) => {
        expect(parseNames(`{${all.map((text, id) => `${id}: ${pythonText(text)}`).join(', ')}}`)).toEqual(all);
        expect(parseNames(`[${all.map(pythonText).join(', ')}]`)).toEqual(all);
        expect(parseNames(`(${all.map(pythonText).join(',')},)`)).toEqual(all);
      }),
    );
  });

  it('are read from JSON, list or dict', () => {
    fc.assert(
      fc.property(names, (all) => {
        expect(parseNames(JSON.stringify(all))).toEqual(all);
        expect(parseNames(JSON.stringify(Object.fromEntries(all.entries()), null, 2))).toEqual(all);
      }),
    );
  });

  it('are in the order of their ids, gaps filled', () => {
    expect(parseNames("{2: 'c', 0: 'a'}")).toEqual(['a', 'class1', 'c']);
    expect(parseNames(' { 0 : u"x" , } ')).toEqual(['x']);
  });

  it('are none where the text is no such list', () => {
    for (const text of [
      '',
      '{}',
      '[]',
      'person, car',
      "{0: 'a'",
      "{0 'a'}",
      "{'a': 'b'}",
      '{0: 1}',
      "['a' 'b']",
      '[1]',
      "{0: 'a'} x",
      "{0: 'a' 1: 'b'}",
      "['a\\",
    ])
      expect(parseNames(text), text).toBeUndefined();
    expect(parseNames("{9999999: 'far'}")).toBeUndefined();
  });

  it('never throw, hang or grow, whatever the text', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '(',
      ')',
      ':',
      ',',
      "'",
      '"',
      '\\',
      '0',
      '99999',
      'u',
      'x',
      '\\u',
      '\\U0010',
      ' ',
      'a',
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const parsed = parseNames(pieces.join(''));
        expect(parsed === undefined || parsed.length > 0).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('come from the metadata entry "names"', () => {
    expect(labelsFromMetadata({ names: "{0: 'a'}" })).toEqual(['a']);
    expect(labelsFromMetadata({})).toBeUndefined();
  });
});

describe('labels', () => {
  it("are those given, else the model's, else those of COCO, else numbered", () => {
    expect(labelsFor(2, { names: "['a', 'b']" }, ['x', 'y'])).toEqual(['x', 'y']);
    expect(labelsFor(2, { names: "['a', 'b']" })).toEqual(['a', 'b']);
    expect(labelsFor(3, { names: "['a', 'b']" })).toEqual(['class0', 'class1', 'class2']);
    expect(labelsFor(80)).toBe(COCO_LABELS);
    expect(labelsFor(1)).toEqual(['class0']);
  });

  it('that are given must be as many as the model has classes', () => {
    expect(() => labelsFor(3, {}, ['x'])).toThrow(
      expect.objectContaining({
        code: 'ERR_YOLO_INVALID_ARGUMENT',
        message: expect.stringMatching(/3 names.*received 1/),
      }),
    );
  });

  it('of COCO are 80, all different, and cannot be changed', () => {
    expect(new Set(COCO_LABELS).size).toBe(80);
    expect([COCO_LABELS[0], COCO_LABELS[16], COCO_LABELS[79]]).toEqual(['person', 'dog', 'toothbrush']);
    expect(Object.isFrozen(COCO_LABELS)).toBe(true);
  });
});
