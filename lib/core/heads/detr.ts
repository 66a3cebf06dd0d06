import type { Candidates } from '../candidates.js';
import { COCO_CATEGORY_IDS } from '../coco-categories.js';
import { pushXyxyAt } from './boxes.js';
import { classCountOf, classIdContradiction, classIdOf } from './class-ids.js';
import { boxValues } from './corners.js';
import { DETR, RT_DETR } from './families.js';
import type { Head, HeadLayout, HeadOutputs, HeadReading, ModelSignature } from './head.js';
import { fractionsContradiction, tableOf } from './outputs.js';
import { assignRoles, boxRows, isColumn, isWhole } from './roles.js';

//   labels [1, K]      boxes [1, K, 4]            scores [1, K]      one row a query; the input orig_target_sizes is the input's own size
//
//   |  0 |             x1   y1   x2   y2          | .93 |            x, y: input pixels
//   | 16 |             | .. | .. | .. | .. |      | .02 |            score: 0..1
//
//   detr: labels are classes, 0 to 79 of COCO      detr-coco-ids: labels are COCO's category ids, 1 to 90 with gaps

export const detr = detrOf('detr', (label) => label);
export const detrCocoIds = detrOf('detr-coco-ids', (label) => COCO_CATEGORY_IDS.indexOf(label));

function detrOf(name: string, classOf: (label: number) => number): Head {
  return {
    name,
    read: (signature) => read(signature, name),
    contradiction: (outputs, layout) => contradiction(outputs, layout, classOf),
    decode: (outputs, layout, confidenceThreshold, into) => decode(outputs, layout, classOf, confidenceThreshold, into),
  };
}

function read({ outputs, labels, inputWidth, inputHeight }: ModelSignature, head: string): HeadReading[] {
  const rows = outputs.map(boxRows).find((count) => count !== undefined);
  if (rows === undefined) return [];
  const found = assignRoles(outputs, [
    { fits: (output) => isWhole(output) && isColumn(output, rows) },
    { fits: (output) => boxRows(output) === rows },
    { fits: (output) => !isWhole(output) && isColumn(output, rows) },
  ]);
  const hasCocoIds = head === 'detr-coco-ids';
  if (found === undefined || (hasCocoIds && labels !== undefined && labels.length !== COCO_CATEGORY_IDS.length))
    return [];
  const { classCount, assumed } = classCountOf(labels);
  const names = found.map(({ name }) => name);
  return [
    {
      layout: { head, outputs: names, classCount, inputWidth, inputHeight },
      family: RT_DETR,
      otherFamilies: [DETR],
      evidence: [
        `${names.join(', ')} are ${hasCocoIds ? 'COCO category ids' : 'classes'}, boxes and scores of ${rows} queries`,
      ],
      assumed: hasCocoIds ? [] : assumed,
    },
  ];
}

function contradiction(
  outputs: HeadOutputs,
  layout: HeadLayout,
  classOf: (label: number) => number,
): string | undefined {
  const boxes = tableOf(outputs, layout, 1, 4);
  const labels = tableOf(outputs, layout, 0, 1, boxes.rows).data;
  const scores = tableOf(outputs, layout, 2, 1, boxes.rows).data;
  for (let row = 0; row < boxes.rows; row++) {
    const noClass = classIdContradiction(labels[row], row);
    if (noClass !== undefined) return noClass;
    const classId = classOf(labels[row]);
    if (!(classId >= 0 && classId < layout.classCount))
      return `row ${row} has the label ${labels[row]}, which is no class`;
    if (!(scores[row] >= 0 && scores[row] <= 1)) return `row ${row} has a score of ${scores[row]}, outside 0..1`;
  }
  const { ordered, greatest } = boxValues(boxes);
  if (ordered < boxes.rows) return `${boxes.rows - ordered} boxes have their second corner before the first`;
  return fractionsContradiction(greatest);
}

function decode(
  outputs: HeadOutputs,
  layout: HeadLayout,
  classOf: (label: number) => number,
  confidenceThreshold: number,
  into: Candidates,
): void {
  const { data, rows } = tableOf(outputs, layout, 1, 4);
  const labels = tableOf(outputs, layout, 0, 1, rows).data;
  const scores = tableOf(outputs, layout, 2, 1, rows).data;
  for (let row = 0, at = 0; row < rows; row++, at += 4) {
    if (!(scores[row] > confidenceThreshold)) continue;
    const classId = classIdOf(labels[row], layout, classOf);
    pushXyxyAt(into, data, at, scores[row], classId);
  }
}
