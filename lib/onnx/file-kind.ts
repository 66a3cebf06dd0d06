/** Leading bytes as text, a character a byte. */
type Test = (text: string) => boolean;

const startsWith =
  (start: string, offset = 0): Test =>
  (text) =>
    text.startsWith(start, offset);

const matches =
  (pattern: RegExp): Test =>
  (text) =>
    pattern.test(text);

const KINDS: readonly { readonly kind: string; readonly test: Test }[] = [
  { kind: 'a Git LFS pointer, not the file itself (run `git lfs pull`)', test: startsWith('version https://git-lfs') },
  { kind: 'a web page (HTML), as a failed download leaves it', test: matches(/^\s*<(!doctype html|html|head|body)/i) },
  { kind: 'XML, as OpenVINO keeps models', test: matches(/^\s*<\?xml/) },
  { kind: 'JSON', test: matches(/^\s*[{[]\s*["{\]}]/) },
  { kind: 'a ZIP archive, as PyTorch keeps .pt files', test: startsWith('PK\x03\x04') },
  { kind: 'a Python pickle, as old PyTorch versions keep .pt files', test: startsWith('\x80\x02') },
  { kind: 'a TensorFlow Lite model', test: startsWith('TFL3', 4) },
  { kind: 'a model in ONNX Runtime format (.ort)', test: startsWith('ORTM', 4) },
  {
    kind: 'a compiled MIGraphX program (.mxr)',
    test: (text) => text.charCodeAt(0) >= 0x80 && text.includes('migraphx_version'),
  },
  { kind: 'a TensorRT engine', test: matches(/^[pf]trt/) },
  { kind: 'an HDF5 file, as Keras keeps models', test: startsWith('\x89HDF') },
  { kind: 'compressed with gzip (unpack it first)', test: startsWith('\x1f\x8b') },
  { kind: 'an ncnn parameter file', test: startsWith('7767517') },
  { kind: 'a GGUF model', test: startsWith('GGUF') },
  { kind: 'a JPEG picture', test: startsWith('\xff\xd8\xff') },
  { kind: 'a PNG picture', test: startsWith('\x89PNG') },
];

/** How many leading bytes `otherFileKind` looks at. */
export const KIND_BYTES = 4096;

/** What a file is that is no ONNX model, by its leading bytes; undefined when they tell nothing. */
export function otherFileKind(leading: Uint8Array): string | undefined {
  const text = String.fromCharCode(...leading.subarray(0, KIND_BYTES));
  return KINDS.find(({ test }) => test(text))?.kind;
}
