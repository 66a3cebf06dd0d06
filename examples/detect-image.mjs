// @ts-check
// Detects objects in one picture, prints them, and draws them:
//
//     node examples/detect-image.mjs [--model yolov8n.onnx] street.jpg boxes.png
import { parseArgs } from 'node:util';
import { Detector } from 'migraphx-yolo';

const { values, positionals } = parseArgs({ options: { model: { type: 'string' } }, allowPositionals: true });
const [picture, drawn] = positionals;
if (picture === undefined) {
  console.error('Usage: node examples/detect-image.mjs [--model yolov8n.onnx] picture [boxes.png]');
  process.exit(2);
}

// Without a model a small COCO detector is used, fetched at the first time.
const detector = await Detector.create({ model: values.model, allowDownload: true });
try {
  const detections = await detector.detect(picture, { confidenceThreshold: 0.4 });
  for (const { label, confidence, xyxy } of detections)
    console.log(label, confidence.toFixed(3), xyxy.map((side) => side.toFixed(1)).join(' '));
  const { width, height } = detections.image;
  console.log(`${detections.length} objects in ${width}×${height} pixels`);
  if (drawn !== undefined) await detections.annotate(drawn);
} finally {
  await detector.close();
}
