import { types } from 'node:util';
import { COCO_CATEGORY_IDS } from './core/coco-categories.js';
import { extraSize } from './core/extra.js';
import {
  checkExtra,
  type DetectionExtra,
  extraOf,
  isSameLayout,
  type MaskPrototypes,
  type ObjectExtra,
  type RotatedBox,
} from './detection-extra.js';
import { HEX_COLOUR } from './image/colours.js';
import { describeInput, isHttpUrl } from './image/input.js';
import { COCO_LABELS } from './labels.js';
import { show } from './show.js';
import type { DetectionTimings, ImageInput } from './types.js';
import {
  aBoolean,
  arrayOf,
  aString,
  type Check,
  didYouMean,
  integerFrom,
  invalid,
  objectWith,
  recordOf,
} from './validation.js';

/** One object in a picture. */
export interface Detection extends ObjectExtra {
  /** x1, y1, x2, y2 in pixels of the upright picture, from its top left corner. */
  readonly xyxy: readonly [x1: number, y1: number, x2: number, y2: number];
  /** 0..1 */
  readonly confidence: number;
  readonly classId: number;
  readonly label: string;
}

/** Detections in columns, one row an object. */
export interface DetectionColumns {
  /** [n, 4], x1, y1, x2, y2 in pixels of the upright picture. */
  readonly xyxy: Float32Array;
  /** [n], 0..1 */
  readonly confidence: Float32Array;
  /** [n] */
  readonly classId: Int32Array;
  /** Keypoints, rotated boxes or mask coefficients. Defaults to none. */
  readonly extra?: DetectionExtra;
}

export interface DetectionsContext {
  /** Class names in class order. */
  readonly labels: readonly string[];
  /** Size of the upright picture, in pixels. */
  readonly image: { readonly width: number; readonly height: number };
  readonly timings?: DetectionTimings;
  /** Of a segmentation model. */
  readonly maskPrototypes?: MaskPrototypes;
  /** The file that `annotate()` draws on; an `http:` URL is not fetched for it. */
  readonly source?: string | URL;
  /** Whether boxes are in the picture as EXIF orientation turns it. Defaults to true. */
  readonly autoOrient?: boolean;
}

/** A row of a COCO results file. */
export interface CocoResult {
  image_id: number;
  category_id: number;
  /** x, y of the top left corner, width, height; two decimals. */
  bbox: [x: number, y: number, width: number, height: number];
  /** Five decimals. */
  score: number;
}

export interface CocoOptions {
  imageId: number;
  /** Category id of each class, in class order. Defaults to COCO's for its 80 classes, else class id + 1. */
  categoryIds?: readonly number[];
}

export interface YoloOptions {
  /** Whether the confidence is the last number of each line, as training tools do not have it and evaluators do. Defaults to false. */
  includeConfidence?: boolean;
}

export interface CsvOptions {
  /** What the rows have as `file`. Defaults to the path of the picture, or its URL without user, password and query, else to nothing. */
  file?: string;
  /** Whether the first line has the names of the columns. Defaults to true. */
  header?: boolean;
  /**
   * Whether a text that a spreadsheet would take for a formula, since it begins with `=`, `+`, `-` or `@`, gets an apostrophe
   * before it. Defaults to true: names of files and classes may be anybody's.
   */
  escapeFormulas?: boolean;
}

export interface DetectionsJson {
  image: { width: number; height: number };
  detections: {
    label: string;
    classId: number;
    confidence: number;
    xyxy: [number, number, number, number];
    /** Where the model finds them: x, y, visibility. */
    keypoints?: number[][];
    /** Where the model finds it; the angle has 4 decimals. */
    rotatedBox?: RotatedBox;
  }[];
}

export interface AnnotateOptions {
  /** The picture to draw on. Defaults to the file that the detections came from. */
  image?: ImageInput;
  /** Whether class and confidence are written at each box. Defaults to true. */
  labels?: boolean;
  /** Of the frames, in pixels of the picture, a whole number in 1..1000. Defaults to one that suits the picture's size. */
  lineWidth?: number;
  /**
   * `#rgb` or `#rrggbb` of classes, a list in class order or by class name: `['#f00']`, `{ person: '#ff0000' }`. Classes
   * without one keep their usual colour, which is the same in every picture.
   */
  colours?: readonly string[] | Readonly<Record<string, string>>;
}

