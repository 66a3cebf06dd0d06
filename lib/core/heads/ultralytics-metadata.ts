import { YoloError } from '../../errors.js';
import { RT_DETR, ULTRALYTICS } from './families.js';
import type { Task } from './tasks.js';

/** What the exporter of the Ultralytics family says of a model. */
export interface ExporterFacts {
  /** Name of the family, whose pre-processing is known then; undefined for files of other exporters. */
  readonly family?: string;
  readonly task?: Task;
  readonly evidence: readonly string[];
}

const TASKS: readonly string[] = ['detect', 'segment', 'pose', 'obb'] satisfies Task[];

/**
 * Reads metadata_props.
 * @throws ERR_YOLO_HEAD_UNKNOWN for a model of another task, or with a head of its own pre-processing.
 */
export function exporterFacts(metadata: Readonly<Record<string, string>>): ExporterFacts {
  const { kpt_shape: keypoints, head, stride, names } = metadata;
  const task = keypoints === undefined ? metadata.task : 'pose';
  if (task !== undefined && !isTask(task)) throw refuse(`its task is ${JSON.stringify(task)}`, { task });
  if (head !== undefined && !/detect|segment|pose|obb|rtdetr/i.test(head))
    throw refuse(`its head is ${JSON.stringify(head)}`, { head });
  if (task !== undefined)
    return {
      family: /rtdetr/i.test(`${head} ${metadata.description}`) ? RT_DETR.name : ULTRALYTICS.name,
      task,
      evidence: [`metadata: task ${task}${head === undefined ? '' : `, head ${head}`}`],
    };
  // YOLOv5 writes these two and nothing else.
  if (stride !== undefined && names !== undefined)
    return { family: ULTRALYTICS.name, evidence: ['metadata: stride and names, as YOLOv5 writes them'] };
  return { evidence: [] };
}

function isTask(task: string): task is Task {
  return TASKS.includes(task);
}

function refuse(seen: string, detail: Record<string, string>): YoloError {
  return new YoloError(
    'ERR_YOLO_HEAD_UNKNOWN',
    `The model's metadata says that ${seen}; only models that find boxes (tasks ${TASKS.join(', ')}) are read. ` +
      'Give a `postprocessor` to read its outputs yourself, or set `head` if the metadata is wrong.',
    { phase: 'recognise', detail },
  );
}
