import { YoloError } from '../../errors.js';
import { anchorBased } from './anchor-based.js';
import { anchorFree, anchorFreeObb, anchorFreePose, anchorFreeSegment } from './anchor-free.js';
import { anchorFreeRows } from './anchor-free-rows.js';
import { anchorMaps, anchorMapsChannels } from './anchor-maps.js';
import { detr, detrCocoIds } from './detr.js';
import { detrLogits, detrSoftmax } from './detr-logits.js';
import { distanceBins, rtmdet } from './distance-maps.js';
import { endToEnd, endToEndObb, endToEndPose, endToEndSegment } from './end-to-end.js';
import type { Head } from './head.js';
import { nanodet } from './nanodet.js';
import { nmsFlat, nmsFlatBoxLast, nmsFlatScoreClass, paddleRows } from './nms-flat.js';
import { nmsCounted, nmsDetsLabels } from './nms-outputs.js';
import { rtDetr, rtDetrRows } from './rt-detr.js';
import { splitBoxes, splitBoxesFractions } from './split-boxes.js';
import { unsortedRows } from './unsorted-rows.js';
import { yolov6 } from './yolov6.js';
import { yolox, yoloxDecoded } from './yolox.js';

/** Every output layout that is known. A new one is a file of its own and a line here. */
export const HEADS: readonly Head[] = [
  ...[endToEnd, endToEndSegment, endToEndPose, endToEndObb, unsortedRows],
  ...[anchorFree, anchorFreeSegment, anchorFreePose, anchorFreeObb, anchorFreeRows],
  ...[anchorBased, anchorMaps, anchorMapsChannels, yolov6, yolox, yoloxDecoded],
  ...[nanodet, distanceBins, rtmdet],
  ...[rtDetr, rtDetrRows, detr, detrCocoIds, detrLogits, detrSoftmax],
  ...[splitBoxes, splitBoxesFractions],
  ...[nmsCounted, nmsDetsLabels, nmsFlat, nmsFlatScoreClass, nmsFlatBoxLast, paddleRows],
];

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
