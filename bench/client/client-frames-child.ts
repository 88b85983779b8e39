/**
 * A server that is never the bottleneck: it plays watch events that were made before anybody asked, over TLS and
 * HTTP/1.1, each in a chunk of its own as API servers send them, many of them to one write, as fast as the client reads.
 *
 *   GET /api/v1/pods              the list of `pods` pods, at version `pods`
 *   GET /api/v1/pods?watch=...    with sendInitialEvents the same as events; then `events` updates, one version each
 *
 * As most events of pods do, an update changes the status and nothing else. With `perSecond` the updates come at that
 * pace, each with the time it was sent at.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { obey, type Ready } from '../lib/server-control.ts';
import { podJson } from './client-data.ts';
import type { FramesOptions } from './client-frames.ts';

const WRITE_BYTES = 64 * 1024;
const TICK_MS = 5;
/** Before a stream at a pace begins: the client takes in the initial state, by whatever way, and comes to rest. */
const REST_MS = 1000;
const JSON_TYPE = { 'Content-Type': 'application/json' };

const { dataDir, pods, events, perSecond, isManaged } = JSON.parse(process.argv[2]!) as FramesOptions;
const pki = join(dataDir, 'pki');
const tls = { cert: readFileSync(join(pki, 'server.crt')), key: readFileSync(join(pki, 'server.key')) };
const initial = gathered(pods, (i) => frame('ADDED', json(i, i + 1)));
const endOfInitial = frame(
  'BOOKMARK',
  JSON.stringify({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { resourceVersion: String(pods), annotations: { 'k8s.io/initial-events-end': 'true' } },
  }),
);
const updates = perSecond ? [] : gathered(events, (i) => update(i));
const list = Buffer.from(
  `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"${pods}"},"items":[${Array.from({ length: pods }, (_, i) => json(i, i + 1)).join(',')}]}`,
);

const server = createServer({ ...tls, noDelay: true }, (request: IncomingMessage, response: ServerResponse) => {
  const { searchParams } = new URL(request.url!, 'https://server');
  if (!searchParams.has('watch')) {
    response.writeHead(200, { ...JSON_TYPE, 'Content-Length': list.length });
    response.end(list);
    return;
  }
  response.writeHead(200, { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' });
  response.flushHeaders();
  const { socket } = request;
  socket.on('error', () => {});
  const begin = searchParams.has('sendInitialEvents') ? [...initial, endOfInitial] : [];
  play(socket, begin, () => {
    if (perSecond) setTimeout(() => pace(socket, perSecond), REST_MS);
    else play(socket, updates, () => {});
  });
});
server.listen({ host: '127.0.0.1', port: 0 }, () => {
  process.send!({ port: (server.address() as AddressInfo).port } satisfies Ready);
});
obey(({ kind }) => {
  if (kind === 'stop') process.disconnect(); // which ends this process: there is nothing to lose
});

function play(socket: Writable, writes: readonly Buffer[], then: () => void, at = 0): void {
  for (let i = at; i < writes.length; i++) {
    if (socket.destroyed) return;
    if (socket.write(writes[i])) continue;
    socket.once('drain', () => play(socket, writes, then, i + 1));
    return;
  }
  then();
}

function pace(socket: Writable, rate: number): void {
  const begin = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(events, Math.floor(((performance.now() - begin) * rate) / 1000));
    const frames: Buffer[] = [];
    while (sent < due) frames.push(update(sent++, String(Date.now())));
    if (frames.length > 0) socket.write(Buffer.concat(frames));
    if (sent === events || socket.destroyed) clearInterval(timer);
  }, TICK_MS);
}

function update(i: number, stamp = ''): Buffer {
  return frame('MODIFIED', json(i % pods, pods + 1 + i, stamp, i + 1));
}

function json(i: number, version: number, extra = '', restarts = 0): string {
  return podJson(i, version, { extra, isManaged, restarts });
}

function frame(type: string, object: string): Buffer {
  const line = Buffer.from(`{"type":"${type}","object":${object}}\n`);
  return Buffer.concat([Buffer.from(`${line.length.toString(16)}\r\n`), line, Buffer.from('\r\n')]);
}

function gathered(count: number, make: (i: number) => Buffer): Buffer[] {
  const writes: Buffer[] = [];
  let parts: Buffer[] = [];
  let bytes = 0;
  for (let i = 0; i < count; i++) {
    const part = make(i);
    parts.push(part);
    bytes += part.length;
    if (bytes < WRITE_BYTES && i < count - 1) continue;
    writes.push(Buffer.concat(parts));
    parts = [];
    bytes = 0;
  }
  return writes;
}
