/**
 * Bytes on the wire that are not one request after the other: tiny pieces, floods of frames, streams that are opened
 * and dropped, and whatever is sent behind a request that is being answered.
 */
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ServerTarget } from '../../support/victim/server-target.ts';
import type { Played, StallCase } from '../../support/victim/stall-case.ts';
import { firstOf } from '../first-of.ts';
import { times } from './text-shapes.ts';

const MAPS = '/api/v1/namespaces/stall/configmaps';

type Play = (target: ServerTarget, size: number) => Promise<number>;

function wire(name: string, covers: string, limit: number, send: Play): StallCase<ServerTarget> {
  return {
    name,
    covers: [covers],
    limit,
    play: async (target, size): Promise<Played> => ({ sentBytes: await send(target, size), statuses: [] }),
  };
}

function head(target: ServerTarget, method: string, path: string, more = ''): string {
  const { authorization } = target.authorization();
  return `${method} ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n${more}\r\n`;
}

const http1 = [
  wire('one-byte records behind a watch', 'wire:http1', 20_000, async (target, size) => {
    const socket = await target.rawSocket();
    socket.setNoDelay(true);
    socket.write(head(target, 'GET', `${MAPS}?watch=1`));
    await firstOf(socket, 'data', 'close');
    await inPieces(socket, Buffer.alloc(size, 0x20), 1);
    return finish(socket, size);
  }),
  wire('requests behind a watch', 'wire:http1', 2_000, async (target, size) => {
    const socket = await target.rawSocket();
    socket.write(head(target, 'GET', `${MAPS}?watch=1`));
    await firstOf(socket, 'data', 'close');
    const bytes = Buffer.from(head(target, 'GET', '/version').repeat(size));
    socket.write(bytes);
    return finish(socket, bytes.length);
  }),
  wire('requests one behind the other', 'wire:http1', 1_000, async (target, size) => {
    const socket = await target.rawSocket();
    const bytes = Buffer.from(head(target, 'GET', '/version').repeat(size));
    socket.write(bytes);
    return finish(socket, bytes.length);
  }),
  wire('a long list of transfer encodings', 'header:transfer-encoding', 8_000, async (target, size) => {
    const socket = await target.rawSocket();
    const bytes = Buffer.from(head(target, 'POST', MAPS, `Transfer-Encoding: ${'a,'.repeat(size / 2)}chunked\r\n`));
    socket.write(bytes);
    return finish(socket, bytes.length);
  }),
  wire('a long expectation', 'header:expect', 8_000, async (target, size) => {
    const socket = await target.rawSocket();
    const bytes = Buffer.from(head(target, 'POST', MAPS, `Expect: ${'100-continue,'.repeat(size / 13)}\r\n`));
    socket.write(bytes);
    return finish(socket, bytes.length);
  }),
  wire('a body in chunks of one byte', 'wire:http1', 200_000, async (target, size) => {
    const socket = await target.rawSocket();
    const more = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
    const bytes = Buffer.from(`${head(target, 'POST', MAPS, more)}${'1\r\nx\r\n'.repeat(size)}0\r\n\r\n`);
    socket.write(bytes);
    return finish(socket, bytes.length);
  }),
  wire('chunks with long extensions', 'wire:http1', 2_000_000, async (target, size) => {
    const socket = await target.rawSocket();
    const more = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
    const bytes = Buffer.from(`${head(target, 'POST', MAPS, more)}1;${'a'.repeat(size)}\r\nx\r\n0\r\n\r\n`);
    socket.write(bytes);
    return finish(socket, bytes.length);
  }),
  wire('many trailers', 'wire:http1', 50_000, async (target, size) => {
    const socket = await target.rawSocket();
    const more = 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n';
    const trailers = times(size, (i) => `t${i}: v\r\n`).join('');
    const bytes = Buffer.from(`${head(target, 'POST', MAPS, more)}2\r\n{}\r\n0\r\n${trailers}\r\n`);
    socket.write(bytes);
    return finish(socket, bytes.length);
  }),
  wire('a head in records of one byte', 'wire:http1', 8_000, async (target, size) => {
    const socket = await target.rawSocket();
    socket.setNoDelay(true);
    const bytes = Buffer.from(head(target, 'GET', '/version', `X: ${'a'.repeat(size)}\r\n`));
    await inPieces(socket, bytes, 1);
    return finish(socket, bytes.length);
  }),
  wire('bytes that are no HTTP', 'wire:http1', 2_000_000, async (target, size) => {
    const socket = await target.rawSocket();
    socket.write(Buffer.alloc(size, 0x41));
    return finish(socket, size);
  }),
  wire('empty lines before a request', 'wire:http1', 1_000_000, async (target, size) => {
    const socket = await target.rawSocket();
    socket.write(Buffer.from(`${'\r\n'.repeat(size / 2)}${head(target, 'GET', '/version')}`));
    return finish(socket, size);
  }),
];

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const SETTINGS = frame(4, 0, 0, Buffer.alloc(0));

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** Frames of a connection without requests. */
function flood(name: string, limit: number, one: (i: number) => Buffer): StallCase<ServerTarget> {
  return wire(`HTTP/2: ${name}`, 'wire:http2', limit, async (target, size) => {
    const socket = await target.rawSocket(['h2']);
    const bytes = Buffer.concat([PREFACE, SETTINGS, ...times(size, one)]);
    socket.write(bytes);
    return finish(socket, bytes.length);
  });
}

