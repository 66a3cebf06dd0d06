import { YoloError } from '../../errors.js';
import type { Tensor } from '../../types.js';
import type { InputFormat } from '../input-format.js';
import { createLetterbox, type LetterboxOptions } from '../letterbox.js';
import { type Columns, headOutputs, postprocess } from '../postprocess.js';
import { mirrorAgreement } from './agreement.js';
import { ULTRALYTICS } from './families.js';
import type { Anchors, Family, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { HEADS, headNamed } from './index.js';
import { refuseNaN } from './outputs.js';
import { taskOf } from './tasks.js';
import { type ExporterFacts, exporterFacts } from './ultralytics-metadata.js';

export interface RecogniseOptions {
  /** Size of the picture that `probe` runs, in pixels. */
  readonly picture: { readonly width: number; readonly height: number };
  /** Name of the head to use; neither metadata nor values are asked then. */
  readonly head?: string;
  /** Parts of the input format that are given; the rest is found. */
  readonly inputFormat?: Partial<Pick<InputFormat, 'channelOrder' | 'divisor' | 'mean' | 'std'>> & {
    readonly letterbox?: Partial<LetterboxOptions>;
  };
  /** Class names that are given, in class order; they go before the model's own. */
  readonly labels?: readonly string[];
  /** Anchors of raw anchor maps, which no file has. */
  readonly anchors?: Anchors;
}

/** Runs the model on the proof picture, or on its mirror image, laid into the input in that format. */
export type Probe = (format: InputFormat, mirrored: boolean) => Promise<HeadOutputs>;

/** How a model is fed and read, and why. */
export interface Recognition {
  readonly layout: HeadLayout;
  readonly family: Family;
  readonly format: InputFormat;
  /** Of the family; null where the model has suppressed already. */
  readonly iouThreshold: number | null;
  /** What speaks for it, for people. */
  readonly evidence: readonly string[];
  /** What is the family's default, without evidence for or against it in this model. */
  readonly assumed: readonly string[];
  readonly candidates: readonly Candidate[];
}

/** A layout that the shapes allow. */
export interface Candidate {
  readonly head: string;
  readonly classCount: number;
  /** Why it was not taken; undefined for the one that was. */
  readonly against?: string;
}

/** Agreement of a picture with its mirror image from which the levels are taken to be right. */
const CLEAR_AGREEMENT = 0.5;
/** The other reading must agree by less than this share of it. */
const CLEAR_LEAD = 0.5;

/** Class count of COCO, which models without names most often have. */
const COCO_CLASSES = 80;
const COCO_PRIOR = `${COCO_CLASSES} classes, as COCO has, where other layouts of this shape would have another number`;

/**
 * Finds how a model is fed and read: by its metadata, then by names and shapes, then by what it gives for a picture.
 * Metadata, then the family of the layout, decide channel order, scale and letterbox; an NHWC or uint8 picture input is RGB.
 * Values discard readings that they contradict, and tell whether levels go in as 0..1 or 0..255, where nothing else does: with the right
 * ones the boxes of a picture and of its mirror image agree.
 * @throws ERR_YOLO_HEAD_UNKNOWN when no layout fits, or two do; the message has the outputs, the candidates, and what to set.
 * @throws ERR_YOLO_INVALID_ARGUMENT for a head that does not exist, or labels that are too few or too many.
 * @throws ERR_YOLO_DEVICE when the outputs are not numbers.
 */
export async function recognise(
  signature: ModelSignature,
  options: RecogniseOptions,
  probe: Probe,
): Promise<Recognition> {
  const facts = options.head === undefined ? exporterFacts(signature.metadata) : { evidence: [] };
  const proof = new Proof(signature, options, facts, probe);
  const readings = readingsOf({ ...signature, anchors: options.anchors }, options);
  const fitting: HeadReading[] = [];
  const candidates: Candidate[] = [];
  for (const reading of readings) {
    const against = await proof.contradiction(reading);
    if (against === undefined) fitting.push(reading);
    else candidates.push({ ...named(reading), against });
  }
  if (fitting.length === 0) await refuseWrongNames(signature, options, proof);
  const { chosen, assumed } = await choose(fitting, signature, proof, candidates, readings);
  const input = await proof.input(chosen);
  if (chosen.needsProof !== undefined && options.head === undefined && input.assumed.length > 0)
    throw unknown('can only be guessed at', signature, [
      { ...named(chosen), against: chosen.needsProof },
      ...candidates,
    ]);
  return {
    layout: chosen.layout,
    family: input.family,
    format: input.format,
    iouThreshold: input.family.iouThreshold,
    evidence: [...facts.evidence, ...chosen.evidence, ...input.evidence],
    assumed: [...(chosen.assumed ?? []), ...assumed, ...input.assumed],
    candidates: [named(chosen), ...candidates],
  };
}

/**
 * As `recognise`, for a model whose output shapes are learnt from a run of their own: that run counts as the first of the proof where its
 * format is the right one.
 * @param run gives the outputs of one picture, batch dimension and all.
 */
export async function recogniseModel(
  model: Omit<ModelSignature, 'outputs'>,
  options: RecogniseOptions,
  run: (format: InputFormat, mirrored: boolean) => Promise<readonly Tensor[]>,
): Promise<Recognition> {
  const first = formatOf(ULTRALYTICS, model, options);
  const tensors = await run(first, false);
  const outputs = tensors.map(({ name, type, dims }) => ({ name, type, dims }));
  return recognise({ ...model, outputs }, options, async (format, mirrored) =>
    headOutputs(!mirrored && sameFormat(format, first) ? tensors : await run(format, mirrored), 0, undefined, 1),
  );
}

function sameFormat(a: InputFormat, b: InputFormat): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function readingsOf(signature: ModelSignature, { head, labels }: RecogniseOptions): HeadReading[] {
  const heads = head === undefined ? HEADS : [headNamed(head)];
  const read = (seen: ModelSignature): HeadReading[] => heads.flatMap((candidate) => candidate.read(seen));
  const known = { ...signature, labels: labels ?? signature.labels };
  const readings = read(known);
  if (readings.length > 0) return readings;
  if (head !== undefined) {
    // Outputs beside the one that is meant do not count when the head is given.
    const single = signature.outputs.flatMap((output) => read({ ...known, outputs: [output] }));
    if (single.length === 1) return single;
  }
  const unnamed = read({ ...signature, labels: undefined });
  throw unnamed.length === 0
    ? unknown('are of no known layout', signature, [])
    : wrongNames(unnamed, signature, labels);
}

/** Where the layouts that the number of given names allows are contradicted, and one of another number is not, the names are wrong. */
async function refuseWrongNames(signature: ModelSignature, options: RecogniseOptions, proof: Proof): Promise<void> {
  const { labels } = options;
  if (labels === undefined) return;
  const unnamed: HeadReading[] = [];
  for (const reading of HEADS.flatMap((head) => head.read({ ...signature, labels: undefined }))) {
    const isOther = reading.layout.classCount !== labels.length;
    if (isOther && (await proof.contradiction(reading)) === undefined) unnamed.push(reading);
  }
  if (unnamed.length > 0) throw wrongNames(unnamed, signature, labels);
}

function wrongNames(
  unnamed: readonly HeadReading[],
  signature: ModelSignature,
  labels: readonly string[] | undefined,
): YoloError {
  const counts = [...new Set(unnamed.map(({ layout }) => layout.classCount))].join(' or ');
  if (labels !== undefined)
    return new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `Expected labels to have ${counts} names, one for each class of the model, but received ${labels.length}`,
      { phase: 'validate', detail: { option: 'labels', received: labels.length } },
    );
  return unknown(
    `do not go with the ${signature.labels?.length} class names of its metadata`,
    signature,
    unnamed.map((reading) => ({ ...named(reading), against: `it would have ${reading.layout.classCount} classes` })),
    'Give the right names with `labels`, or',
  );
}

