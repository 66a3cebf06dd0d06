import { describe, expect, it } from 'vitest';
import { isDeclaredOpen, otherSizes, sizeBeside, strideOf } from '../../lib/model/open-size.js';
import type { PictureInput } from '../../lib/model/signature.js';

const open: PictureInput = { name: 'images', layout: 'nchw', type: 'float32', batch: 1, sideInputs: [] };
const square = (side: number) => ({ width: side, height: side });

describe('sizes that are tried where a model does not run at one', () => {
  it('begin with that of the export, height first', () => {
    expect(otherSizes(square(640), open, { imgsz: '[384, 672]' })[0]).toEqual({ width: 672, height: 384 });
    expect(otherSizes(square(640), open, { imgsz: '160' })[0]).toEqual(square(160));
  });

  it('begin with the next multiple of the stride where it is none', () => {
    expect(otherSizes({ width: 650, height: 640 }, open, {})[0]).toEqual({ width: 672, height: 640 });
    expect(otherSizes(square(650), open, { stride: '64' })[0]).toEqual(square(704));
  });

  it('are each once, without the one that failed', () => {
    const sizes = otherSizes(square(640), open, { imgsz: '[416, 416]' });
    expect(sizes[0]).toEqual(square(416));
    expect(sizes).not.toContainEqual(square(640));
    expect(new Set(sizes.map(({ width, height }) => `${width} ${height}`)).size).toBe(sizes.length);
  });

  it('keep a side that the file fixes', () => {
    for (const { height } of otherSizes({ width: 640, height: 480 }, { ...open, height: 480 }, {}))
      expect(height).toBe(480);
  });

  it.each(['', 'large', '[0, 0]', '[640', '[1, 2, 3]', '[99999, 640]', '[-1, 640]'])(
    'are the usual ones where imgsz is %j',
    (imgsz) => {
      expect(otherSizes(square(640), open, { imgsz })[0]).toEqual(square(416));
    },
  );
});

describe('the stride', () => {
  it.each([
    [{ stride: '64' }, 64],
    [{}, 32],
    [{ stride: '' }, 32],
    [{ stride: '8.5' }, 32],
    [{ stride: '-8' }, 32],
    [{ stride: '1e9' }, 32],
  ])('of %j is %i', (metadata: Record<string, string>, stride) => {
    expect(strideOf(metadata)).toBe(stride);
  });
});

describe('the size of the proving run', () => {
  it('differs in both sides and is a multiple of the stride', () => {
    expect(sizeBeside(square(640), 32)).toEqual({ width: 608, height: 576 });
    expect(sizeBeside(square(64), 32)).toEqual({ width: 96, height: 128 });
    expect(sizeBeside({ width: 640, height: 128 }, 32)).toEqual({ width: 608, height: 64 });
  });
});

describe('an input', () => {
  it('is open where neither side is fixed', () => {
    expect(isDeclaredOpen(open)).toBe(true);
    expect(isDeclaredOpen({ ...open, width: 640 })).toBe(false);
    expect(isDeclaredOpen({ ...open, width: 640, height: 640 })).toBe(false);
  });
});
