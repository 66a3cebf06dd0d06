import { boxIou } from '../iou.js';
import type { Columns } from '../postprocess.js';

/** Below this overlap two boxes are of different objects. */
const SAME_BOX_IOU = 0.5;
/**
 * Boxes that agree almost as well where they are, without being mirrored back, do not follow the picture: a network that is fed the wrong
 * levels can mark the same places whatever it sees. Of networks that were fed rightly 0.61 was the most; of those fed wrongly, where the
 * boxes agreed by half or more, 1.13 the least.
 */
const MOST_UNMOVED = 0.75;

/**
 * How far the boxes of a picture and of its mirror image agree, 0..1: the share of all confidence that lies in pairs of one class
 * that overlap, each pair weighted by its IoU. A network that sees what it was trained to see finds the same objects in both;
 * one that is fed the wrong levels does not, however many boxes it finds. 0 when there are no boxes, or they do not follow the picture.
 * @param width of the picture, in the boxes' own pixels.
 */
export function mirrorAgreement(upright: Columns, mirrored: Columns, width: number): number {
  const mirroredBack = mirrored.xyxy.slice();
  for (let at = 0; at < mirroredBack.length; at += 4) {
    mirroredBack[at] = width - mirrored.xyxy[at + 2];
    mirroredBack[at + 2] = width - mirrored.xyxy[at];
  }
  const agreement = agreementOf(upright, { ...mirrored, xyxy: mirroredBack });
  return agreementOf(upright, mirrored) > MOST_UNMOVED * agreement ? 0 : agreement;
}

function agreementOf(a: Columns, b: Columns): number {
  const free = new Set(b.classId.keys());
  let agreed = 0;
  for (const [i, classId] of a.classId.entries()) {
    let partner = -1;
    let overlap = SAME_BOX_IOU;
    for (const j of free) {
      const iou = b.classId[j] === classId ? boxIou(a.xyxy, i, b.xyxy, j) : 0;
      if (iou >= overlap) {
        partner = j;
        overlap = iou;
      }
    }
    if (partner < 0) continue;
    free.delete(partner);
    agreed += overlap * (a.confidence[i] + b.confidence[partner]);
  }
  const all = sum(a.confidence) + sum(b.confidence);
  return all === 0 ? 0 : agreed / all;
}

function sum(values: Float32Array): number {
  return values.reduce((total, value) => total + value, 0);
}
