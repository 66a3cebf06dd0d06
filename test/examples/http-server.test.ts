import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Detections, Detector } from '../../lib/index.js';
import { ownCacheFolder, PHOTO } from '../support/default-detector.js';
import { type RunningExample, start } from './example.js';

const cacheFolder = ownCacheFolder();
const photo = new Uint8Array(readFileSync(PHOTO));

/** What the library itself finds in the photo. */
let found: Detections;
beforeAll(async () => {
  const detector = await Detector.create({ cacheFolder });
  found = await detector.detect(PHOTO);
  await detector.close();
});

const started: RunningExample[] = [];
afterAll(() => {
  for (const { child } of started) child.kill('SIGKILL');
});

async function serve(env: Record<string, string> = {}): Promise<RunningExample & { url: string }> {
  const server = start('http-server', [], { MIGRAPHX_YOLO_CACHE: cacheFolder, PORT: '0', ...env });
  started.push(server);
  const [line] = await once(server.child.stdout!, 'data');
  return { ...server, url: /^Listening on (http:\S+)\n$/.exec(line)![1]! };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

describe('http-server', () => {
  let url: string;
  beforeAll(async () => {
    ({ url } = await serve());
  });

  const post = (path: string, body: BodyInit, type?: string) =>
    fetch(url + path, { method: 'POST', body, headers: type === undefined ? {} : { 'content-type': type } });

  /** The answer to a body of so many bytes before any is sent: fetch() may fail on the closed connection before it reads the answer. */
  async function statusOfAnnounced(bytes: number): Promise<number> {
    const headers = { 'content-type': 'image/jpeg', 'content-length': bytes };
    const announced = request(`${url}/detect`, { method: 'POST', headers });
    announced.flushHeaders();
    const [response] = await once(announced, 'response');
    announced.destroy();
    return response.statusCode;
  }

  async function refusal(response: Response): Promise<Refusal & { status: number }> {
    return { status: response.status, ...((await response.json()) as Refusal) };
  }

  it('answers a picture with its objects as JSON', async () => {
    const response = await post('/detect', photo, 'image/jpeg');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(found.toJSON());
    const sure = await (await post('/detect?confidence=0.5', photo, 'application/octet-stream')).json();
    expect(sure).toEqual(found.filter(({ confidence }) => confidence > 0.5).toJSON());
  });

  it('takes a form, and answers with the drawn picture', async () => {
    const form = new FormData();
    form.set('picture', new Blob([photo]), 'street.jpg');
    const response = await post('/draw', form);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('image/png');
    const { format, width, height } = await sharp(Buffer.from(await response.arrayBuffer())).metadata();
    expect({ format, width, height }).toEqual({ format: 'png', ...found.image });
  });

  it('serves many clients at once, each with its own picture', async () => {
    const half = await sharp(PHOTO).resize(320).jpeg().toBuffer();
    const blank = await sharp({ create: { width: 50, height: 40, channels: 3, background: '#727272' } })
      .png()
      .toBuffer();
    const pictures = [photo, new Uint8Array(half), new Uint8Array(blank)];
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_, client) => {
        const response = await post('/detect', pictures[client % 3]!, 'image/png');
        return (await response.json()) as ReturnType<Detections['toJSON']>;
      }),
    );
    answers.forEach((answer, client) => {
      if (client % 3 === 0) expect(answer).toEqual(found.toJSON());
      if (client % 3 === 1) expect(answer.image.width).toBe(320);
      if (client % 3 === 2) expect(answer).toEqual({ image: { width: 50, height: 40 }, detections: [] });
    });
  });

  it('refuses what is no picture with a code', async () => {
    const text = new TextEncoder().encode('no picture');
    expect(await refusal(await post('/detect', text, 'image/jpeg'))).toMatchObject({
      status: 422,
      code: 'ERR_YOLO_IMAGE_DECODE',
    });
    expect(await refusal(await post('/detect', new Uint8Array(0), 'image/jpeg'))).toMatchObject({
      status: 422,
      code: 'ERR_YOLO_IMAGE_DECODE',
    });
    const cut = await refusal(await post('/draw', photo.subarray(0, photo.length / 2), 'image/jpeg'));
    expect(cut).toMatchObject({ status: 422, code: 'ERR_YOLO_IMAGE_DECODE' });
    const wide = await sharp({ create: { width: 6000, height: 5000, channels: 3, background: 'white' } })
      .png()
      .toBuffer();
    const large = await refusal(await post('/detect', new Uint8Array(wide), 'image/png'));
    expect(large).toMatchObject({ status: 422, code: 'ERR_YOLO_IMAGE_DECODE' });
    expect(large.message).toContain('6000×5000');
  });

  it('refuses requests without a picture, of another type, or out of range', async () => {
    const form = new FormData();
    form.set('photo', new Blob([photo]));
    expect(await refusal(await post('/detect', form))).toMatchObject({ status: 400, code: 'ERR_NO_PICTURE' });
    const broken = await post('/detect', 'no form', 'multipart/form-data; boundary=x');
    expect(await refusal(broken)).toMatchObject({ status: 400, code: 'ERR_NO_PICTURE' });
    expect(await refusal(await fetch(`${url}/detect`, { method: 'POST' }))).toMatchObject({ status: 400 });
    expect((await post('/detect', '{}', 'application/json')).status).toBe(415);
    const { status, message } = await refusal(await post('/detect?confidence=2', photo, 'image/jpeg'));
    expect({ status, message }).toEqual({ status: 400, message: 'querystring/confidence must be <= 1' });
    expect(await statusOfAnnounced(10 * 1024 * 1024 + 1)).toBe(413);
    expect((await post('/detect', photo, 'image/jpeg')).status).toBe(200);
  });

  it('drops the waiting pictures of clients that have gone', async () => {
    const health = async () => (await (await fetch(`${url}/health`)).json()) as { queued: number; completed: number };
    const { completed } = await health();
    const clients = new AbortController();
    const requests = Array.from({ length: 20 }, () =>
      fetch(`${url}/detect`, {
        method: 'POST',
        body: photo,
        headers: { 'content-type': 'image/jpeg' },
        signal: clients.signal,
      }).then(
        () => 'answered',
        () => 'gone',
      ),
    );
    await expect.poll(async () => (await health()).queued, { interval: 5 }).toBeGreaterThan(5);
    clients.abort();
    expect(await Promise.all(requests)).toContain('gone');
    await expect.poll(health).toMatchObject({ queued: 0, decoded: 0 });
    expect((await post('/detect', photo, 'image/jpeg')).status).toBe(200);
    expect((await health()).completed - completed).toBeLessThan(20);
  });
});