export interface CropOptions {
  /** The picture to cut from. Defaults to the file that the detections came from. */
  image?: ImageInput;
  /** Pixels of the picture's surroundings to keep on each side of the box, a whole number from 0 on. Defaults to 0. */
  padding?: number;
}

const anId = integerFrom(0, Number.MAX_SAFE_INTEGER);
const checkCocoOptions = objectWith({
  imageId: anId,
  categoryIds: arrayOf(anId),
} satisfies Record<keyof CocoOptions, Check>);

// Whether it is a picture is seen when it is decoded.
const anything: Check = () => {};
const hexColour: Check = (value, name) => {
  if (typeof value !== 'string' || !HEX_COLOUR.test(value))
    throw invalid(`Expected ${name} to be a colour as #rgb or #rrggbb but received ${show(value)}`, {
      option: name,
      value,
    });
};
const checkYoloOptions = objectWith({ includeConfidence: aBoolean } satisfies Record<keyof YoloOptions, Check>);
const csvChecks = { header: aBoolean, escapeFormulas: aBoolean };
const checkCsvOptions = objectWith({ file: aString, ...csvChecks } satisfies Record<keyof CsvOptions, Check>);
const checkSharedCsvOptions = objectWith(csvChecks);
const checkAnnotateOptions = objectWith({
  image: anything,
  labels: aBoolean,
  lineWidth: integerFrom(1, 1000),
  colours: (value, name) => (Array.isArray(value) ? arrayOf : recordOf)(hexColour)(value, name),
} satisfies Record<keyof AnnotateOptions, Check>);
const checkCropOptions = objectWith({ image: anything, padding: integerFrom(0) } satisfies Record<
  keyof CropOptions,
  Check
>);

function checkOrigin({ source, autoOrient }: DetectionsContext): void {
  if (source !== undefined && !(source instanceof URL)) aString(source, 'source');
  if (autoOrient !== undefined) aBoolean(autoOrient, 'autoOrient');
}

/**
 * The objects of one picture, best first as `detect()` gives them. Kept in columns; iterating gives one object a row.
 * Nothing here changes it: `filter` and `merge` make new ones, and exporters read only. The columns are its own memory, to be
 * read.
 */
export class Detections implements Iterable<Detection>, DetectionColumns {
  readonly xyxy: Float32Array;
  readonly confidence: Float32Array;
  readonly classId: Int32Array;
  /** Keypoints, rotated boxes or mask coefficients; undefined where the model has none. */
  readonly extra: DetectionExtra | undefined;
  /** What masks are made of; undefined where the model has none. */
  readonly maskPrototypes: MaskPrototypes | undefined;
  /** Class names in class order. */
  readonly labels: readonly string[];
  /** Size of the upright picture, in pixels. */
  readonly image: { readonly width: number; readonly height: number };
  /** Where the time went; undefined for detections that no model made. */
  readonly timings: DetectionTimings | undefined;
  /** The path or URL of the picture, where it came from one. */
  readonly source: string | URL | undefined;
  /** Whether boxes are in the picture as EXIF orientation turns it. */
  readonly autoOrient: boolean;

  private constructor(
    columns: DetectionColumns,
    { labels, image, timings, source, maskPrototypes, autoOrient = true }: DetectionsContext,
  ) {
    this.xyxy = columns.xyxy;
    this.confidence = columns.confidence;
    this.classId = columns.classId;
    this.extra = columns.extra;
    this.maskPrototypes = maskPrototypes;
    this.labels = labels;
    this.image = image;
    this.timings = timings;
    this.source = source;
    this.autoOrient = autoOrient;
  }

