/**
 * What bare Node can do: TLS, HTTP/1.1 and HTTP/2 on one port as the server under test offers them, bytes that are ready
 * before anybody asks, and nothing else: no store, no selection, no checks. Sends in the ways that measured best: long
 * bodies in slices as the client takes them, events as one buffer, straight to the socket.
 *
 *   GET /list?from=A&to=B   that part of the list        GET, POST, PUT /object   one object
 *   GET /watch              a stream without an end      PUT /broadcast           one event to all streams
 *   GET /resume             a stream that begins with all events it missed
 *
 * A second port speaks TLS and nothing else: what an idle connection costs Node itself.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { createServer } from 'node:tls';
import { obey, type Ready } from '../server-control.ts';

const SLICE_BYTES = 1024 * 1024;
const JSON_TYPE = { 'Content-Type': 'application/json' };

const pki = join(process.argv[2]!, 'pki');
const tls = { cert: readFileSync(join(pki, 'server.crt')), key: readFileSync(join(pki, 'server.key')) };
let list: Buffer = Buffer.alloc(0);
let object: Buffer = Buffer.alloc(0);
let event = framed(Buffer.alloc(1));
let missed = framed(Buffer.alloc(1));
const watchers = new Set<() => void>();

/** The same bytes for both protocols. */
type Framed = { readonly plain: Buffer; readonly chunk: Buffer };

function framed(plain: Buffer): Framed {
  return { plain, chunk: Buffer.concat([Buffer.from(`${plain.length.toString(16)}\r\n`), plain, Buffer.from('\r\n')]) };
}

const server = createSecureServer({
  ...tls,
  allowHTTP1: true,
  noDelay: true,
  settings: { initialWindowSize: 256 * 1024, maxFrameSize: 256 * 1024, maxConcurrentStreams: 100 },
});
server.on('request', ((request: IncomingMessage, response: ServerResponse) => {
  const url = request.url!;
  if (url === '/watch' || url === '/resume') {
    response.writeHead(200, { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' });
    response.flushHeaders();
    const { socket } = request;
    if (url === '/resume') socket.write(missed.chunk);
    hold(() => socket.write(event.chunk), socket);
    return;
  }
  takeBody(request, () => {
    const body = answerTo(request.method!, url);
    response.writeHead(request.method === 'POST' ? 201 : 200, { ...JSON_TYPE, 'Content-Length': body.length });
    if (body.length <= SLICE_BYTES) response.end(body);
    else {
      response.flushHeaders();
      sendSliced(request.socket, body, () => response.end());
    }
  });
}) as never);
server.removeAllListeners('stream');
server.on('stream', (stream: ServerHttp2Stream, headers) => {
  const url = String(headers[':path']);
  stream.on('error', () => {});
  if (url === '/watch' || url === '/resume') {
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    if (url === '/resume') stream.write(missed.plain);
    hold(() => stream.write(event.plain), stream);
    return;
  }
  takeBody(stream, () => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end(answerTo(String(headers[':method']), url));
  });
});

function hold(write: () => void, end: { once(name: 'close', listener: () => void): unknown }): void {
  watchers.add(write);
  end.once('close', () => watchers.delete(write));
}

function takeBody(source: NodeJS.ReadableStream, then: () => void): void {
  source.on('data', () => {});
  source.once('end', then);
}

function answerTo(method: string, url: string): Buffer {
  if (url.startsWith('/list')) {
    const [, from, to] = /from=(\d+)&to=(\d+)/.exec(url) ?? [];
    return from === undefined ? list : list.subarray(Number(from), Number(to));
  }
  if (method === 'PUT' && url === '/broadcast') for (const write of watchers) write();
  return object;
}

function sendSliced(socket: Writable, body: Buffer, then: () => void, at = 0): void {
  if (at >= body.length) {
    then();
    return;
  }
  const next = () => sendSliced(socket, body, then, at + SLICE_BYTES);
  if (socket.write(body.subarray(at, at + SLICE_BYTES))) setImmediate(next);
  else socket.once('drain', next);
}

const plainTls = createServer(tls, (socket) => socket.on('error', () => {}).resume());
const listening = (one: typeof plainTls | typeof server): Promise<number> =>
  new Promise((resolve) => {
    one.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => resolve((one.address() as AddressInfo).port));
  });
const ready: Ready = { port: await listening(server), plainTlsPort: await listening(plainTls) };
obey((order) => {
  if (order.kind === 'stop') process.disconnect(); // which ends this process: there is nothing to lose
  if (order.kind !== 'load') return;
  list = readFileSync(order.listFile);
  object = readFileSync(order.objectFile);
  event = framed(
    Buffer.concat([Buffer.from('{"type":"MODIFIED","object":'), object.subarray(0, -1), Buffer.from('}\n')]),
  );
  missed = framed(Buffer.concat(Array.from({ length: order.frames }, () => event.plain)));
});
process.send!(ready);