it('http-server says that it is busy rather than answer late', async () => {
  const { url } = await serve({ MAX_QUEUE: '0' });
  const responses = await Promise.all(
    Array.from({ length: 12 }, () =>
      fetch(`${url}/detect`, { method: 'POST', body: photo, headers: { 'content-type': 'image/jpeg' } }),
    ),
  );
  const busy = responses.filter(({ status }) => status === 503);
  expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  expect(busy.length).toBeGreaterThan(0);
  expect(await busy[0]!.json()).toMatchObject({ code: 'ERR_YOLO_QUEUE_FULL' });
  expect(busy[0]!.headers.get('retry-after')).toBe('1');
});

// Windows has no signals that a process could handle.
it.skipIf(process.platform === 'win32')('http-server answers what it has accepted before it ends', async () => {
  const { url, child, outcome } = await serve();
  const requests = Array.from({ length: 4 }, () =>
    fetch(`${url}/detect`, { method: 'POST', body: photo, headers: { 'content-type': 'image/jpeg' } }),
  );
  // One answer has come: the others are in the server.
  await Promise.race(requests);
  child.kill('SIGTERM');
  for (const response of await Promise.all(requests)) {
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual(found.toJSON());
  }
  const { code, stderr } = await outcome;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  await expect(fetch(`${url}/health`)).rejects.toThrow();
});
