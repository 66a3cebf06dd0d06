import { stridesFor } from './cells.js';
import type { Family, HeadReading, ModelSignature } from './head.js';

/** A layout with the same few values for each anchor of each cell of all strides, in one output of rank 3. */
export interface CellLayout {
  readonly head: string;
  readonly family: Family;
  readonly anchorsPerCell: 1 | 3;
  /** Axis of the output, batch first, that counts anchors; the other one counts their values. */
  readonly anchorAxis: 1 | 2;
  /** Values before the classes: 4 of the box, or 5 with objectness. */
  readonly firstClass: 4 | 5;
  /** Values behind the classes, and what they are in words. Defaults to none. */
  readonly extraColumns?: number;
  readonly extraWords?: string;
}

/** The reading of a model's only output as such a layout; none where its sizes or the number of class names contradict it. */
export function readCells(
  { outputs, labels, inputWidth, inputHeight }: ModelSignature,
  { head, family, anchorsPerCell, anchorAxis, firstClass, extraColumns = 0, extraWords = '' }: CellLayout,
): HeadReading[] {
  const [output] = outputs;
  if (outputs.length !== 1 || output.dims.length !== 3) return [];
  const strides = stridesFor(output.dims[anchorAxis], inputWidth, inputHeight, anchorsPerCell);
  const classCount = output.dims[3 - anchorAxis] - firstClass - extraColumns;
  if (strides === undefined || classCount < 1 || (labels !== undefined && labels.length !== classCount)) return [];
  const cells = `${anchorsPerCell === 1 ? 'the' : 'three anchors in the'} cells of strides ${strides.join(', ')}`;
  const values = `box, ${firstClass === 5 ? 'objectness, ' : ''}${classCount} class${classCount === 1 ? '' : 'es'}${extraWords}`;
  return [
    {
      layout: { head, outputs: [output.name], classCount, inputWidth, inputHeight },
      family,
      evidence: [`${output.name} [${output.dims.join(', ')}] is ${cells} by ${values}`],
    },
  ];
}
