import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Detections, Detector, type Device } from '../index.js';
import { ExitCode } from './exit-code.js';
import { inOrder } from './in-order.js';
import { findPictures, type Picture } from './pictures.js';
import { printable } from './printable.js';
import { noProgress, progressBar } from './progress.js';
import { cocoReport, jsonReport, plural, type Report, tableReport, type Written } from './reports.js';
import { type CropPath, cropPaths, savedPaths } from './saved-paths.js';

/** Where files go that are written beside the results. */
interface Places {
  /** By the picture's place. */
  readonly drawn: readonly string[];
  readonly crop: CropPath | undefined;
}

interface Options {
  readonly model?: string;
  readonly save?: string;
  readonly saveCrops?: string;
  readonly json?: boolean;
  readonly coco?: boolean;
  readonly confidence?: number;
  readonly classThreshold?: Readonly<Record<string, number>>;
  readonly iou?: number;
  readonly classes?: readonly (string | number)[];
  readonly maxDetections?: number;
  readonly maxPerClass?: number;
  readonly multiLabel?: boolean;
  readonly device: Device;
  readonly lanes?: number;
  readonly threads?: number;
  readonly imageSize?: number | [number, number];
  readonly rectangle?: boolean;
  readonly quiet?: boolean;
}

/** What came of a picture: a file that cannot be written is a problem, and its detections are printed all the same. */
interface Outcome {
  readonly found?: { readonly picture: Picture; readonly detections: Detections; readonly written: Written };
  readonly problem?: string;
}

const EXAMPLES = `
A folder means the pictures directly in it; for those of the folders in it, give a pattern in quotes.

Examples:
  $ migraphx-yolo detect street.jpg
  $ migraphx-yolo detect photos/ --save boxes/ --confidence 0.4
  $ migraphx-yolo detect 'cams/**/*.jpg' --model yolov8n.onnx --json > boxes.json
  $ migraphx-yolo detect evaluation/ --coco --confidence 0.001 > results.json
  $ cat street.jpg | migraphx-yolo detect - --classes person,dog

Data go to stdout, everything else to stderr.
Exit code: 0 all pictures done, 1 some failed or nothing could be started, 2 wrong arguments or no picture found, 130 interrupted.`;

/** Adds `detect`. Its action rejects with the signal's reason, or with the YoloError that keeps it from starting. */
export function addDetectCommand(program: Command, signal: AbortSignal): void {
  program
    .command('detect')
    .summary('find the objects in pictures')
    .description('Finds the objects in pictures and prints a table of their boxes, in pixels of each picture.')
    .argument('<pictures...>', 'files, folders, patterns, or - for one encoded picture on stdin')
    .option('--model <file>', 'ONNX model (default: a small COCO detector of 80 classes, fetched once)')
    .option('--save <folder>', 'write copies of the pictures there, with the boxes drawn')
    .option('--save-crops <folder>', 'write what is in each box there, as a picture of its own')
    .addOption(new Option('--json', 'print one JSON array, a line for each picture').conflicts('coco'))
    .option('--coco', 'print one JSON array of COCO results; image_id is the number that a file is named by')
    .option('--confidence <n>', 'keep boxes above it, 0..1 (default: 0.25)', fraction)
    .option('--class-threshold <class=n>', 'the same for one class, by name or number; repeatable', classThreshold)
    .option('--iou <n>', "of boxes that overlap by more, keep the best, 0..1 (default: the model family's)", fraction)
    .option('--classes <list>', 'keep these classes only, names or numbers: person,dog or 0,16', classList)
    .option('--max-detections <n>', 'most boxes of a picture, best first (default: 300)', count)
    .option('--max-per-class <n>', 'most boxes of one class, best first (default: no limit)', count)
    .option('--multi-label', 'list a box once for each class above the threshold, not for its best class only')
    .option('--device <name>', 'auto or cpu', 'auto')
    .option('--lanes <n>', 'pictures in the model at once (default: 1)', count)
    .option(
      '--threads <n>',
      'CPU threads of a lane (default: the processors, at most 8, shared among the lanes)',
      count,
    )
    .option(
      '--image-size <n>',
      "640 or 640x480, for a model that leaves it open (default: the model's, else 640)",
      size,
    )
    .option('--rectangle', 'leave off the border of each picture, for a model with open height and width')
    .option('-q, --quiet', 'print no progress and no remarks, errors only')
    .addHelpText('after', EXAMPLES)
    .action((pictures: string[], options: Options) => detect(pictures, options, signal));
}

async function detect(args: readonly string[], options: Options, signal: AbortSignal): Promise<void> {
  const remark = (text: string) => {
    if (!options.quiet) console.error(printable(text));
  };
  const { pictures, problems } = await findPictures(args, signal);
  for (const problem of problems) console.error(`error: ${printable(problem)}`);
  const { save, saveCrops } = options;
  const places: Places = {
    drawn: save === undefined ? [] : await savedPaths(save, pictures),
    crop: saveCrops === undefined ? undefined : await cropPaths(saveCrops, pictures, save),
  };

  const lanes = options.lanes ?? 1;
  const detector = await Detector.create({
    model: options.model,
    device: options.device,
    lanes,
    threads: options.threads,
    confidenceThreshold: options.confidence,
    classThresholds: options.classThreshold,
    iouThreshold: options.iou,
    classes: options.classes,
    maxDetections: options.maxDetections,
    maxPerClass: options.maxPerClass,
    multiLabel: options.multiLabel,
    imageSize: options.imageSize,
    rectangle: options.rectangle,
    allowDownload: true,
    onProgress: ({ message }) => remark(message),
    signal,
  });
  try {
    const { model, device, fallbackReason } = detector;
    remark(`${model.name} on ${device}${fallbackReason === undefined ? '' : ` (${fallbackReason})`}`);
    const report = options.json ? jsonReport() : options.coco ? cocoReport(pictures) : tableReport();
    if (report.remark !== undefined) remark(report.remark);
    const failed = problems.length + (await detectAll(pictures, places, report, options, detector, signal));
    if (failed > 0) console.error(`${failed} of ${plural(pictures.length + problems.length, 'picture')} failed`);
    process.exitCode = failed === 0 ? ExitCode.OK : ExitCode.FAILED;
  } finally {
    await detector.close();
  }
}

