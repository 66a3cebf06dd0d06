// @ts-check
// Detects with a model whose outputs the library does not know, through a postprocessor of one's own:
//
//     node examples/custom-postprocessor.mjs FastestDet.onnx street.jpg [boxes.png]
import { COCO_LABELS, Detector } from 'migraphx-yolo';
import { fastestDet, inputFormat } from './fastestdet.mjs';

const [model, picture, drawn] = process.argv.slice(2);
if (model === undefined || picture === undefined) {
  console.error('Usage: node examples/custom-postprocessor.mjs FastestDet.onnx picture [boxes.png]');
  process.exit(2);
}

const detector = await Detector.create({ model, inputFormat, labels: COCO_LABELS, postprocessor: fastestDet });
try {
  // detect() gives what the postprocessor returns: here Detections, which can all that the library's own can.
  const detections = await detector.detect(picture, { confidenceThreshold: 0.5 });
  for (const { label, confidence, xyxy } of detections)
    console.log(label, confidence.toFixed(3), xyxy.map((side) => side.toFixed(1)).join(' '));
  if (drawn !== undefined) await detections.annotate(drawn);
} finally {
  await detector.close();
}
