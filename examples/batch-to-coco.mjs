// @ts-check
// Detects in the pictures of a COCO data set and writes a results file, as COCOeval of pycocotools reads it:
//
//     node examples/batch-to-coco.mjs [--model yolov8n.onnx] instances.json photos/ results.json
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Detector } from 'migraphx-yolo';

const { values, positionals } = parseArgs({ options: { model: { type: 'string' } }, allowPositionals: true });
const [instances, folder, results] = positionals;
if (results === undefined) {
  console.error('Usage: node examples/batch-to-coco.mjs [--model yolov8n.onnx] instances.json folder results.json');
  process.exit(2);
}

/** @type {{ images: { id: number, file_name: string }[], categories: { id: number, name: string }[] }} */
const { images, categories } = JSON.parse(await readFile(instances, 'utf8'));

// Average precision counts boxes of low confidence too, up to a hundred a picture.
const detector = await Detector.create({
  model: values.model,
  allowDownload: true,
  confidenceThreshold: 0.01,
  maxDetections: 100,
});
try {
  const categoryIds = detector.labels.map((label) => {
    const category = categories.find(({ name }) => name === label);
    if (category === undefined) throw new Error(`${instances} has no category ${JSON.stringify(label)}`);
    return category.id;
  });
  /** @type {import('migraphx-yolo').CocoResult[]} */
  const rows = [];
  // In chunks, so that the results of a large data set do not pile up as Detections.
  const chunk = 64;
  for (let first = 0; first < images.length; first += chunk) {
    const part = images.slice(first, first + chunk);
    const found = await detector.detectBatch(part.map((image) => join(folder, image.file_name)));
    found.forEach((detections, index) => {
      rows.push(...detections.toCocoResults({ imageId: part[index].id, categoryIds }));
    });
    console.error(`${first + part.length} of ${images.length} pictures`);
  }
  await writeFile(results, JSON.stringify(rows));
  console.log(`${rows.length} boxes in ${results}`);
} finally {
  await detector.close();
}
