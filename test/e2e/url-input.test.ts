import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Detector, fetchImage } from '../../lib/index.js';
import { ownCacheFolder, PHOTO } from '../support/default-detector.js';
import { bytes, redirect, serve, type TestServer } from '../support/http-server.js';
import { yoloErrorOf } from '../support/yolo-error.js';

const photo = readFileSync(PHOTO);
const cacheFolder = ownCacheFolder();
let server: TestServer;
let open: Detector;
let careful: Detector;

beforeAll(async () => {
  server = await serve({
    '/photo.jpg': bytes(photo, { 'content-type': 'application/octet-stream' }),
    '/moved.jpg': redirect('/photo.jpg'),
    '/page.jpg': bytes(Buffer.from('<!DOCTYPE html><html></html>'), { 'content-type': 'image/jpeg' }),
    '/silent.jpg': () => {},
  });
  open = await Detector.create({ cacheFolder, threads: 1, urls: { allowPrivateAddresses: true } });
  careful = await Detector.create({ cacheFolder, threads: 1 });
});
afterAll(async () => {
  await Promise.all([open.close(), careful.close()]);
  await server.close();
});

it('finds in a URL’s picture, string or object, what it finds in the file', async () => {
  const expected = (await open.detect(PHOTO)).toJSON();
  const url = `${server.origin}/moved.jpg`;
  expect((await open.detect(url)).toJSON()).toEqual(expected);
  const [first, second] = await open.detectBatch([new URL(url), `HTTP://127.0.0.1:${server.port}/photo.jpg`]);
  expect([first.toJSON(), second.toJSON()]).toEqual([expected, expected]);
  expect(first.source).toEqual(new URL(url));
});

it('refuses an address of this machine unless that is allowed, and connects to none', async () => {
  const before = server.connections();
  for (const host of ['127.0.0.1', 'localhost', '[::1]']) {
    const error = await yoloErrorOf(careful.detect(`http://${host}:${server.port}/photo.jpg`));
    expect(error.code).toBe('ERR_YOLO_URL_REFUSED');
  }
  const error = await yoloErrorOf(careful.detectBatch([PHOTO, `${server.origin}/photo.jpg`]));
  expect([error.code, error.detail?.index]).toEqual(['ERR_YOLO_URL_REFUSED', 1]);
  expect(server.connections()).toBe(before);
  expect((await careful.detect(PHOTO)).length).toBeGreaterThan(0);
});

it('fetches nothing where urls is false', async () => {
  const detector = await Detector.create({ cacheFolder, threads: 1, urls: false });
  const before = server.connections();
  const error = await yoloErrorOf(detector.detect(`${server.origin}/photo.jpg`));
  expect(error.code).toBe('ERR_YOLO_URL_REFUSED');
  expect(error.message).toMatch(/is not fetched here; fetch it with fetchImage\(\) and pass the bytes/);
  expect(server.connections()).toBe(before);
  await detector.close();
});

it('looks at the bytes and not at the type that the server states', async () => {
  const error = await yoloErrorOf(open.detect(`${server.origin}/page.jpg`));
  expect(error.code).toBe('ERR_YOLO_IMAGE_DECODE');
  expect(error.message).toMatch(/page\.jpg is HTML/);
});

it('stops fetching at an abort, and when another picture of the batch fails', async () => {
  const reason = new Error('enough');
  const stop = new AbortController();
  const fetching = open.detect(`${server.origin}/silent.jpg`, { signal: stop.signal });
  setTimeout(() => stop.abort(reason), 100);
  await expect(fetching).rejects.toBe(reason);
  const error = await yoloErrorOf(open.detectBatch([`${server.origin}/silent.jpg`, `${server.origin}/nowhere.jpg`]));
  expect([error.code, error.detail?.index]).toEqual(['ERR_YOLO_URL_FETCH', 1]);
  // Places of pictures that nobody waits for are free again.
  expect((await open.detectBatch([PHOTO, PHOTO, PHOTO])).length).toBe(3);
});

it('does not fetch a picture a second time to draw on it', async () => {
  const url = `${server.origin}/photo.jpg`;
  const detections = await open.detect(url);
  const before = server.asked.length;
  for (const work of [detections.annotate(), detections.crop(0)])
    expect((await yoloErrorOf(work)).message).toMatch(/photo\.jpg is not fetched a second time.*fetchImage\(\)/);
  expect((await yoloErrorOf(detections.annotate(undefined, { image: url }))).code).toBe('ERR_YOLO_URL_REFUSED');
  expect(server.asked.length).toBe(before);
  const image = await fetchImage(url, { allowPrivateAddresses: true });
  expect(Buffer.compare(image, photo)).toBe(0);
  expect(await detections.annotate(undefined, { image })).toEqual(
    await detections.annotate(undefined, { image: PHOTO }),
  );
});

it('refuses options of a fetch that are wrong, and what is no URL', async () => {
  const wrong: [unknown, RegExp][] = [
    [true, /urls to be an object or false/],
    [{ maxByte: 5 }, /did you mean "maxBytes"/],
    [{ maxBytes: 0 }, /urls\.maxBytes to be a whole number of at least 1/],
    [{ timeoutMs: 2 ** 31 }, /urls\.timeoutMs to be a whole number in \[1, 2147483647\]/],
    [{ maxRedirects: -1 }, /urls\.maxRedirects/],
    [{ allowPrivateAddresses: 'yes' }, /urls\.allowPrivateAddresses/],
  ];
  for (const [urls, message] of wrong) {
    const error = await yoloErrorOf(Detector.create({ urls: urls as false }));
    expect(error.code).toBe('ERR_YOLO_INVALID_ARGUMENT');
    expect(error.message).toMatch(message);
  }
  for (const url of ['photo.jpg', 'file:///photo.jpg', 'https://', 7 as never])
    expect((await yoloErrorOf(fetchImage(url))).code).toBe('ERR_YOLO_INVALID_ARGUMENT');
  expect((await yoloErrorOf(fetchImage(`${server.origin}/a`))).code).toBe('ERR_YOLO_URL_REFUSED');
});
