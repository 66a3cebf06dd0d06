// @ts-check
// A postprocessor for FastestDet, whose outputs the library does not know. custom-postprocessor.mjs runs it.
import { Detections, requireOutput } from 'migraphx-yolo';
import { nms } from 'migraphx-yolo/core';

const SIDE = 352;
const CELLS = 22;

/** How pictures go into the model. */
export const inputFormat = /** @type {const} */ ({
  channelOrder: 'bgr',
  divisor: 255,
  letterbox: { placement: 'stretch' },
});

/**
 * One map, a column of 85 values for each of its 22×22 cells:
 *
 *     0       objectness
 *     1, 2    centre: tanh, in cells from the cell's own corner
 *     3, 4    width and height: sigmoid, in widths and heights of the input
 *     5..84   classes, which add up to 1
 *
 * @type {import('migraphx-yolo').Postprocessor<Detections>}
 */
export const fastestDet = {
  name: 'FastestDet',
  decode(outputs, image, options) {
    const { data } = requireOutput(outputs, '758', { type: 'float32', dims: [1, 85, CELLS, CELLS] });
    const cells = CELLS * CELLS;
    /** @type {number[]} */ const xyxy = [];
    /** @type {number[]} */ const confidence = [];
    /** @type {number[]} */ const classId = [];

    for (let cell = 0; cell < cells; cell++) {
      const at = (/** @type {number} */ row) => data[row * cells + cell];
      let best = 0;
      for (let id = 1; id < 80; id++) if (at(5 + id) > at(5 + best)) best = id;
      const score = at(0) ** 0.6 * at(5 + best) ** 0.4;
      const threshold = options.classThresholds?.get(best) ?? options.confidenceThreshold;
      if (!(score > threshold) || options.classes?.includes(best) === false) continue;

      const cx = ((Math.tanh(at(1)) + (cell % CELLS)) / CELLS) * SIDE;
      const cy = ((Math.tanh(at(2)) + Math.floor(cell / CELLS)) / CELLS) * SIDE;
      const halfWidth = (sigmoid(at(3)) * SIDE) / 2;
      const halfHeight = (sigmoid(at(4)) * SIDE) / 2;
      xyxy.push(cx - halfWidth, cy - halfHeight, cx + halfWidth, cy + halfHeight);
      confidence.push(score);
      classId.push(best);
    }

    const found = { xyxy: new Float32Array(xyxy), confidence: new Float32Array(confidence) };
    const classes = new Int32Array(classId);
    const kept = nms(found.xyxy, found.confidence, {
      iouThreshold: options.iouThreshold ?? 0.45,
      classId: options.classAgnostic ? undefined : classes,
      maxDetections: options.maxDetections,
    });
    const boxes = new Float32Array(4 * kept.length);
    kept.forEach((index, place) => {
      boxes.set(found.xyxy.subarray(4 * index, 4 * index + 4), 4 * place);
    });
    return Detections.from(
      {
        xyxy: image.boxesToImage(boxes),
        confidence: Float32Array.from(kept, (index) => found.confidence[index]),
        classId: Int32Array.from(kept, (index) => classes[index]),
      },
      image.context,
    );
  },
};

const sigmoid = (/** @type {number} */ x) => 1 / (1 + Math.exp(-x));