  /**
   * Makes detections of columns, which are taken over, not copied.
   * @throws ERR_YOLO_INVALID_ARGUMENT for columns of different lengths, numbers that are not finite, classes without a label.
   */
  static from(columns: DetectionColumns, context: DetectionsContext): Detections {
    const { xyxy, confidence, classId } = columns ?? {};
    const { labels, image } = context ?? {};
    if (!Array.isArray(labels)) throw invalid('Expected labels, the class names in class order', {});
    // Not `instanceof`: test runners give each file a realm of its own, with other constructors.
    if (!(types.isFloat32Array(xyxy) && types.isFloat32Array(confidence) && types.isInt32Array(classId)))
      throw invalid('Expected xyxy and confidence as Float32Array and classId as Int32Array', {});
    const count = confidence.length;
    if (xyxy.length !== 4 * count || classId.length !== count)
      throw invalid(
        `Expected 4 coordinates, 1 confidence and 1 class for each detection but received ${xyxy.length}, ${count} and ${classId.length}`,
        { xyxy: xyxy.length, confidence: count, classId: classId.length },
      );
    checkExtra(columns.extra, count);
    const checkSide = integerFrom(1, Number.MAX_SAFE_INTEGER);
    checkSide(image?.width, "the picture's width");
    checkSide(image?.height, "the picture's height");
    checkOrigin(context);
    for (let at = 0; at < xyxy.length; at++) {
      if (!Number.isFinite(xyxy[at]))
        throw invalid(`Detection ${at >> 2} has the coordinate ${xyxy[at]}`, { index: at >> 2 });
    }
    for (let index = 0; index < count; index++) {
      // A quantised model's can pass 1 by the rounding of its last step.
      if (!(confidence[index]! >= 0 && confidence[index]! <= 1.01))
        throw invalid(`Detection ${index} has the confidence ${confidence[index]}, outside [0, 1]`, { index });
      if (typeof labels[classId[index]!] !== 'string')
        throw invalid(`Detection ${index} has the class ${classId[index]}, but there are ${labels.length} labels`, {
          index,
        });
    }
    return new Detections(columns, context);
  }

