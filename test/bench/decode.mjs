import {
  Candidates,
  createLetterbox,
  headNamed,
  headOutputs,
  postprocess,
  TensorPacker,
} from '../../dist/core/index.js';
import { absent, sharedFile } from './inputs.mjs';
import { interleave, judged } from './measure.mjs';

const TITLE = 'Decode [1, 84, 8400] of yolov8n at 640 x 640 (a street with a bus)';
const SIZE = 640;
const CLASSES = 80;

/** @returns {Promise<{ title: string, rows: object[] }>} */
export async function run() {
  const model = sharedFile('models/yolov8n_640_float.onnx');
  const photo = sharedFile('photos/classic/ultralytics_bus.jpg');
  if (model === undefined || photo === undefined) return { title: TITLE, rows: [absent] };

  const { tensors, letterbox } = await realOutput(model, photo);
  const outputs = headOutputs(tensors, 0);
  const [{ name, data }] = tensors;
  const layout = { head: 'anchor-free', outputs: [name], classCount: CLASSES, inputWidth: SIZE, inputHeight: SIZE };
  const head = headNamed(layout.head);
  const candidates = new Candidates();
  const decode = (threshold) => {
    candidates.clear();
    head.decode(outputs, layout, Math.fround(threshold), candidates);
    return candidates.length;
  };
  const suppression = { iouThreshold: 0.7, classAgnostic: false, maxDetections: Infinity };
  const all = (confidenceThreshold) =>
    postprocess(outputs, layout, { ...suppression, confidenceThreshold }, letterbox, candidates);

  const times = interleave(
    {
      decode: () => decode(0.25),
      argmax: () => argmaxCount(data, 0.25),
      decodeAndNms: () => all(0.25),
      everything: () => all(0.001),
    },
    { rounds: 200, warmup: 50 },
  );
  return {
    title: TITLE,
    rows: [
      judged(`decode at 0.25 (${decode(0.25)} boxes)`, times.decode, 'ms', 1),
      judged('the same by an argmax over every cell', times.argmax, 'ms'),
      judged('decode at 0.25 and NMS', times.decodeAndNms, 'ms'),
      judged(
        `decode at 0.001 (${decode(0.001)} boxes) and NMS (${all(0.001).confidence.length} kept)`,
        times.everything,
        'ms',
        10,
      ),
    ],
  };
}

async function realOutput(model, photo) {
  const [{ default: ort }, { default: sharp }] = await Promise.all([import('onnxruntime-node'), import('sharp')]);
  const { data, info } = await sharp(photo, { ignoreIcc: true }).raw().toBuffer({ resolveWithObject: true });
  const letterbox = createLetterbox(info.width, info.height, SIZE, SIZE);
  const format = {
    layout: 'nchw',
    type: 'float32',
    channelOrder: 'rgb',
    divisor: 255,
    letterbox: { placement: 'centre' },
  };
  const input = new Float32Array(3 * SIZE * SIZE);
  new TensorPacker().pack({ data, width: info.width, height: info.height }, letterbox, format, input, 0);
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1 });
  const results = await session.run({ [session.inputNames[0]]: new ort.Tensor('float32', input, [1, 3, SIZE, SIZE]) });
  const tensors = session.outputNames.map((name) => ({ name, ...pick(results[name]) }));
  await session.release();
  return { tensors, letterbox };
}

function pick({ type, dims, data }) {
  return { type, dims, data };
}

/** The obvious way: the best class of each cell first, the threshold after. */
function argmaxCount(data, threshold) {
  const cells = data.length / (4 + CLASSES);
  let count = 0;
  for (let cell = 0; cell < cells; cell++) {
    let best = -1;
    for (let at = 4 * cells + cell; at < data.length; at += cells) if (data[at] > best) best = data[at];
    if (best > threshold) count++;
  }
  return count;
}