/** The one reading left; of several the one of COCO's class count, or the one whose boxes agree. */
async function choose(
  fitting: readonly HeadReading[],
  signature: ModelSignature,
  proof: Proof,
  candidates: Candidate[],
  readings: readonly HeadReading[],
): Promise<{ chosen: HeadReading; assumed: string[] }> {
  if (fitting.length === 0) {
    // What is only missing an option was not contradicted by the values.
    const incomplete = readings.find(
      ({ layout, needs }) =>
        needs !== undefined && candidates.some(({ head, against }) => head === layout.head && against === needs),
    );
    throw incomplete === undefined
      ? unknown('contradict every layout of their shape', signature, candidates)
      : needsMore(incomplete, signature);
  }
  if (fitting.length === 1) return { chosen: fitting[0], assumed: [] };
  const coco = fitting.filter(({ layout }) => layout.classCount === COCO_CLASSES);
  // A class count that is itself assumed speaks for nothing.
  const isCoco = coco.length === 1 && (coco[0].assumed ?? []).length === 0;
  const { chosen, why } = isCoco ? { chosen: coco[0], why: COCO_PRIOR } : await byAgreement(fitting, proof);
  if (chosen === undefined) {
    const all = fitting.map((reading) => ({ ...named(reading), against: 'nothing speaks against it' }));
    throw unknown('can be read in more than one way', signature, [...all, ...candidates]);
  }
  for (const reading of fitting) if (reading !== chosen) candidates.push({ ...named(reading), against: why });
  return { chosen, assumed: [why] };
}