  /**
   * All detections of one picture, from several detectors or tiles of it, by falling confidence; of equal ones the earlier first.
   * Timings stay with the parts. Overlapping boxes all stay: `nms` of `migraphx-yolo/core` suppresses them.
   * @throws ERR_YOLO_INVALID_ARGUMENT for none, for pictures of different sizes, or for different labels.
   */
  static merge(parts: readonly Detections[]): Detections {
    if (!Array.isArray(parts) || !parts.every((part) => part instanceof Detections))
      throw invalid('Expected an array of Detections to merge', {});
    const [first] = parts;
    if (first === undefined) throw invalid('Expected at least one Detections to merge but received none', {});
    const source = parts.find((part) => part.source !== undefined)?.source;
    for (const part of parts) {
      const { image, labels } = part;
      if (part.source !== undefined && String(part.source) !== String(source))
        throw invalid(
          `Detections of different pictures cannot be merged: ${describeInput(source)} and ${describeInput(part.source)}`,
          {},
        );
      if (image.width !== first.image.width || image.height !== first.image.height)
        throw invalid(
          `Detections of different pictures cannot be merged: ${first.image.width}×${first.image.height} and ${image.width}×${image.height}`,
          {},
        );
      if (labels.length !== first.labels.length || labels.some((label, id) => label !== first.labels[id]))
        throw invalid('Detections with different labels cannot be merged: one class id would mean two things', {});
    }
    const rows = parts.flatMap((part) =>
      Array.from(part.confidence, (confidence, index) => ({ part, index, confidence })),
    );
    rows.sort((a, b) => b.confidence - a.confidence);
    const { labels, image, autoOrient, extra } = first;
    // Mask coefficients are of no use away from the prototypes of their own run.
    const isAlike = extra?.layout.kind !== 'mask' && parts.every((part) => isSameLayout(part.extra, extra));
    return new Detections(first.#rows(rows, isAlike), { labels, image, source, autoOrient });
  }

  /**
   * One CSV file of several pictures: as `toCsv()` of each, with the columns named once.
   * @param pictures Detections by the name of their file, as a Map or Object.entries() has them.
   * @throws ERR_YOLO_INVALID_ARGUMENT
   */
  static toCsv(
    pictures: Iterable<readonly [file: string, detections: Detections]>,
    options: Omit<CsvOptions, 'file'> = {},
  ): string {
    checkSharedCsvOptions(options, 'options');
    if (typeof (pictures as Iterable<unknown> | undefined)?.[Symbol.iterator] !== 'function')
      throw invalid(
        'Expected Detections.toCsv() to be given detections by file: a Map, or an array of [file, detections]',
        {},
      );
    let csv = (options.header ?? true) ? csvRow(CSV_COLUMNS, false) : '';
    for (const entry of pictures) {
      const [file, detections] = Array.isArray(entry) ? entry : [];
      if (!(detections instanceof Detections))
        throw invalid(`Expected [file, detections] of each picture but received ${show(entry)}`, {});
      csv += detections.toCsv({ ...options, file, header: false });
    }
    return csv;
  }

  get length(): number {
    return this.confidence.length;
  }

  /** The detection at that place, from the end for a negative one; undefined where there is none. */
  at(index: number): Detection | undefined {
    const whole = Math.trunc(index) || 0;
    const place = whole + (whole < 0 ? this.length : 0);
    if (!(place >= 0 && place < this.length)) return undefined;
    const [x1, y1, x2, y2] = this.xyxy.subarray(4 * place, 4 * place + 4) as unknown as [
      number,
      number,
      number,
      number,
    ];
    const classId = this.classId[place]!;
    const label = this.labels[classId]!;
    return {
      xyxy: [x1, y1, x2, y2],
      confidence: this.confidence[place]!,
      classId,
      label,
      ...extraOf(this.extra, place),
    };
  }

  *[Symbol.iterator](): Generator<Detection, undefined> {
    for (let index = 0; index < this.length; index++) yield this.at(index)!;
  }

  /** New detections of those for which `keep` is true, in their order. */
  filter(keep: (detection: Detection, index: number) => boolean): Detections {
    if (typeof keep !== 'function') throw invalid('Expected filter() to be given a function', {});
    const rows: { part: Detections; index: number }[] = [];
    for (let index = 0; index < this.length; index++) {
      if (keep(this.at(index)!, index)) rows.push({ part: this, index });
    }
    return this.#rows(rows);
  }

  /** Plain numbers for JSON: coordinates with 2 decimals, confidences with 5. */
  toJSON(): DetectionsJson {
    const { width, height } = this.image;
    return {
      image: { width, height },
      detections: Array.from(this, ({ label, classId, confidence, xyxy, keypoints, rotatedBox }) => ({
        label,
        classId,
        confidence: rounded(confidence, 5),
        xyxy: xyxy.map((side) => rounded(side, 2)) as [number, number, number, number],
        ...(keypoints && { keypoints: keypoints.map((point) => point.map((value) => rounded(value!, 2))) }),
        ...(rotatedBox && { rotatedBox: roundedBox(rotatedBox) }),
      })),
    };
  }

  /**
   * Rows of a COCO results file.
   * @throws ERR_YOLO_INVALID_ARGUMENT when `categoryIds` has another length than there are classes.
   */
  toCocoResults(options: CocoOptions): CocoResult[] {
    checkCocoOptions(options, 'options');
    const { imageId, categoryIds = categoryIdsOf(this.labels) } = options;
    if (imageId === undefined) throw invalid('Expected imageId, the number of the picture, but received undefined', {});
    if (categoryIds.length !== this.labels.length)
      throw invalid(
        `Expected ${this.labels.length} category ids, one for each class, but received ${categoryIds.length}`,
        {},
      );
    return Array.from(this, ({ xyxy: [x1, y1, x2, y2], classId, confidence }) => ({
      // JSON knows no -0.
      image_id: imageId + 0,
      category_id: categoryIds[classId]! + 0,
      bbox: [rounded(x1, 2), rounded(y1, 2), rounded(x2 - x1, 2), rounded(y2 - y1, 2)],
      score: rounded(confidence, 5),
    }));
  }

  /**
   * Lines of a YOLO label file, `class cx cy w h`, one a detection in their order, each ended by a line feed: class id, centre
   * and size of the box as shares of the picture's width and height, 0..1 with six decimals. What of a box lies outside the
   * picture is cut off.
   * @throws ERR_YOLO_INVALID_ARGUMENT
   */
  toYolo(options: YoloOptions = {}): string {
    checkYoloOptions(options, 'options');
    const { includeConfidence = false } = options;
    const { width, height } = this.image;
    let lines = '';
    for (const { classId, confidence, xyxy } of this) {
      const [left, right] = [share(xyxy[0], width), share(xyxy[2], width)];
      const [top, bottom] = [share(xyxy[1], height), share(xyxy[3], height)];
      const numbers = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top];
      if (includeConfidence) numbers.push(confidence);
      lines += `${classId} ${numbers.map((number) => number.toFixed(6)).join(' ')}\n`;
    }
    return lines;
  }

