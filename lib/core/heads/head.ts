import type { Tensor } from '../../types.js';
import type { Candidates } from '../candidates.js';
import type { ExtraLayout } from '../extra.js';
import type { InputFormat } from '../input-format.js';

/** What a head needs to decode, found once at create(): plain data, so that it travels to a worker. */
export interface HeadLayout {
  /** Name of the head that made it, e.g. 'anchor-free'. */
  readonly head: string;
  /** The outputs it reads, by name, in the order that the head documents. */
  readonly outputs: readonly string[];
  readonly classCount: number;
  /** Input size that the layout was found at, in pixels. */
  readonly inputWidth: number;
  readonly inputHeight: number;
  /** What each object has beside its box and class. Defaults to nothing. */
  readonly extra?: ExtraLayout;
  /** Sides of the anchors in pixels, by level, finest first, for a head that needs them. */
  readonly anchors?: Anchors;
  /** Whether one table has the rows of all pictures, so that pictures have to be run one by one. Defaults to false. */
  readonly isFlat?: boolean;
}

/** Anchors of one level after the other, finest first; of each its width and height in input pixels: `[[10, 13, 16, 30, 33, 23], …]`. */
export type Anchors = readonly (readonly number[])[];

/** All that is known of a model when its head is chosen. Outputs carry the shapes of a real run. */
export interface ModelSignature {
  /** As the file declares them. */
  readonly inputs: readonly {
    readonly name: string;
    readonly type: string;
    readonly dims: readonly (number | string)[];
  }[];
  /** In the graph's order, dims as a run of one picture gave them. */
  readonly outputs: readonly {
    readonly name: string;
    readonly type: Tensor['type'];
    readonly dims: readonly number[];
  }[];
  /** The file's metadata_props, undecoded. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Class names from metadata, in class order. */
  readonly labels?: readonly string[];
  /** Size of the picture input used in that run, in pixels. */
  readonly inputWidth: number;
  readonly inputHeight: number;
  /** The picture input's own layout and element type. */
  readonly inputLayout: 'nchw' | 'nhwc';
  readonly inputType: InputFormat['type'];
  /** Anchors that are given. */
  readonly anchors?: Anchors;
}

/** Pre-processing and suppression of the family of models that use a layout. */
export interface Family {
  readonly name: string;
  readonly channelOrder: 'rgb' | 'bgr';
  readonly divisor: number;
  readonly mean?: readonly [number, number, number];
  readonly std?: readonly [number, number, number];
  readonly placement: 'centre' | 'top-left' | 'stretch';
  /** IoU threshold used when the caller gives none; null where no suppression is needed. */
  readonly iouThreshold: number | null;
}

/** One way to read a model's outputs. */
export interface HeadReading {
  readonly layout: HeadLayout;
  readonly family: Family;
  /** What speaks for it, for people: "[1, 84, 8400] is 4 + 80 names by the cells of strides 8, 16, 32". */
  readonly evidence: readonly string[];
  /** What it takes for granted. Defaults to nothing. */
  readonly assumed?: readonly string[];
  /** Families that have this layout too; the boxes of the proof picture can tell. Defaults to none. */
  readonly otherFamilies?: readonly Family[];
  /** What has to be given before the layout can be read. */
  readonly needs?: string;
  /** Says what to do where this reading is a guess that the boxes of the proof picture have to confirm. */
  readonly needsProof?: string;
}

/** One output layout. A new layout is one file that exports one of these, and one line in index.ts. */
export interface Head {
  readonly name: string;
  /** Every reading that the shapes and metadata allow; none when they contradict it. */
  read(signature: ModelSignature): HeadReading[];
  /**
   * What a run's values say against a reading (in words), or undefined when nothing does: ranges, ordering, monotony.
   * `outputs` are float32 views of one picture's outputs.
   */
  contradiction(outputs: HeadOutputs, layout: HeadLayout): string | undefined;
  /**
   * Appends each box whose confidence is greater than `confidenceThreshold` (already a float32): for its best class, or
   * with `into.multiLabel` for each such class.
   */
  decode(outputs: HeadOutputs, layout: HeadLayout, confidenceThreshold: number, into: Candidates): void;
}

/** One picture's outputs by name, batch dimension removed, as float32; `type` is what the model gave. */
export type HeadOutputs = ReadonlyMap<
  string,
  { readonly dims: readonly number[]; readonly data: Float32Array; readonly type?: Tensor['type'] }
>;
