import { YoloError } from '../../errors.js';
import { anchorBased } from './anchor-based.js';
import { anchorFree } from './anchor-free.js';
import { anchorFreeRows } from './anchor-free-rows.js';
import { endToEnd } from './end-to-end.js';
import type { Head } from './head.js';
import { yolox, yoloxDecoded } from './yolox.js';

/** Every output layout that is known. A new one is a file of its own and a line here. */
export const HEADS: readonly Head[] = [endToEnd, anchorFree, anchorFreeRows, anchorBased, yolox, yoloxDecoded];

/** @throws ERR_YOLO_INVALID_ARGUMENT when no head has that name. */
export function headNamed(name: string): Head {
  const head = HEADS.find((candidate) => candidate.name === name);
  if (head === undefined)
    throw new YoloError(
      'ERR_YOLO_INVALID_ARGUMENT',
      `Expected head to be one of ${HEADS.map((known) => known.name).join(', ')} but received ${JSON.stringify(name)}`,
      { phase: 'validate', detail: { option: 'head', value: name } },
    );
  return head;
}