  /**
   * Rows of a CSV file (RFC 4180, UTF-8), `file,label,classId,confidence,x1,y1,x2,y2`, one a detection in their order, with the
   * decimals of `toJSON()`. To join several pictures see `Detections.toCsv()`.
   * @throws ERR_YOLO_INVALID_ARGUMENT
   */
  toCsv(options: CsvOptions = {}): string {
    checkCsvOptions(options, 'options');
    // Of a URL without what may be a secret: its user, password and query.
    const source = isHttpUrl(this.source) ? describeInput(this.source) : String(this.source ?? '');
    const { file = source, header = true, escapeFormulas = true } = options;
    let csv = header ? csvRow(CSV_COLUMNS, false) : '';
    for (const { label, classId, confidence, xyxy } of this.toJSON().detections)
      csv += csvRow([file, label, classId, confidence, ...xyxy], escapeFormulas);
    return csv;
  }

  /**
   * Draws boxes and labels on the picture: into a file of the format that its extension names (png, jpg, webp, avif, tiff), or,
   * without a path, into the bytes of a PNG. The picture is read again from where it came; of pictures that came as bytes, as pixels
   * or from the network nothing is kept, so they are given once more as `image`.
   * @throws YoloError (as a rejection): ERR_YOLO_INVALID_ARGUMENT for another extension, a picture that is missing or of
   * another size, a colour that is none or of a class that there is not; ERR_YOLO_IMAGE_DECODE; ERR_YOLO_FILE_WRITE.
   */
  annotate(path: string, options?: AnnotateOptions): Promise<void>;
  annotate(path?: undefined, options?: AnnotateOptions): Promise<Buffer>;
  // biome-ignore lint/suspicious/noConfusingVoidType: the two signatures above say when it is which
  async annotate(path?: string, options: AnnotateOptions = {}): Promise<Buffer | void> {
    checkAnnotateOptions(options, 'options');
    const { labels: hasLabels = true, lineWidth, colours = [] } = options;
    const style = { hasLabels, lineWidth, colours: inClassOrder(colours, this.labels) };
    const picture = this.#picture(options.image, 'annotate(path, { image })');
    const { annotateFile, annotateToPng } = await import('./image/annotate.js');
    return path === undefined ? annotateToPng(picture, this, style) : annotateFile(path, picture, this, style);
  }

  /**
   * Cuts one box out of the picture: every pixel that it touches, inside the picture, at least 1×1. Into a file or the bytes
   * of a PNG, as `annotate()` does, and from the same picture.
   * @param index of the detection, a whole number in [-length, length - 1]; from the end for a negative one.
   * @throws YoloError (as a rejection): as `annotate()`, and ERR_YOLO_INVALID_ARGUMENT for an index without a detection.
   */
  crop(index: number, path: string, options?: CropOptions): Promise<void>;
  crop(index: number, path?: undefined, options?: CropOptions): Promise<Buffer>;
  // biome-ignore lint/suspicious/noConfusingVoidType: the two signatures above say when it is which
  async crop(index: number, path?: string, options: CropOptions = {}): Promise<Buffer | void> {
    checkCropOptions(options, 'options');
    const box = Number.isInteger(index) ? this.at(index)?.xyxy : undefined;
    if (box === undefined)
      throw invalid(
        this.length === 0
          ? 'There are no detections here, so none can be cut out'
          : `Expected the index of a detection, a whole number in [${-this.length}, ${this.length - 1}], but received ${show(index)}`,
        { index, length: this.length },
      );
    const picture = this.#picture(options.image, 'crop(index, path, { image })');
    const { padding = 0 } = options;
    const { cropToFiles, cropToPng } = await import('./image/crop.js');
    return path === undefined
      ? cropToPng(picture, this, box, padding)
      : cropToFiles(picture, this, [{ path, box }], padding);
  }

  /**
   * Cuts every box out as `crop()` does, decoding the picture once. Files are written one after the other, each whole or not at all.
   * @param pathOf gives the file of a detection; undefined leaves it out.
   * @throws YoloError (as a rejection): as `crop()`, and ERR_YOLO_INVALID_ARGUMENT where two detections are given one path.
   */
  async saveCrops(
    pathOf: (detection: Detection, index: number) => string | undefined,
    options: CropOptions = {},
  ): Promise<void> {
    checkCropOptions(options, 'options');
    if (typeof pathOf !== 'function') throw invalid('Expected saveCrops() to be given a function', {});
    const picture = this.#picture(options.image, 'saveCrops(pathOf, { image })');
    const parts = new Map<string, { path: string; box: Detection['xyxy'] }>();
    for (let index = 0; index < this.length; index++) {
      const detection = this.at(index)!;
      const path = pathOf(detection, index);
      if (path === undefined) continue;
      aString(path, `the path of detection ${index}`);
      if (parts.has(path))
        throw invalid(`Two detections would be written to ${path}; give each a path of its own`, { path, index });
      parts.set(path, { path, box: detection.xyxy });
    }
    const { cropToFiles } = await import('./image/crop.js');
    return cropToFiles(picture, this, [...parts.values()], options.padding ?? 0);
  }

