// A lane's worker that collects its garbage as often as the program does, so that what grows is held, not forgotten.
import '../../dist/onnxruntime-worker.mjs';

setInterval(() => globalThis.gc(), 200).unref();