async function byAgreement(
  fitting: readonly HeadReading[],
  proof: Proof,
): Promise<{ chosen?: HeadReading; why: string }> {
  const agreements: number[] = [];
  for (const reading of fitting) agreements.push(await proof.bestAgreement(reading));
  const [best, second] = [...agreements].sort((a, b) => b - a);
  const isClear = best >= CLEAR_AGREEMENT && second < CLEAR_LEAD * best;
  return {
    chosen: isClear ? fitting[agreements.indexOf(best)] : undefined,
    why: `boxes of the proof picture and of its mirror image agree by ${best.toFixed(2)}, those of the next layout by ${second.toFixed(2)}`,
  };
}

/** Runs of the proof picture, each format and side once. */
class Proof {
  readonly #signature: ModelSignature;
  readonly #options: RecogniseOptions;
  readonly #facts: ExporterFacts;
  readonly #probe: Probe;
  readonly #runs = new Map<string, Promise<HeadOutputs>>();

  constructor(signature: ModelSignature, options: RecogniseOptions, facts: ExporterFacts, probe: Probe) {
    this.#signature = signature;
    this.#options = options;
    this.#facts = facts;
    this.#probe = probe;
  }

  /** What metadata and values say against a reading; of one whose head was given only whether it is complete. */
  async contradiction(reading: HeadReading): Promise<string | undefined> {
    const { layout, family, needs } = reading;
    if (this.#options.head !== undefined) return needs;
    const { family: known, task } = this.#facts;
    if (known !== undefined && known !== family.name) return `metadata says ${known}, not ${family.name}`;
    if (task !== undefined && task !== taskOf(layout.extra)) return `metadata says that the task is ${task}`;
    const outputs = await this.#run(formatOf(reading.family, this.#signature, this.#options), false);
    refuseNaN(outputs, layout.outputs);
    return headNamed(layout.head).contradiction(outputs, layout) ?? needs;
  }

  /** Agreement of upright and mirrored boxes at the scale where it is greatest. */
  async bestAgreement(reading: HeadReading): Promise<number> {
    const agreements = [];
    for (const way of this.#ways(reading)) agreements.push(await this.#agreement(reading, way));
    return Math.max(...agreements);
  }

  /** Family and format to use, proved where they are neither given nor known. */
  async input(
    reading: HeadReading,
  ): Promise<{ family: Family; format: InputFormat; evidence: string[]; assumed: string[] }> {
    const ways = this.#ways(reading);
    const [usual] = ways;
    const evidence = (family: Family) => [this.#source(family)];
    if (ways.length === 1 && reading.needsProof === undefined)
      return { ...usual, evidence: evidence(usual.family), assumed: [] };
    const usualAgreement = await this.#agreement(reading, usual);
    if (usualAgreement >= CLEAR_AGREEMENT)
      return { ...usual, evidence: [...evidence(usual.family), proved(usual, usualAgreement)], assumed: [] };
    let rival: { way: Way; agreement: number } | undefined;
    // Formats as families have them, before scales that none of them has.
    for (const isOwn of [true, false]) {
      if (rival !== undefined && rival.agreement >= CLEAR_AGREEMENT) break;
      for (const way of ways.slice(1)) {
        if (way.isOwn !== isOwn) continue;
        const agreement = await this.#agreement(reading, way);
        if (rival === undefined || agreement > rival.agreement) rival = { way, agreement };
      }
    }
    if (rival !== undefined && rival.agreement >= CLEAR_AGREEMENT && usualAgreement < CLEAR_LEAD * rival.agreement)
      return {
        ...rival.way,
        evidence: [...evidence(rival.way.family), proved(rival.way, rival.agreement)],
        assumed: [],
      };
    const next = rival && ` and by ${rival.agreement.toFixed(2)} with ${scaleOf(rival.way.format)}`;
    return {
      ...usual,
      evidence: evidence(usual.family),
      assumed: [
        `${scaleOf(usual.format)}, as the ${usual.family.name} family has it: the boxes of the proof picture and of its mirror image agree by ` +
          `${usualAgreement.toFixed(2)} with it${next ?? ''}, which proves ${rival === undefined ? 'nothing' : 'neither'}`,
      ],
    };
  }

  /** The reading's own format first, then the other scale where it is open, then other families. */
  #ways({ family, otherFamilies = [] }: HeadReading): Way[] {
    const isKnown = this.#facts.family !== undefined;
    return [family, ...(isKnown ? [] : otherFamilies)].flatMap((one) => {
      const usual = formatOf(one, this.#signature, this.#options);
      const isGiven = this.#options.inputFormat?.divisor !== undefined;
      const isFixed = usual.type === 'uint8' || usual.mean !== undefined || isGiven || isKnown;
      const scales = isFixed ? [usual] : [usual, { ...usual, divisor: usual.divisor === 1 ? 255 : 1 }];
      return scales.map((format) => ({ family: one, format, isOwn: format === usual }));
    });
  }

  #source(family: Family): string {
    const { inputLayout: layout, inputType: type } = this.#signature;
    const own = isInterleavedOrBytes(layout, type)
      ? `; ${layout} ${type} input: RGB${type === 'uint8' ? ', levels as they are' : ''}`
      : '';
    return `input as the ${family.name} family has it${own}`;
  }

  async #agreement({ layout }: HeadReading, way: Way): Promise<number> {
    const outputs = [await this.#run(way.format, false), await this.#run(way.format, true)];
    const { contradiction } = headNamed(layout.head);
    if (outputs.some((run) => contradiction(run, layout) !== undefined)) return 0;
    const [upright, mirrored] = outputs.map((run) => this.#boxes(run, layout, way));
    return mirrorAgreement(upright, mirrored, this.#options.picture.width);
  }

  #boxes(outputs: HeadOutputs, layout: HeadLayout, { family, format }: Way): Columns {
    const { width, height } = this.#options.picture;
    const letterbox = createLetterbox(width, height, layout.inputWidth, layout.inputHeight, format.letterbox);
    const { iouThreshold } = family;
    return postprocess(
      outputs,
      layout,
      { confidenceThreshold: 0.25, iouThreshold, classAgnostic: false, maxDetections: 300 },
      letterbox,
    );
  }

  #run(format: InputFormat, mirrored: boolean): Promise<HeadOutputs> {
    const key = JSON.stringify([format, mirrored]);
    const run = this.#runs.get(key) ?? this.#probe(format, mirrored);
    this.#runs.set(key, run);
    return run;
  }
}

/** The family's format in the model's own layout and type, with what is given. */
function formatOf(
  family: Family,
  { inputLayout: layout, inputType: type }: Pick<ModelSignature, 'inputLayout' | 'inputType'>,
  { inputFormat: given = {} }: RecogniseOptions,
): InputFormat {
  const { channelOrder, divisor, mean, std, letterbox } = given;
  return {
    layout,
    type,
    channelOrder: channelOrder ?? (isInterleavedOrBytes(layout, type) ? 'rgb' : family.channelOrder),
    divisor: type === 'uint8' ? 1 : (divisor ?? family.divisor),
    mean: mean ?? (divisor === undefined ? family.mean : undefined),
    std: std ?? (divisor === undefined ? family.std : undefined),
    letterbox: { placement: family.placement, ...letterbox },
  };
}

function isInterleavedOrBytes(layout: InputFormat['layout'], type: InputFormat['type']): boolean {
  return layout === 'nhwc' || type === 'uint8';
}

/** One way to feed a model. */
interface Way {
  readonly family: Family;
  readonly format: InputFormat;
  /** Whether it is the family's own, and not with the other scale. */
  readonly isOwn: boolean;
}

function scaleOf({ divisor, mean }: InputFormat): string {
  return mean === undefined ? `divisor ${divisor}` : `mean ${mean.map((level) => level.toFixed(1)).join(', ')}`;
}

function proved({ format }: Way, agreement: number): string {
  return `${scaleOf(format)}: the boxes of the proof picture and of its mirror image agree by ${agreement.toFixed(2)}`;
}

function named({ layout }: Pick<HeadReading, 'layout'>): Candidate {
  return { head: layout.head, classCount: layout.classCount };
}

function needsMore({ layout, needs }: HeadReading, signature: ModelSignature): YoloError {
  const outputs = outputsOf(signature);
  return new YoloError(
    'ERR_YOLO_HEAD_UNKNOWN',
    `The model's outputs are ${layout.head}, but ${needs}; or give a \`postprocessor\`. They are: ${outputs.join('; ')}, at input ${signature.inputWidth}x${signature.inputHeight}.`,
    { phase: 'recognise', detail: { outputs, candidates: [{ ...named({ layout }), against: needs }] } },
  );
}

function outputsOf({ outputs }: ModelSignature): string[] {
  return outputs.map(({ name, type, dims }) => `${name} ${type} [${dims.join(', ')}]`);
}

function unknown(what: string, signature: ModelSignature, candidates: readonly Candidate[], remedy = ''): YoloError {
  const outputs = outputsOf(signature);
  const considered = candidates.map(
    ({ head, classCount, against }) => `${head} with ${classCount} classes: ${against}`,
  );
  const names = HEADS.map((head) => head.name).join(', ');
  return new YoloError(
    'ERR_YOLO_HEAD_UNKNOWN',
    `The model's outputs ${what}: ${outputs.join('; ')}, at input ${signature.inputWidth}x${signature.inputHeight}. ` +
      (considered.length > 0
        ? `Considered: ${considered.join('; ')}. ${remedy || 'To read it all the same,'} set \`head\` and, where it is another than the family's, ` +
          '`inputFormat`; or give a `postprocessor`.'
        : `Give a \`postprocessor\` that reads them; or, if they are one of these layouts after all, set \`head\`: ${names}.`),
    { phase: 'recognise', detail: { outputs, candidates } },
  );
}
