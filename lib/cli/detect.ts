import { type Command, Option } from 'commander';
import { type AnnotateOptions, type Detections, Detector, type Device, fetchImage, YoloError } from '../index.js';
import { writeWhole } from '../whole-file.js';
import { anchorsOption, classList, classThreshold, count, fraction, HEAD_HELP, lineWidth, size } from './arguments.js';
import { ExitCode } from './exit-code.js';
import { inOrder } from './in-order.js';
import { findPictures, type Picture } from './pictures.js';
import { print } from './print.js';
import { printable } from './printable.js';
import { noProgress, progressBar } from './progress.js';
import { cocoReport, csvReport, jsonReport, plural, type Report, tableReport, type Written } from './reports.js';
import { type CropPath, cropPaths, labelPaths, savedPaths } from './saved-paths.js';

/** Where files go that are written beside the results. */
interface Places {
  /** By the picture's place. */
  readonly drawn: readonly string[];
  readonly style: Pick<AnnotateOptions, 'labels' | 'lineWidth'>;
  readonly crop: CropPath | undefined;
  /** Label files by the picture's place. */
  readonly listed: readonly string[];
  readonly includeConfidence: boolean | undefined;
}

interface Options {
  readonly model?: string;
  readonly save?: string;
  readonly saveCrops?: string;
  /** False with --no-labels. */
  readonly labels: boolean;
  readonly lineWidth?: number;
  readonly saveTxt?: string;
  readonly saveConf?: boolean;
  readonly json?: boolean;
  readonly csv?: boolean;
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
  readonly allowPrivateAddresses?: boolean;
  readonly limitInputPixels?: number;
  readonly rectangle?: boolean;
  readonly head?: string;
  readonly anchors?: 'yolov5' | 'yolov7';
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
  $ migraphx-yolo detect photos/ --csv > boxes.csv
  $ migraphx-yolo detect evaluation/ --coco --confidence 0.001 > results.json
  $ migraphx-yolo detect https://example.org/street.jpg --save boxes/
  $ cat street.jpg | migraphx-yolo detect - --classes person,dog

Data go to stdout, everything else to stderr.
Exit code: 0 all pictures done, 1 some failed or nothing could be started, 2 wrong arguments or no picture found, 130 interrupted.`;

/** Adds `detect`. Its action rejects with the signal's reason, or with the YoloError that keeps it from starting. */
export function addDetectCommand(program: Command, signal: AbortSignal): void {
  program
    .command('detect')
    .summary('find the objects in pictures')
    .description('Finds the objects in pictures and prints a table of their boxes, in pixels of each picture.')
    .argument('<pictures...>', 'files, folders, patterns, http(s) URLs, or - for one encoded picture on stdin')
    .option('--model <file>', 'ONNX model (default: a small COCO detector of 80 classes, fetched once)')
    .option('--save <folder>', 'write copies of the pictures there, with the boxes drawn')
    .option('--no-labels', 'draw boxes without class and confidence')
    .option('--line-width <pixels>', "of drawn boxes, 1..1000 (default: by the picture's size)", lineWidth)
    .option('--save-crops <folder>', 'write what is in each box there, as a picture of its own')
    .option(
      '--save-txt <folder>',
      'write a YOLO label file for each picture there: class cx cy w h, in shares of its size',
    )
    .option('--save-conf', 'with the confidence at the end of each line of them')
    .addOption(new Option('--json', 'print one JSON array, a line for each picture').conflicts(['coco', 'csv']))
    .addOption(
      new Option(
        '--coco',
        'print one JSON array of COCO results; image_id is the number that a file is named by',
      ).conflicts('csv'),
    )
    .option('--csv', 'print one CSV file, a row for each object')
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
      '640 or 640x480, for a model that leaves it open (default: 640, or that of its export)',
      size,
    )
    .option('--allow-private-addresses', 'fetch URLs from this machine and its network too, not from the internet only')
    .option('--limit-input-pixels <n>', 'most pixels of a picture; one of more fails (default: 100000000)', count)
    .option('--head <name>', HEAD_HELP)
    .addOption(anchorsOption())
    .option('--rectangle', 'leave off the border of each picture, for a model with open height and width')
    .option('-q, --quiet', 'print no progress and no remarks, errors only')
    .addHelpText('after', EXAMPLES)
    .action((pictures: string[], options: Options) => detect(pictures, options, signal));
}

async function detect(args: readonly string[], options: Options, signal: AbortSignal): Promise<void> {
  refuseIdle(options);
  const remark = (text: string) => {
    if (!options.quiet) console.error(printable(text));
  };
  const { pictures, problems } = await findPictures(args, signal);
  for (const problem of problems) console.error(`error: ${printable(problem)}`);
  const { save, saveCrops, saveTxt, labels, lineWidth } = options;
  const places: Places = {
    drawn: save === undefined ? [] : await savedPaths(save, pictures),
    style: { labels, lineWidth },
    crop: saveCrops === undefined ? undefined : await cropPaths(saveCrops, pictures, save),
    listed: saveTxt === undefined ? [] : await labelPaths(saveTxt, pictures),
    includeConfidence: options.saveConf,
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
    limitInputPixels: options.limitInputPixels,
    rectangle: options.rectangle,
    head: options.head,
    anchors: options.anchors,
    allowDownload: true,
    onProgress: ({ message }) => remark(message),
    signal,
  });
  try {
    const { model, device, fallbackReason } = detector;
    remark(`${model.name} on ${device}${fallbackReason === undefined ? '' : ` (${fallbackReason})`}`);
    const report = reportFor(options, pictures);
    if (report.remark !== undefined) remark(report.remark);
    const failed = problems.length + (await detectAll(pictures, places, report, options, detector, signal));
    if (failed > 0) console.error(`${failed} of ${plural(pictures.length + problems.length, 'picture')} failed`);
    process.exitCode = failed === 0 ? ExitCode.OK : ExitCode.FAILED;
  } finally {
    await detector.close();
  }
}

function reportFor({ json, coco, csv }: Options, pictures: readonly Picture[]): Report {
  if (json) return jsonReport();
  if (coco) return cocoReport(pictures);
  return csv ? csvReport() : tableReport();
}

/** An option without effect would be a mistake that nobody sees. */
function refuseIdle({ save, saveTxt, labels, lineWidth, saveConf = false }: Options): void {
  const needs = (isGiven: boolean, option: string, folder: string | undefined, needed: string) => {
    if (isGiven && folder === undefined)
      throw new YoloError(
        'ERR_YOLO_INVALID_ARGUMENT',
        `${option} has no effect without ${needed} <folder>; give both`,
        { phase: 'validate', detail: { option } },
      );
  };
  needs(!labels, '--no-labels', save, '--save');
  needs(lineWidth !== undefined, '--line-width', save, '--save');
  needs(saveConf, '--save-conf', saveTxt, '--save-txt');
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
  const { allowPrivateAddresses } = options;
  const work = async (picture: Picture, index: number): Promise<Outcome> => {
    let input: string | Uint8Array;
    let detections: Detections;
    try {
      // Once for all that is done with it: the next time it may be another picture.
      input =
        picture.input instanceof URL
          ? await fetchImage(picture.input, { allowPrivateAddresses, signal })
          : picture.input;
      detections = await detector.detect(input, { signal });
    } catch (error) {
      signal.throwIfAborted();
      return { problem: problemOf(picture, error) };
    }
    const { written, error } = await write(detections, input, index, places);
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
  image: string | Uint8Array,
  index: number,
  { drawn, style, crop, listed, includeConfidence }: Places,
): Promise<{ written: Written; error?: unknown }> {
  const [copy, crops, labelFile] = await Promise.allSettled([
    saveDrawn(detections, image, style, drawn[index]),
    saveCrops(detections, image, crop && ((box) => crop(index, box))),
    saveLabels(detections, includeConfidence, listed[index]),
  ]);
  const failed = [copy, crops, labelFile].find((one) => one.status === 'rejected');
  return {
    written: {
      drawn: copy.status === 'fulfilled' ? copy.value : undefined,
      crops: crops.status === 'fulfilled' ? crops.value : undefined,
      labelFile: labelFile.status === 'fulfilled' ? labelFile.value : undefined,
    },
    error: failed?.reason,
  };
}

async function saveDrawn(
  detections: Detections,
  image: string | Uint8Array,
  style: Places['style'],
  path: string | undefined,
): Promise<string | undefined> {
  if (path !== undefined) await detections.annotate(path, { image, ...style });
  return path;
}

async function saveCrops(
  detections: Detections,
  image: string | Uint8Array,
  pathOf: ((box: number) => Promise<string>) | undefined,
): Promise<string[] | undefined> {
  if (pathOf === undefined) return undefined;
  const paths: string[] = [];
  for (let box = 0; box < detections.length; box++) paths.push(await pathOf(box));
  await detections.saveCrops((_, box) => paths[box], { image });
  return paths;
}

/** Of a picture without objects an empty file: it says so, and takes the place of an earlier run's. */
async function saveLabels(
  detections: Detections,
  includeConfidence: boolean | undefined,
  path: string | undefined,
): Promise<string | undefined> {
  if (path !== undefined) await writeWhole(path, detections.toYolo({ includeConfidence }), 'file', 'export');
  return path;
}

function problemOf({ name }: Picture, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  // Many messages begin with the picture as it was given.
  return message.includes(name) ? message : `${name}: ${message}`;
}
