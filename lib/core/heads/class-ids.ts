import { YoloError } from '../../errors.js';
import type { HeadLayout } from './head.js';

/** Without names the class count is not in a file that gives class ids: COCO's 80 until `labels` says otherwise. */
const ASSUMED_CLASS_COUNT = 80;

/** The class count of a layout that gives class ids, and what is assumed for it. */
export function classCountOf(labels: readonly string[] | undefined): { classCount: number; assumed: string[] } {
  return {
    classCount: labels?.length ?? ASSUMED_CLASS_COUNT,
    assumed:
      labels === undefined ? [`${ASSUMED_CLASS_COUNT} classes, as COCO has: the file does not say how many`] : [],
  };
}

/**
 * The class id that a value stands for; by default it is that, its fraction cut off.
 * @throws ERR_YOLO_SHAPE_MISMATCH when the model is taken to have no such class.
 */
export function classIdOf(
  value: number,
  { classCount, outputs }: HeadLayout,
  toClass: (value: number) => number = Math.trunc,
): number {
  const classId = toClass(value);
  if (classId >= 0 && classId < classCount) return classId;
  throw new YoloError(
    'ERR_YOLO_SHAPE_MISMATCH',
    `Output ${JSON.stringify(outputs[0])} has a detection of class ${value}, but the model is taken to have ${classCount} classes. ` +
      'Give the names of all its classes with `labels`.',
    { phase: 'postprocess', detail: { output: outputs[0], classId: value, classCount } },
  );
}

/** Says so when a value is no class id. */
export function classIdContradiction(value: number, row: number): string | undefined {
  return value >= 0 && Number.isInteger(value)
    ? undefined
    : `row ${row} has the class ${value}, which is no whole number from 0`;
}
