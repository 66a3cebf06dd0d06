/** The parts of a COCO instances file that a box evaluation reads. Boxes are x, y, width, height in pixels. */
export interface CocoTruth {
  readonly images: readonly { readonly id: number }[];
  readonly categories: readonly { readonly id: number; readonly name?: string }[];
  readonly annotations: readonly CocoObject[];
}

export interface CocoObject {
  readonly image_id: number;
  readonly category_id: number;
  readonly bbox: readonly number[];
  /** In pixels, as the file states it: of the outline, so smaller than the box. It decides what counts as small. */
  readonly area: number;
  /** 1 for a region of many objects: any number of boxes may lie in it, and none of them counts. */
  readonly iscrowd?: number;
}

/** One entry of a COCO results file. */
export interface CocoResult {
  readonly image_id: number;
  readonly category_id: number;
  readonly bbox: readonly number[];
  readonly score: number;
}

/** Mean precisions and recalls in 0..1; -1 where the truth has no object of the kind. */
export interface CocoStats {
  /** Over IoU 0.5, 0.55 … 0.95. */
  AP: number;
  AP50: number;
  AP75: number;
  APsmall: number;
  APmedium: number;
  APlarge: number;
  /** With the one best box of each picture and category. */
  AR1: number;
  AR10: number;
  AR100: number;
  ARsmall: number;
  ARmedium: number;
  ARlarge: number;
}

export interface CocoScores {
  readonly stats: CocoStats;
  /** By category id, ascending. */
  readonly perCategory: ReadonlyMap<number, { AP: number; AP50: number; AR100: number }>;
}

// Products rather than literals: the last bits decide where an IoU lies exactly on a threshold.
const IOU_THRESHOLDS = Array.from({ length: 10 }, (_, index) => 0.5 + index * ((0.95 - 0.5) / 9));
const RECALLS = Array.from({ length: 101 }, (_, index) => index * 0.01);
const AREAS = {
  all: [0, 1e10],
  small: [0, 32 ** 2],
  medium: [32 ** 2, 96 ** 2],
  large: [96 ** 2, 1e10],
} as const;
const MOST_BOXES = 100;

/** The boxes of one picture and category against its objects, for one range of areas. */
interface Matches {
  /** Falling. */
  readonly scores: readonly number[];
  /** [IoU threshold][box]: whether the box found an object, and whether it is left out of the count. */
  readonly matched: readonly boolean[][];
  readonly ignored: readonly boolean[][];
  /** Objects that count. */
  readonly objects: number;
}

interface Curve {
  /** [IoU threshold][recall]: precision; undefined without objects. */
  readonly precision: readonly number[][];
  /** [IoU threshold]: the greatest recall. */
  readonly recall: readonly number[];
}

/**
 * The twelve figures of a COCO box evaluation, and three of each category. Equal scores keep the order of `results`;
 * results of categories or pictures that the truth lacks are left out.
 */
export function evaluateCoco(truth: CocoTruth, results: readonly CocoResult[]): CocoScores {
  const imageIds = truth.images.map((image) => image.id).sort(ascending);
  const categoryIds = truth.categories.map((category) => category.id).sort(ascending);
  const objects = grouped(truth.annotations);
  const boxes = grouped(results);

  const curves = (area: keyof typeof AREAS): Record<'best1' | 'best10' | 'best100', (Curve | undefined)[]> => {
    const matches = categoryIds.map((category) =>
      imageIds.map((image) => {
        const key = groupKey(image, category);
        return match(objects.get(key) ?? [], boxes.get(key) ?? [], AREAS[area]);
      }),
    );
    const upTo = (most: number) => matches.map((pictures) => curve(pictures, most));
    return { best1: upTo(1), best10: upTo(10), best100: upTo(MOST_BOXES) };
  };
  const all = curves('all');
  const [small, medium, large] = [curves('small'), curves('medium'), curves('large')];

  return {
    stats: {
      AP: meanPrecision(all.best100),
      AP50: meanPrecision(all.best100, 0),
      AP75: meanPrecision(all.best100, 5),
      APsmall: meanPrecision(small.best100),
      APmedium: meanPrecision(medium.best100),
      APlarge: meanPrecision(large.best100),
      AR1: meanRecall(all.best1),
      AR10: meanRecall(all.best10),
      AR100: meanRecall(all.best100),
      ARsmall: meanRecall(small.best100),
      ARmedium: meanRecall(medium.best100),
      ARlarge: meanRecall(large.best100),
    },
    perCategory: new Map(
      categoryIds.map((id, index) => {
        const own = [all.best100[index]];
        return [id, { AP: meanPrecision(own), AP50: meanPrecision(own, 0), AR100: meanRecall(own) }];
      }),
    ),
  };
}

