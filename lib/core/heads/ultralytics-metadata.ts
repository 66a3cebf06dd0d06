import { YoloError } from '../../errors.js';

/** What the exporter of the Ultralytics family says of a model. */
export interface ExporterFacts {
  /** Whether the file is of that exporter, so that pre-processing is known: RGB, 0..1, letterbox in the middle. */
  readonly isUltralytics: boolean;
  readonly evidence: readonly string[];
}

/**
 * Reads metadata_props.
 * @throws ERR_YOLO_HEAD_UNKNOWN for a model of another task than detection, or with a head of its own pre-processing.
 */
export function exporterFacts(metadata: Readonly<Record<string, string>>): ExporterFacts {
  const { task, head, kpt_shape: keypoints, stride, names } = metadata;
  if (task !== undefined && task !== 'detect') throw refuse(`its task is ${JSON.stringify(task)}`, { task });
  if (keypoints !== undefined)
    throw refuse(`it finds keypoints (kpt_shape ${keypoints}), so its task is "pose"`, { task: 'pose' });
  if (head !== undefined && !/detect/i.test(head)) throw refuse(`its head is ${JSON.stringify(head)}`, { head });
  if (task !== undefined)
    return { isUltralytics: true, evidence: [`metadata: task ${task}${head === undefined ? '' : `, head ${head}`}`] };
  // YOLOv5 writes these two and nothing else.
  if (stride !== undefined && names !== undefined)
    return { isUltralytics: true, evidence: ['metadata: stride and names, as YOLOv5 writes them'] };
  return { isUltralytics: false, evidence: [] };
}

function refuse(seen: string, detail: Record<string, string>): YoloError {
  return new YoloError(
    'ERR_YOLO_HEAD_UNKNOWN',
    `The model's metadata says that ${seen}; only object detection with upright boxes (task "detect", head "Detect" and its kin) is read. ` +
      'Give a `postprocessor` to read its outputs yourself, or set `head` if the metadata is wrong.',
    { phase: 'recognise', detail },
  );
}
