/**
 * What is held for many: watches that wait, objects that are cached. Bytes are counted by the process itself after a collection
 * of garbage, as a growth over many, so that neither the machine's speed nor how it hands out pages is in them.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TemporaryDir, temporaryDir } from '../../../support/temporary-dir.ts';
import type { MemoryAnswer, MemoryOrder } from './memory-process.ts';

const WATCHES = 300;
const AT_ONCE = 20;
const STREAMS = 100;
const PODS = 5000;
const WATCH = '/api/v1/pods?watch=1&resourceVersion=0&allowWatchBookmarks=true';

/** Else code that is made and thrown away is most of what changes between two counts. */
const NO_NEW_CODE = [
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--no-flush-bytecode',
  '--no-lazy-feedback-allocation',
];

let child: ChildProcess;
let dir: TemporaryDir;
const closers: (() => void)[] = [];

beforeAll(async () => {
  dir = await temporaryDir();
  child = fork(new URL('./memory-process.ts', import.meta.url), {
    execArgv: ['--import', 'tsx', '--expose-gc', ...NO_NEW_CODE],
  });
  await once(child, 'message');
});

afterAll(async () => {
  for (const close of closers) close();
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  await dir[Symbol.asyncDispose]();
});

it('an idle watch holds at most 12 KB with its TLS socket, which has 3.5 to 4 of them; over HTTP/2 at most 6 KB', async () => {
  const { port } = await ask({ kind: 'start', dataDir: dir.path });
  const token = readFileSync(join(dir.path, 'admin.token'), 'utf8').trim();
  const overHttp1 = await growth(() => watchHttp1(port!, token));
  let session: ClientHttp2Session | undefined;
  let streams = 0;
  const overHttp2 = await growth(async () => {
    if (streams++ % STREAMS === 0) {
      session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
      session.on('error', () => {});
      closers.push(() => session?.destroy());
    }
    await watchHttp2(session!, token);
  });
  await ask({ kind: 'stop' });
  expect(overHttp1).toBeLessThan(12_000);
  expect(overHttp2).toBeLessThan(6000);
});

it('pods that are stored and cached take at most 1.25 times their JSON', async () => {
  await ask({ kind: 'start', dataDir: dir.path });
  const before = await ask({ kind: 'count' });
  await ask({ kind: 'stop' });
  const pods = Array.from({ length: PODS }, (_, i) => podText(i));
  await ask({ kind: 'fill', dataDir: dir.path, pods });
  const { port } = await ask({ kind: 'start', dataDir: dir.path });
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  closers.push(() => session.destroy());
  const token = readFileSync(join(dir.path, 'admin.token'), 'utf8').trim();
  const stream = session.request({ ':path': '/api/v1/pods?limit=1', authorization: `Bearer ${token}` });
  stream.resume();
  await once(stream, 'end');
  const after = await ask({ kind: 'count' });
  const json = pods.reduce((sum, pod) => sum + pod.length, 0);
  expect((after.bytes! - before.bytes!) / json).toBeLessThan(1.25);
});

async function ask(order: MemoryOrder): Promise<MemoryAnswer> {
  child.send(order);
  const [answer] = (await once(child, 'message')) as [MemoryAnswer];
  return answer;
}

/** Bytes for each of many, from so many to twice as many: on that way every table that they stand in grows once. */
async function growth(open: () => Promise<void>): Promise<number> {
  await many(WATCHES, open);
  const before = await ask({ kind: 'count' });
  await many(WATCHES, open);
  const after = await ask({ kind: 'count' });
  return (after.bytes! - before.bytes!) / WATCHES;
}

async function many(count: number, open: () => Promise<void>): Promise<void> {
  for (let at = 0; at < count; at += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, open));
}

async function connection(port: number): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => {});
  closers.push(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

async function watchHttp1(port: number, token: string): Promise<void> {
  const socket = await connection(port);
  const head = [`GET ${WATCH} HTTP/1.1`, 'Host: server', 'User-Agent: test', `Authorization: Bearer ${token}`, '', ''];
  socket.write(head.join('\r\n'));
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString('latin1', 0, 12)).toBe('HTTP/1.1 200');
  socket.resume();
}

async function watchHttp2(session: ClientHttp2Session, token: string): Promise<void> {
  const stream = session.request({ ':path': WATCH, authorization: `Bearer ${token}`, 'user-agent': 'test' });
  stream.on('error', () => {});
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  expect(headers[':status']).toBe(200);
  stream.resume();
}

function podText(i: number): string {
  const name = `pod-${String(i).padStart(5, '0')}`;
  const metadata = { name, namespace: 'default', uid: name, annotations: { fill: 'x'.repeat(3800) } };
  const spec = { nodeName: `node-${i % 10}`, containers: [{ name: 'main', image: 'image' }] };
  return JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata, spec, status: { phase: 'Running' } });
}
