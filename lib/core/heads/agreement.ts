import { boxIou } from '../iou.js';
import type { Columns } from '../postprocess.js';

/** Below this overlap two boxes are of different objects. */
const SAME_BOX_IOU = 0.5;

/**
 * How far the boxes of a picture and of its mirror image agree, 0..1: the share of all confidence that lies in pairs of one class
 * that overlap, each pair weighted by its IoU. A network that sees what it was trained to see finds the same objects in both;
 * one that is fed the wrong levels does not, however many boxes it finds. 0 when there are no boxes.
 * @param width of the picture, in the boxes' own pixels.
 */
export function mirrorAgreement(upright: Columns, mirrored: Columns, width: number): number {
  const mirroredBack = mirrored.xyxy.slice();
  for (let at = 0; at < mirroredBack.length; at += 4) {
    mirroredBack[at] = width - mirrored.xyxy[at + 2];
    mirroredBack[at + 2] = width - mirrored.xyxy[at];
  }
  const free = new Set(mirrored.classId.keys());
  let agreed = 0;
  for (const [i, classId] of upright.classId.entries()) {
    let partner = -1;
    let overlap = SAME_BOX_IOU;
    for (const j of free) {
      const iou = mirrored.classId[j] === classId ? boxIou(upright.xyxy, i, mirroredBack, j) : 0;
      if (iou >= overlap) {
        partner = j;
        overlap = iou;
      }
    }
    if (partner < 0) continue;
    free.delete(partner);
    agreed += overlap * (upright.confidence[i] + mirrored.confidence[partner]);
  }
  const all = sum(upright.confidence) + sum(mirrored.confidence);
  return all === 0 ? 0 : agreed / all;
}

function sum(values: Float32Array): number {
  return values.reduce((total, value) => total + value, 0);
}