  /** A table for console.log. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    const rows = Array.from(
      this,
      ({ label, confidence, xyxy }) =>
        `\n  ${label} ${confidence.toFixed(3)} [${xyxy.map((side) => side.toFixed(1)).join(', ')}]`,
    );
    return `Detections(${this.length}) of ${this.image.width}×${this.image.height} {${rows.join('')}${rows.length > 0 ? '\n' : ''}}`;
  }

  /** The picture that is read again; `call` shows how it is given. */
  #picture(given: ImageInput | undefined, call: string): ImageInput {
    const picture = given ?? this.source;
    if (given === undefined && isHttpUrl(picture))
      throw invalid(
        `${describeInput(picture)} is not fetched a second time, as it may be another picture by now: get its bytes with fetchImage(), detect on them, and give them again, ${call}`,
        {},
      );
    if (picture === undefined)
      throw invalid(
        `These detections did not come from a file, and pixels are not kept: give the picture again, ${call}`,
        {},
      );
    return picture;
  }

  #rows(rows: readonly { part: Detections; index: number }[], keepsExtra = true): Detections {
    const xyxy = new Float32Array(4 * rows.length);
    const confidence = new Float32Array(rows.length);
    const classId = new Int32Array(rows.length);
    const layout = keepsExtra ? this.extra?.layout : undefined;
    const size = layout === undefined ? 0 : extraSize(layout);
    const values = new Float32Array(size * rows.length);
    for (const [place, { part, index }] of rows.entries()) {
      xyxy.set(part.xyxy.subarray(4 * index, 4 * index + 4), 4 * place);
      confidence[place] = part.confidence[index]!;
      classId[place] = part.classId[index]!;
      if (size > 0) values.set(part.extra!.values.subarray(size * index, size * (index + 1)), size * place);
    }
    return new Detections({ xyxy, confidence, classId, extra: layout && { layout, values } }, this);
  }
}

function roundedBox({ cx, cy, width, height, angle }: RotatedBox): RotatedBox {
  const [x, y, w, h] = [cx, cy, width, height].map((side) => rounded(side, 2)) as [number, number, number, number];
  return { cx: x, cy: y, width: w, height: h, angle: rounded(angle, 4) };
}

/** All classes of a name have its colour. */
function inClassOrder(
  colours: NonNullable<AnnotateOptions['colours']>,
  labels: readonly string[],
): readonly (string | undefined)[] {
  if (isList(colours)) return colours;
  for (const name of Object.keys(colours)) {
    if (!labels.includes(name))
      throw invalid(`There is no class ${JSON.stringify(name)} for a colour${didYouMean(name, labels)}`, {
        option: 'colours',
        value: name,
      });
  }
  return labels.map((label) => (Object.hasOwn(colours, label) ? colours[label] : undefined));
}

// Array.isArray does not know readonly arrays.
function isList(value: readonly string[] | Readonly<Record<string, string>>): value is readonly string[] {
  return Array.isArray(value);
}

function categoryIdsOf(labels: readonly string[]): readonly number[] {
  const isCoco = labels.length === COCO_LABELS.length && labels.every((label, id) => label === COCO_LABELS[id]);
  return isCoco ? COCO_CATEGORY_IDS : labels.map((_, id) => id + 1);
}

/** Of the picture's side, inside it. */
function share(at: number, side: number): number {
  return Math.max(0, Math.min(at / side, 1));
}

const CSV_COLUMNS = ['file', 'label', 'classId', 'confidence', 'x1', 'y1', 'x2', 'y2'];

/** What spreadsheets take for the beginning of a formula; the last four are wide forms of the first four. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

function csvRow(fields: readonly (string | number)[], escapeFormulas: boolean): string {
  const cells = fields.map((field) => {
    if (typeof field === 'number') return String(field);
    const text = escapeFormulas && FORMULA.test(field) ? `'${field}` : field;
    // A semicolon or a tab parts cells in spreadsheets of some countries.
    return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${cells.join(',')}\r\n`;
}

function rounded(value: number, decimals: number): number {
  // JSON knows no -0.
  return Number(value.toFixed(decimals)) + 0;
}
