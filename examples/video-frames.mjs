// @ts-check
// Detects objects in every frame of a video, as one line of JSON a frame. Takes raw frames of 3 bytes a pixel, as ffmpeg
// writes them, from standard input (-) or from a file:
//
//     ffmpeg -v error -i street.mp4 -vf scale=1280:720 -pix_fmt rgb24 -f rawvideo - | node examples/video-frames.mjs 1280x720 -
import { createReadStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { Detector, frames } from 'migraphx-yolo';

const { values, positionals } = parseArgs({ options: { model: { type: 'string' } }, allowPositionals: true });
const [size, source] = positionals;
const [, width, height] = /^(\d+)x(\d+)$/.exec(size ?? '') ?? [];
if (source === undefined || width === undefined) {
  console.error('Usage: node examples/video-frames.mjs [--model yolov8n.onnx] 1280x720 frames.rgb|-');
  process.exit(2);
}

const bytes = source === '-' ? process.stdin : createReadStream(source);
const detector = await Detector.create({ model: values.model, allowDownload: true });
let count = 0;
const started = performance.now();
try {
  // Frames are read only as fast as they are detected: ffmpeg waits meanwhile.
  for await (const { index, detections } of detector.stream(
    frames(bytes, { width: Number(width), height: Number(height) }),
  )) {
    console.log(JSON.stringify({ frame: index, ...detections.toJSON() }));
    count++;
  }
} finally {
  await detector.close();
}
console.error(`${count} frames, ${((1000 * count) / (performance.now() - started)).toFixed(1)} a second`);