/** Prints results and errors in the order of the pictures; gives the number of pictures that failed. */
async function detectAll(
  pictures: readonly Picture[],
  places: Places,
  report: Report,
  options: Options,
  detector: Detector,
  signal: AbortSignal,
): Promise<number> {
  const work = async (picture: Picture, index: number): Promise<Outcome> => {
    let detections: Detections;
    try {
      detections = await detector.detect(picture.input, { signal });
    } catch (error) {
      signal.throwIfAborted();
      return { problem: problemOf(picture, error) };
    }
    const { written, error } = await write(detections, picture.input, index, places);
    return {
      found: { picture, detections, written },
      problem: error === undefined ? undefined : problemOf(picture, error),
    };
  };
  const hasBar = process.stderr.isTTY && pictures.length > 1 && !options.quiet;
  const progress = hasBar ? progressBar(pictures.length) : noProgress;
  let failed = 0;
  try {
    await print(report.begin, signal);
    for await (const outcome of inOrder(pictures, (options.lanes ?? 1) + 1, work)) {
      progress.advance();
      const { found, problem } = outcome;
      if (found !== undefined) {
        const text = report.picture(found.picture, found.detections, found.written);
        await progress.aside(() => print(text, signal));
      }
      if (problem !== undefined) {
        failed++;
        progress.aside(() => console.error(printable(`error: ${problem}`)));
      }
    }
  } finally {
    progress.end();
  }
  await print(report.end(), signal);
  return failed;
}

/** Writes each kind of file, whatever becomes of the others; the first failure comes as `error`. */
async function write(
  detections: Detections,
  image: Picture['input'],
  index: number,
  { drawn, crop }: Places,
): Promise<{ written: Written; error?: unknown }> {
  const [copy, crops] = await Promise.allSettled([
    saveDrawn(detections, image, drawn[index]),
    saveCrops(detections, image, crop && ((box) => crop(index, box))),
  ]);
  const failed = [copy, crops].find((one) => one.status === 'rejected');
  return {
    written: {
      drawn: copy.status === 'fulfilled' ? copy.value : undefined,
      crops: crops.status === 'fulfilled' ? crops.value : undefined,
    },
    error: failed?.reason,
  };
}

async function saveDrawn(
  detections: Detections,
  image: Picture['input'],
  path: string | undefined,
): Promise<string | undefined> {
  if (path !== undefined) await detections.annotate(path, { image });
  return path;
}

async function saveCrops(
  detections: Detections,
  image: Picture['input'],
  pathOf: ((box: number) => Promise<string>) | undefined,
): Promise<string[] | undefined> {
  if (pathOf === undefined) return undefined;
  const paths: string[] = [];
  for (let box = 0; box < detections.length; box++) paths.push(await pathOf(box));
  await detections.saveCrops((_, box) => paths[box], { image });
  return paths;
}

function problemOf({ name }: Picture, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // Many messages begin with the picture as it was given.
  return message.includes(name) ? message : `${name}: ${message}`;
}

/** Waits until it is written: the reader of stdout may be slower than the model. A failure comes as the signal's reason. */
async function print(text: string, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
  signal.throwIfAborted();
}

function fraction(text: string): number {
  const value = numberOf(text);
  if (!(value >= 0 && value <= 1)) throw new InvalidArgumentError('Expected a number in 0..1.');
  return value;
}

function count(text: string): number {
  const value = numberOf(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('Expected a whole number from 1 on.');
  return value;
}

function size(text: string): number | [number, number] {
  const [, width, height] = /^(\d+)(?:x(\d+))?$/.exec(text) ?? [];
  if (width === undefined) throw new InvalidArgumentError('Expected pixels, as 640 or 640x480 (width x height).');
  return height === undefined ? count(width) : [count(width), count(height)];
}

function classList(text: string, before: readonly (string | number)[] = []): (string | number)[] {
  const classes = text.split(',').map((name) => name.trim());
  if (classes.includes('')) throw new InvalidArgumentError('Expected names or numbers with commas between them.');
  return [...before, ...classes.map((name) => (/^\d+$/.test(name) ? Number(name) : name))];
}

function classThreshold(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  // A name may have the sign in it.
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('Expected a class and its threshold, as person=0.5 or 0=0.5.');
  return { ...before, [text.slice(0, at).trim()]: fraction(text.slice(at + 1).trim()) };
}

/** NaN for what JavaScript would take for a number but people would not: '', ' ', '0x10'. */
function numberOf(text: string): number {
  return /^\d*\.?\d+(e-?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}
