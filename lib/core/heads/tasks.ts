import type { ExtraLayout } from '../extra.js';
import type { ModelSignature } from './head.js';

/** The layouts of one head: boxes only, or with what another task finds beside them. */
export type Task = 'detect' | 'segment' | 'pose' | 'obb';

/** How a head with boxes and classes is laid out for a task. */
export interface TaskReading {
  readonly main: ModelSignature['outputs'][number];
  /** Outputs that the task has beside the main one. */
  readonly others: readonly string[];
  readonly extra?: ExtraLayout;
  /** Columns of the main output behind the classes. */
  readonly extraColumns: number;
  /** In words, for evidence: ", 17 keypoints". */
  readonly words: string;
}

/** Keypoints of a person in COCO, which pose models without metadata most often have. */
const COCO_KEYPOINTS = { points: 17, dimensions: 3 } as const;

/** How the outputs can be those of the task; undefined when they cannot. */
export function taskReading({ outputs, metadata }: ModelSignature, task: Task): TaskReading | undefined {
  const [main, prototypes] = outputs;
  if (main?.dims.length !== 3) return undefined;
  if (task === 'segment') {
    if (outputs.length !== 2 || prototypes.dims.length !== 4) return undefined;
    const size = prototypes.dims[1];
    const extra = { kind: 'mask', size, prototypes: prototypes.name } as const;
    return { main, others: [prototypes.name], extra, extraColumns: size, words: `, ${size} mask coefficients` };
  }
  if (outputs.length !== 1) return undefined;
  if (task === 'detect') return { main, others: [], extraColumns: 0, words: '' };
  if (task === 'obb') return { main, others: [], extra: { kind: 'rotated' }, extraColumns: 1, words: ', angle' };
  const { points, dimensions } = keypointShape(metadata.kpt_shape) ?? COCO_KEYPOINTS;
  const extra = { kind: 'keypoints', points, dimensions } as const;
  return {
    main,
    others: [],
    extra,
    extraColumns: points * dimensions,
    words: `, ${points} keypoints of ${dimensions} values`,
  };
}

function keypointShape(text: string | undefined): { points: number; dimensions: 2 | 3 } | undefined {
  const found = /^\s*[[(]\s*(\d{1,4})\s*,\s*([23])\s*[\])]\s*$/.exec(text ?? '');
  return found === null ? undefined : { points: Number(found[1]), dimensions: found[2] === '2' ? 2 : 3 };
}

/** The task whose results have that beside boxes. */
export function taskOf(extra: ExtraLayout | undefined): Task {
  return extra === undefined ? 'detect' : ({ mask: 'segment', keypoints: 'pose', rotated: 'obb' } as const)[extra.kind];
}
