// @ts-check
// A server that detects objects in the pictures it is sent, for any number of clients at once:
//
//     PORT=3000 node examples/http-server.mjs [--model yolov8n.onnx]
//
//     curl --data-binary @street.jpg -H 'content-type: image/jpeg' 'localhost:3000/detect?confidence=0.4'
//     curl -F picture=@street.jpg localhost:3000/draw > boxes.png
import { parseArgs } from 'node:util';
import Fastify from 'fastify';
import { Detector, YoloError } from 'migraphx-yolo';

const { values } = parseArgs({ options: { model: { type: 'string' } } });
const detector = await Detector.create({
  model: values.model,
  allowDownload: true,
  // Answer "busy" rather than late, and never decode a picture whose pixels fill the memory.
  maxQueue: Number(process.env.MAX_QUEUE ?? 64),
  limitInputPixels: 25_000_000,
});

const app = Fastify({ bodyLimit: 10 * 1024 * 1024 });

// Bodies are pictures, or forms with one; anything else is answered with 415.
app.removeAllContentTypeParsers();
app.addContentTypeParser(
  /^(image\/|application\/octet-stream)/,
  { parseAs: 'buffer' },
  async (/** @type {import('fastify').FastifyRequest} */ _request, /** @type {Buffer} */ body) => body,
);
app.addContentTypeParser(
  /^multipart\/form-data/,
  { parseAs: 'buffer' },
  async (/** @type {import('fastify').FastifyRequest} */ request, /** @type {Buffer} */ body) => {
    const headers = { 'content-type': request.headers['content-type'] ?? '' };
    const form = await new Response(/** @type {Buffer<ArrayBuffer>} */ (body), { headers })
      .formData()
      .catch(() => undefined);
    return form?.get('picture');
  },
);

const schema = {
  querystring: {
    type: 'object',
    properties: { confidence: { type: 'number', minimum: 0, maximum: 1, default: 0.25 } },
  },
};

app.get('/health', async () => detector.stats());

app.post('/detect', { schema }, async (request, reply) => detect(request, reply));

app.post('/draw', { schema }, async (request, reply) => {
  const detections = await detect(request, reply);
  const png = await detections.annotate(undefined, { image: pictureOf(request) });
  return reply.type('image/png').send(png);
});

/**
 * @param {import('fastify').FastifyRequest} request
 * @param {import('fastify').FastifyReply} reply
 */
function detect(request, reply) {
  const picture = pictureOf(request);
  const { confidence } = /** @type {{ confidence: number }} */ (request.query);
  // A client that has gone frees its place in the queue.
  const gone = new AbortController();
  reply.raw.on('close', () => gone.abort(new Error('The client has gone')));
  return detector.detect(picture, { confidenceThreshold: confidence, signal: gone.signal });
}

/** @param {import('fastify').FastifyRequest} request */
function pictureOf({ body }) {
  if (body instanceof Uint8Array || body instanceof Blob) return body;
  const message = 'Expected a picture as the body, or a form with one as its file "picture"';
  throw Object.assign(new Error(message), { code: 'ERR_NO_PICTURE', statusCode: 400 });
}

/** @type {Partial<Record<import('migraphx-yolo').YoloErrorCode, number>>} */
const STATUS = { ERR_YOLO_IMAGE_DECODE: 422, ERR_YOLO_QUEUE_FULL: 503, ERR_YOLO_CLOSED: 503 };

app.setErrorHandler((/** @type {import('fastify').FastifyError} */ error, _request, reply) => {
  const status = YoloError.is(error) ? (STATUS[error.code] ?? 500) : (error.statusCode ?? 500);
  if (status === 503) reply.header('retry-after', 1);
  // What went wrong inside is for the log, not for clients.
  if (status === 500) console.error(error);
  const message = status === 500 ? 'Internal error' : error.message;
  return reply.status(status).send({ code: error.code, message });
});

// The end: no more connections are taken, what was accepted is answered, then the model is freed. A connection that was
// kept open for more requests would hold the process until its client lets go, so answers from now on close theirs.
let closing = false;
app.addHook('preClose', async () => {
  closing = true;
});
app.addHook('onSend', async (_request, reply) => {
  if (closing) reply.header('connection', 'close');
});
app.addHook('onClose', () => detector.close());
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => void app.close());

console.log(
  `Listening on ${await app.listen({ host: process.env.HOST ?? '127.0.0.1', port: Number(process.env.PORT ?? 3000) })}`,
);
