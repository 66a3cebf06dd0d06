import type { LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { YoloError } from '../../lib/errors.js';
import { type FetchSettings, fetchPicture } from '../../lib/image/url-fetch.js';
import { bytes, redirect, serve, type TestServer } from '../support/http-server.js';
import { yoloErrorOf } from '../support/yolo-error.js';

// The server of these tests counts as one of the internet, and all else of this machine does not.
vi.mock('../../lib/image/url-address.js', async (actual) => {
  const { isPublicAddress } = await actual<typeof import('../../lib/image/url-address.js')>();
  return { isPublicAddress: (address: string) => address === '127.0.0.1' || isPublicAddress(address) };
});

const picture = Uint8Array.from({ length: 300_000 }, (_, at) => at & 255);
let server: TestServer;
/** Headers of the last request, and whether the connection of an answer that does not end was closed by the client. */
let headers: Record<string, unknown> = {};
let closed: Promise<void> = Promise.resolve();

beforeAll(async () => {
  server = await serve({
    '/picture': (response, request) => {
      headers = request.headers;
      bytes(picture, { 'content-type': 'text/html' })(response, request);
    },
    '/chunked': (response) => {
      response.write(picture.subarray(0, 1000));
      response.end(picture.subarray(1000));
    },
    '/endless': (response) => {
      closed = new Promise((resolve) => response.on('close', resolve));
      const timer = setInterval(() => response.write(picture), 1);
      response.on('close', () => clearInterval(timer));
    },
    '/slow': (response) => {
      closed = new Promise((resolve) => response.on('close', resolve));
      response.writeHead(200, { 'content-length': '1000' });
      const timer = setInterval(() => response.write('a'), 20);
      response.on('close', () => clearInterval(timer));
    },
    '/silent': () => {},
    '/states-much': (response) => response.writeHead(200, { 'content-length': '1000000000000' }).write('a'),
    '/cut-short': (response) => {
      response.writeHead(200, { 'content-length': '1000' }).write(picture.subarray(0, 500));
      setTimeout(() => response.destroy(), 20);
    },
    '/packed': bytes(gzipSync(picture), { 'content-encoding': 'gzip' }),
    '/empty': bytes(new Uint8Array(0)),
    '/error': (response) => response.writeHead(503, 'secret words of the server').end('{}'),
    '/part': (response) => response.writeHead(206).end('a'),
    '/no-location': (response) => response.writeHead(302).end(),
    '/bad-location': redirect('http://[/'),
    '/loop': redirect('/loop'),
    '/hop1': redirect('hop2?x=1', 301),
    '/hop2': redirect('/hop3', 307),
    '/hop3': redirect(() => `//127.0.0.1:${server.port}/picture`, 308),
    '/to-file': redirect('file:///etc/hostname'),
    '/to-ftp': redirect('ftp://127.0.0.1/picture'),
    '/to-data': redirect('data:image/png;base64,AAAA'),
    '/to-private': redirect(() => `http://127.0.0.2:${server.port}/picture`),
    '/to-private-number': redirect(() => `http://2130706434:${server.port}/picture`),
    '/to-private-v6': redirect(() => `http://[::ffff:127.0.0.2]:${server.port}/picture`),
    '/to-metadata': redirect('http://169.254.169.254/latest/meta-data/'),
    '/to-name': redirect(() => `http://changing.example:${server.port}/picture`),
  });
});
afterAll(() => server.close());

const fetchFrom = (path: string, settings?: FetchSettings) => fetchPicture(new URL(server.origin + path), settings);

function failure(path: string, settings?: FetchSettings): Promise<YoloError> {
  const url = path.startsWith('/') ? server.origin + path : path;
  return yoloErrorOf(fetchPicture(new URL(url), settings), path);
}

/** Answers each question with the next of these lists, in the form that is asked for, and the last ever after. */
function answering(...answers: string[][]): LookupFunction & { questions: () => number } {
  let questions = 0;
  const lookup: LookupFunction = (_host, options, callback) => {
    const addresses = answers[Math.min(questions++, answers.length - 1)]!.map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }));
    setImmediate(() => {
      if (options.all) callback(null, addresses);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
  return Object.assign(lookup, { questions: () => questions });
}

describe('a picture that is fetched', () => {
  it('comes with every byte, whatever type the server states and however it sends them', async () => {
    for (const path of ['/picture', '/chunked']) expect(Buffer.compare(await fetchFrom(path), picture)).toBe(0);
    expect(await fetchFrom('/empty')).toHaveLength(0);
  });

  it('is asked for without compression, and without anything of the program', async () => {
    await fetchFrom('/picture');
    expect(headers).toMatchObject({ accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'migraphx-yolo' });
    expect(Object.keys(headers).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  });

  it('is asked for with the user and password of its URL, which do not go to another server', async () => {
    const url = new URL(`${server.origin}/picture`);
    url.username = 'ann';
    url.password = 'p@ss:word';
    await fetchPicture(url);
    expect(headers.authorization).toBe(`Basic ${Buffer.from('ann:p@ss:word').toString('base64')}`);
    url.pathname = '/hop3';
    await fetchPicture(url);
    expect(headers.authorization).toBeUndefined();
  });

  it('is followed through redirects, as many as are allowed', async () => {
    expect(await fetchFrom('/hop1')).toHaveLength(picture.length);
    expect(await fetchFrom('/hop1', { maxRedirects: 3 })).toHaveLength(picture.length);
    const error = await failure('/hop1', { maxRedirects: 2 });
    expect(error.code).toBe('ERR_YOLO_URL_FETCH');
    expect(error.message).toMatch(/redirected more than 2 times \(urls\.maxRedirects\)/);
    const before = server.asked.length;
    expect((await failure('/loop')).message).toMatch(/redirected more than 5 times/);
    expect(server.asked.length - before).toBe(6);
    expect((await failure('/hop1', { maxRedirects: 0 })).message).toMatch(/more than 0 times/);
  });

  it('leaves no connection open', async () => {
    await fetchFrom('/hop1');
    const open = () => (process as unknown as { getActiveResourcesInfo(): string[] }).getActiveResourcesInfo();
    await vi.waitFor(() => expect(open().filter((kind) => /^TCPSocketWrap/.test(kind))).toEqual([]));
  });
});

describe('what goes wrong with a fetch', () => {
  const cases: [path: string, message: RegExp, settings?: FetchSettings][] = [
    ['/nowhere', /the server answered 404 Not Found$/],
    ['/error', /the server answered 503 Service Unavailable$/],
    ['/part', /the server answered 206 Partial Content$/],
    ['/no-location', /the server answered 302 Found$/],
    ['/bad-location', /redirected to what is no URL/],
    ['/packed', /sends it packed/],
    ['/cut-short', /aborted|hang up|ECONNRESET/],
    ['/picture', /more than 299999 bytes \(urls\.maxBytes\)/, { maxBytes: 299_999 }],
    ['/chunked', /more than 299999 bytes \(urls\.maxBytes\)/, { maxBytes: 299_999 }],
    ['/states-much', /more than 50000000 bytes/],
    ['/endless', /more than 1000000 bytes/, { maxBytes: 1_000_000 }],
    ['/slow', /not there after 150 ms \(urls\.timeoutMs\)/, { timeoutMs: 150 }],
    ['/silent', /not there after 150 ms/, { timeoutMs: 150 }],
    ['http://127.0.0.1:1/a.png', /ECONNREFUSED/],
    ['http://nowhere.invalid/a.png', /ENOTFOUND|EAI_AGAIN/],
  ];
  for (const [path, message, settings] of cases) {
    it(`is an error that says what: ${path} ${message.source}`, async () => {
      const error = await failure(path, settings);
      expect(error.code).toBe('ERR_YOLO_URL_FETCH');
      expect(error.message).toMatch(message);
      expect(error.message).toContain(`Cannot fetch the picture ${path.startsWith('/') ? server.origin + path : path}`);
    });
  }

  it('ends the connection to a server that sends too much or too slowly', async () => {
    await failure('/endless', { maxBytes: 1000 });
    await closed;
    await failure('/slow', { timeoutMs: 100 });
    await closed;
  });

  it('takes a picture of exactly maxBytes', async () => {
    for (const path of ['/picture', '/chunked'])
      expect(await fetchFrom(path, { maxBytes: picture.length })).toHaveLength(picture.length);
  });

  it('is an abort: before the fetch, before the answer, and in its middle', async () => {
    const reason = new Error('enough');
    await expect(fetchFrom('/picture', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    for (const path of ['/silent', '/slow']) {
      const stop = new AbortController();
      const fetching = fetchFrom(path, { signal: stop.signal });
      setTimeout(() => stop.abort(reason), 100);
      await expect(fetching).rejects.toBe(reason);
    }
    await closed;
  });
});

describe('secrets of a URL', () => {
  it('are in no error: neither user and password nor the query', async () => {
    for (const path of ['/nowhere', '/loop', '/cut-short', '/to-file', '/to-private', '/error', '/slow']) {
      const url = new URL(`${server.origin}${path}?signature=hidden1`);
      url.username = 'hidden2';
      url.password = 'hidden3';
      const error = await failure(url.href, { timeoutMs: 500 });
      const all = [error.message, error.stack, JSON.stringify(error.detail), JSON.stringify(error.cause), error.cause];
      expect(all.join('\n')).not.toMatch(/hidden/);
      expect(error.message).toContain(`${server.origin}${path}?...`);
    }
  });
});

describe('an address that is not public', () => {
  const written = [
    '127.0.0.2',
    '2130706434',
    '0x7f.2',
    '017700000002',
    '[::ffff:127.0.0.2]',
    '[::1]',
    '[64:ff9b::7f00:2]',
  ];
  it.each(written)('is refused as the host %s, without a connection', async (host) => {
    const before = server.connections();
    const error = await failure(`http://${host}:${server.port}/picture`);
    expect(error.code).toBe('ERR_YOLO_URL_REFUSED');
    expect(error.message).toMatch(/an address that is not public.* allowPrivateAddresses: true/);
    expect(server.connections()).toBe(before);
  });

  it.each(['/to-private', '/to-private-number', '/to-private-v6', '/to-metadata'])(
    'is refused where a redirect leads to it: %s',
    async (path) => {
      const before = server.connections();
      const error = await failure(path);
      expect(error.code).toBe('ERR_YOLO_URL_REFUSED');
      expect(error.message).toMatch(/leads to (127\.0\.0\.2|169\.254\.169\.254|::ffff:7f00:2), an address/);
      expect(server.connections()).toBe(before + 1);
    },
  );

  it.each(['/to-file', '/to-ftp', '/to-data'])('or of another protocol is not followed: %s', async (path) => {
    const error = await failure(path, { allowPrivateAddresses: true });
    expect(error.code).toBe('ERR_YOLO_URL_REFUSED');
    expect(error.message).toMatch(/was redirected to a (file|ftp|data): URL/);
  });

  it('is refused in the answer to a name, also as one of several', async () => {
    for (const answer of [['127.0.0.2'], ['127.0.0.1', '127.0.0.2'], ['127.0.0.1', '::1'], ['fe80::1%lo']]) {
      const before = server.connections();
      const error = await failure(`http://name.example:${server.port}/picture`, { lookup: answering(answer) });
      expect(error.code).toBe('ERR_YOLO_URL_REFUSED');
      expect(error.message).toContain(`leads to name.example (${answer.at(-1)}), an address that is not public`);
      expect(server.connections()).toBe(before);
    }
  });

  it('is refused when the answer to a name changes after the first, which alone is connected to', async () => {
    const url = new URL(`http://changing.example:${server.port}/picture`);
    const lookup = answering(['127.0.0.1'], ['127.0.0.2']);
    expect(await fetchPicture(url, { lookup })).toHaveLength(picture.length);
    // One question a connection: what was checked is what is used.
    expect(lookup.questions()).toBe(1);
    expect((await failure(url.href, { lookup })).code).toBe('ERR_YOLO_URL_REFUSED');

    const between = answering(['127.0.0.1'], ['127.0.0.2']);
    const error = await failure(`http://changing.example:${server.port}/to-name`, { lookup: between });
    expect(error.code).toBe('ERR_YOLO_URL_REFUSED');
    expect(between.questions()).toBe(2);
  });

  it('may be connected to where that is allowed', async () => {
    const lookup = answering(['127.0.0.2']);
    // Nobody listens there: it is the attempt that counts.
    const url = 'http://name.example:1/picture';
    expect((await failure(url, { lookup, allowPrivateAddresses: true })).message).toMatch(/ECONNREFUSED|EADDRNOTAVAIL/);
    expect((await failure('http://127.0.0.2:1/', { allowPrivateAddresses: true })).code).toBe('ERR_YOLO_URL_FETCH');
  });

  it('is not asked of a name that has none', async () => {
    const error = await failure('http://name.example/picture', { lookup: answering([]) });
    expect(error.code).toBe('ERR_YOLO_URL_FETCH');
    expect(error.message).toMatch(/the host name\.example has no address/);
  });
});
