import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export interface TestServer {
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  readonly port: number;
  /** Paths that were asked for, since the start. */
  readonly asked: string[];
  readonly connections: () => number;
  close(): Promise<void>;
}

/** A server on this machine that answers paths as told, and all others with 404. */
export async function serve(answers: Readonly<Record<string, Answer>>): Promise<TestServer> {
  const asked: string[] = [];
  let connections = 0;
  const listener: RequestListener = (request, response) => {
    asked.push(request.url!);
    const answer = answers[new URL(request.url!, 'http://localhost').pathname];
    if (answer !== undefined) answer(response, request);
    else response.writeHead(404, { 'content-type': 'image/png' }).end('not here');
  };
  const server = createServer(listener).on('connection', () => connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    asked,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** An answer that leads elsewhere. */
export const redirect =
  (location: string | (() => string), status = 302): Answer =>
  (response) => {
    response.writeHead(status, { location: typeof location === 'string' ? location : location() }).end('moved');
  };

/** An answer with these bytes. */
export const bytes =
  (body: Uint8Array, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(200, { 'content-length': String(body.length), ...headers }).end(body);
  };