/** As many streams as asked for, on one connection, a hundred at a time. */
function streams(
  name: string,
  limit: number,
  use: (stream: ClientHttp2Stream) => void,
  path: string,
): StallCase<ServerTarget> {
  return wire(`HTTP/2: ${name}`, 'wire:http2', limit, async (target, size) => {
    const session = target.session();
    const closed = firstOf(session, 'close');
    for (let opened = 0; opened < size && !session.destroyed; opened += 50)
      await Promise.race([Promise.all(times(50, () => openStream(session, target, path, use))), closed]);
    session.destroy();
    return size * 100;
  });
}

async function openStream(
  session: ClientHttp2Session,
  target: ServerTarget,
  path: string,
  use: (stream: ClientHttp2Stream) => void,
): Promise<void> {
  if (session.destroyed || session.closed) return;
  const stream = session.request({ ':path': path, ...target.authorization() });
  stream.on('error', () => {}); // told by its close
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  use(stream);
  await closed;
}

const http2 = [
  flood('pings', 50_000, () => frame(6, 0, 0, Buffer.alloc(8))),
  flood('settings', 50_000, () => frame(4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))),
  flood('windows', 50_000, () => frame(8, 0, 0, Buffer.from([0, 0, 0, 1]))),
  flood('priorities', 50_000, (i) => frame(2, 0, 2 * i + 1, Buffer.from([0, 0, 0, 0, 1]))),
  flood('frames of unknown types', 50_000, () => frame(200, 0, 0, Buffer.alloc(4))),
  flood('empty data', 50_000, () => frame(0, 0, 1, Buffer.alloc(0))),
  flood('continuations without an end', 50_000, (i) =>
    i === 0 ? frame(1, 0, 1, Buffer.alloc(1, 0x82)) : frame(9, 0, 1, Buffer.from([0x00, 0x01, 0x61, 0x01, 0x62])),
  ),
  streams('streams opened and dropped', 2_000, (stream) => stream.close(8), MAPS),
  streams(
    'watches opened and dropped',
    2_000,
    (stream) => stream.once('response', () => stream.close(8)),
    `${MAPS}?watch=1`,
  ),
  wire('HTTP/2: a body in frames of one byte', 'wire:http2', 20_000, async (target, size) => {
    const session = target.session();
    const stream = session.request({
      ':method': 'POST',
      ':path': MAPS,
      'content-type': 'application/json',
      ...target.authorization(),
    });
    stream.on('error', () => {}); // told by its close
    for (let sent = 0; sent < size && !stream.destroyed; sent++)
      if (!stream.write('x')) await firstOf(stream, 'drain', 'close');
    stream.end();
    stream.resume();
    await firstOf(stream, 'close');
    session.destroy();
    return size * 10;
  }),
  wire('HTTP/2: a content length of many digits', 'header:content-length', 900_000, async (target, size) => {
    const session = target.session();
    const stream = session.request({ ':method': 'POST', ':path': '/version', 'content-length': '1'.repeat(size) });
    stream.on('error', () => {}); // told by its close
    stream.resume();
    stream.end();
    await firstOf(stream, 'close');
    session.destroy();
    return size;
  }),
  wire('HTTP/2: many headers', 'wire:http2', 50_000, async (target, size) => {
    const session = target.session();
    const stream = session.request({
      ':path': '/version',
      ...Object.fromEntries(times(size, (i) => [`x-${i}`, 'v'])),
    });
    stream.on('error', () => {}); // told by its close
    stream.resume();
    await firstOf(stream, 'close');
    session.destroy();
    return size * 8;
  }),
];

export const wireCases: readonly StallCase<ServerTarget>[] = [...http1, ...http2];

/** Each piece is a TLS record of its own. */
async function inPieces(socket: TLSSocket, bytes: Buffer, pieceBytes: number): Promise<void> {
  for (let at = 0; at < bytes.length && !socket.destroyed; at += pieceBytes)
    if (!socket.write(bytes.subarray(at, at + pieceBytes))) await firstOf(socket, 'drain', 'close');
}

/** Until the server has nothing more to say, or has hung up. */
async function finish(socket: TLSSocket, sentBytes: number): Promise<number> {
  socket.setTimeout(60);
  socket.resume();
  await firstOf(socket, 'timeout', 'close');
  socket.destroy();
  return sentBytes;
}
