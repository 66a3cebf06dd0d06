import type { Command } from 'commander';
import { Detector, type DetectorOptions, type ModelInfo, YoloError } from '../index.js';
import { readModelFile } from '../model/signature.js';
import { resolveModel } from '../model/source.js';
import { anchorsOption, HEAD_HELP, size } from './arguments.js';
import { print } from './print.js';
import { printable } from './printable.js';

interface Options {
  readonly json?: boolean;
  readonly imageSize?: DetectorOptions['imageSize'];
  readonly head?: string;
  readonly anchors?: 'yolov5' | 'yolov7';
}

/** What the file says, whether the model is understood or not. */
type FileFacts = Awaited<ReturnType<typeof readModelFile>> & { readonly name: string; readonly path?: string };

const EXAMPLES = `
Examples:
  $ migraphx-yolo inspect yolov8n.onnx
  $ migraphx-yolo inspect yolov8n.onnx --json | jq .labels

What is found goes to stdout, why a model is refused to stderr.
Exit code: 0 the model can be used, 1 it is refused or no model, 2 wrong arguments, 130 interrupted.`;

/** Adds `inspect`. Its action rejects with the signal's reason, or with the YoloError that a detector of the model rejects with. */
export function addInspectCommand(program: Command, signal: AbortSignal): void {
  program
    .command('inspect')
    .summary('show what a model is and how it is read')
    .description(
      'Shows what an ONNX model takes and gives, how it is fed and read, what speaks for that, and its metadata.',
    )
    .argument('[model]', 'ONNX file (default: the small COCO detector that detect uses, fetched once)')
    .option('--json', 'print one JSON object')
    .option(
      '--image-size <n>',
      '640 or 640x480, for a model that leaves it open (default: 640, or that of its export)',
      size,
    )
    .option('--head <name>', HEAD_HELP)
    .addOption(anchorsOption())
    .addHelpText('after', EXAMPLES)
    .action((model: string | undefined, options: Options) => inspect(model, options, signal));
}

async function inspect(
  model: string | undefined,
  { json, imageSize, head, anchors }: Options,
  signal: AbortSignal,
): Promise<void> {
  const onProgress = ({ message }: { message: string }) => console.error(printable(message));
  const resolved = await resolveModel(model, { allowDownload: true, onProgress, signal });
  const facts = { name: resolved.name, path: resolved.path, ...(await readModelFile(resolved)) };
  const show = json ? asJson : asText;
  let info: ModelInfo;
  try {
    const detector = await Detector.create({ model, imageSize, head, anchors, allowDownload: true, signal });
    info = detector.model;
    await detector.close();
  } catch (error) {
    signal.throwIfAborted();
    if (YoloError.is(error)) await print(show(facts, error), signal);
    throw error;
  }
  await print(show(facts, info), signal);
}

function asJson(facts: FileFacts, found: ModelInfo | YoloError): string {
  const { properties, ...file } = facts;
  const understood = YoloError.is(found)
    ? { metadata: properties, refusal: { code: found.code, message: found.message, detail: found.detail } }
    : { ...found, refusal: null };
  return `${JSON.stringify({ ...file, ...understood }, null, 2)}\n`;
}

/** A title and what is under it. */
type Section = readonly [title: string, lines: readonly string[]];

function asText(facts: FileFacts, found: ModelInfo | YoloError): string {
  const { name, path, producerName, producerVersion, irVersion, opsets, inputs, outputs, properties } = facts;
  const operators = Object.entries(opsets).map(([domain, version]) => `${domain || 'ONNX'} ${version}`);
  const sections: Section[] = [
    [
      name,
      [
        ...(path === undefined ? [] : [path]),
        `${[producerName, producerVersion].filter(Boolean).join(' ') || 'producer unknown'}; operators of ${operators.join(', ') || 'unknown version'}; IR version ${irVersion}`,
      ],
    ],
    ['Inputs', inputs.map(tensor)],
    ['Outputs', outputs.map(tensor)],
    ...(YoloError.is(found) ? [['Refused', [found.code]] as const] : understood(found)),
    ['Metadata', Object.entries(properties).map(([key, value]) => `${key}: ${short(value)}`)],
  ];
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => [title, ...lines.map((line) => `  ${line}`)].map((line) => `${oneLine(line)}\n`).join(''))
    .join('\n');
}

function understood(info: ModelInfo): Section[] {
  const { head, family, inputWidth, inputHeight, batch, inputFormat, labels, evidence, assumed, candidates } = info;
  const { layout, type, channelOrder, divisor, mean, std, letterbox } = inputFormat;
  const scaled = divisor === 1 ? 'levels as they are' : `levels / ${divisor}`;
  const levels = mean === undefined ? scaled : `(levels - [${mean.join(', ')}]) / [${std?.join(', ')}]`;
  return [
    ['Read by', [`head ${head}, as ${family} models are`]],
    [
      'Fed with',
      [
        `${inputWidth}×${inputHeight} pixels, ${batch === 'dynamic' ? 'any number of pictures' : plural(batch)} a run`,
        `${layout} ${type}, ${channelOrder.toUpperCase()}, ${levels}, letterbox ${letterbox.placement}`,
      ],
    ],
    ['Evidence', evidence],
    ['Assumed', assumed],
    [
      'Not taken',
      candidates.flatMap(({ head: other, classCount, against }) =>
        against === undefined ? [] : [`${other} with ${classCount} classes: ${against}`],
      ),
    ],
    [`Labels (${labels.length})`, labels.length === 0 ? [] : [some(labels).join(', ')]],
  ];
}

function plural(pictures: number): string {
  return `${pictures} picture${pictures === 1 ? '' : 's'}`;
}

function tensor({ name, type, dims }: FileFacts['inputs'][number]): string {
  return `${name} ${type} [${dims.map((dim) => (dim === -1 ? '?' : dim)).join(', ')}]`;
}

const MOST_LABELS = 100;

function some(labels: readonly string[]): readonly string[] {
  const more = labels.length - MOST_LABELS;
  return more > 0 ? [...labels.slice(0, MOST_LABELS), `… and ${more} more, which --json has`] : labels;
}

function short(value: string): string {
  return value.length > 100 ? `${value.slice(0, 99)}…` : value;
}

/** Names and metadata are the file's, and may hold anything. */
function oneLine(text: string): string {
  return printable(text.replace(/\s*\n\s*/g, ' '));
}