function match(
  objects: readonly CocoObject[],
  boxes: readonly CocoResult[],
  [least, greatest]: readonly [number, number],
): Matches {
  const outside = (area: number) => area < least || area > greatest;
  const isCrowd = (object: CocoObject) => object.iscrowd === 1;
  const isLeftOut = (object: CocoObject) => isCrowd(object) || outside(object.area);
  // Objects that count come first, so that a box takes one of them where it can.
  const ordered = [...objects].sort((a, b) => Number(isLeftOut(a)) - Number(isLeftOut(b)));
  const crowd = ordered.map(isCrowd);
  const leftOut = ordered.map(isLeftOut);
  const best = [...boxes].sort((a, b) => b.score - a.score).slice(0, MOST_BOXES);
  const ious = best.map((box) => ordered.map((object, index) => iou(box.bbox, object.bbox, crowd[index]!)));

  const matched: boolean[][] = [];
  const ignored: boolean[][] = [];
  for (const threshold of IOU_THRESHOLDS) {
    const taken = ordered.map(() => false);
    const found: boolean[] = [];
    const skipped: boolean[] = [];
    best.forEach((box, row) => {
      let at = -1;
      let greatestIou = Math.min(threshold, 1 - 1e-10);
      for (let index = 0; index < ordered.length; index++) {
        if (taken[index] && !crowd[index]) continue;
        if (at >= 0 && !leftOut[at] && leftOut[index]) break;
        if (ious[row]![index]! < greatestIou) continue;
        greatestIou = ious[row]![index]!;
        at = index;
      }
      if (at >= 0) taken[at] = true;
      found.push(at >= 0);
      skipped.push(at >= 0 ? leftOut[at]! : outside(box.bbox[2]! * box.bbox[3]!));
    });
    matched.push(found);
    ignored.push(skipped);
  }
  return {
    scores: best.map((box) => box.score),
    matched,
    ignored,
    objects: leftOut.filter((value) => !value).length,
  };
}

/** Precision by recall over all pictures of a category, with at most `most` boxes of each; undefined without objects. */
function curve(pictures: readonly Matches[], most: number): Curve | undefined {
  const objects = pictures.reduce((sum, picture) => sum + picture.objects, 0);
  if (objects === 0) return undefined;
  const order = pictures
    .flatMap((picture) => picture.scores.slice(0, most).map((score, row) => ({ score, picture, row })))
    .sort((a, b) => b.score - a.score);

  const precision: number[][] = [];
  const recall: number[] = [];
  for (let threshold = 0; threshold < IOU_THRESHOLDS.length; threshold++) {
    const recalls: number[] = [];
    const precisions: number[] = [];
    let right = 0;
    let wrong = 0;
    for (const { picture, row } of order) {
      if (!picture.ignored[threshold]![row]) {
        if (picture.matched[threshold]![row]) right++;
        else wrong++;
      }
      recalls.push(right / objects);
      precisions.push(right / (right + wrong + Number.EPSILON));
    }
    for (let index = precisions.length - 2; index >= 0; index--)
      precisions[index] = Math.max(precisions[index]!, precisions[index + 1]!);

    let at = 0;
    precision.push(
      RECALLS.map((wanted) => {
        while (at < recalls.length && recalls[at]! < wanted) at++;
        return precisions[at] ?? 0;
      }),
    );
    recall.push(recalls.at(-1) ?? 0);
  }
  return { precision, recall };
}

/** Over categories that have objects, and one IoU threshold or all. */
function meanPrecision(curves: readonly (Curve | undefined)[], threshold?: number): number {
  return mean(
    curves.flatMap((one) => (threshold === undefined ? one?.precision.flat() : one?.precision[threshold]) ?? []),
  );
}

function meanRecall(curves: readonly (Curve | undefined)[]): number {
  return mean(curves.flatMap((one) => one?.recall ?? []));
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? -1 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of x, y, width, height; in a crowd, the part of the box that lies in it. */
function iou(box: readonly number[], object: readonly number[], crowd: boolean): number {
  const [x1, y1, w1, h1] = box as [number, number, number, number];
  const [x2, y2, w2, h2] = object as [number, number, number, number];
  const width = Math.min(x1 + w1, x2 + w2) - Math.max(x1, x2);
  const height = Math.min(y1 + h1, y2 + h2) - Math.max(y1, y2);
  if (width <= 0 || height <= 0) return 0;
  const overlap = width * height;
  return overlap / (crowd ? w1 * h1 : w1 * h1 + w2 * h2 - overlap);
}

function grouped<Entry extends { readonly image_id: number; readonly category_id: number }>(
  entries: readonly Entry[],
): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = groupKey(entry.image_id, entry.category_id);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return groups;
}

const groupKey = (image: number, category: number) => `${image} ${category}`;
const ascending = (a: number, b: number) => a - b;
