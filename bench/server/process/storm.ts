/**
 * A restart storm: the server is killed with -9, and within a second after its next one is ready all of its clients come
 * back at once: watchers that go on from the version they have, and listers that begin anew. Beside it, the same without
 * flow control. All are service accounts; who is refused comes again when told to, as client-go does.
 *
 * The administrator reads one pod all the while, from a process of its own; time in which the server or that process had no
 * core is not counted. Small unless `--whole` is said: 5,000 watchers and 200 listers of 10,000 pods.
 */
import { fork } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProbeOrder, ProbeReport } from '../../../test/support/victim/probe-process.ts';
import { mainThreadTime, memoryOf } from '../../../test/support/victim/process-meter.ts';
import { MeasuredProcess } from '../../lib/server-process.ts';
import { type ServerBenchmark, type ServerContext, type ServerRow, valueRow } from '../../lib/server-report.ts';
import { Client, connectTls, type Endpoint } from '../load/server-client.ts';
import { endpointOf, GROUPS, newestVersion, newPod, PODS, podName, preparePods } from '../load/server-data.ts';

export const storm: ServerBenchmark = { name: 'storm', run };

const COME_BACK_MS = 1000;
const ACCOUNTS = 100;
const HANDSHAKES_AT_ONCE = 64;
const MARK = 'storm-mark';
const MIB = 1024 * 1024;

type Size = { readonly watchers: number; readonly listers: number; readonly pods: number };
type Storm = {
  readonly watchersMs: number;
  readonly listersMs: number;
  readonly cpuSeconds: number;
  readonly refused: number;
  readonly peakBytes: number;
  readonly adminWorstMs: number;
};

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isWhole, isQuick } = context;
  const size = isWhole
    ? { watchers: 5000, listers: 200, pods: 10_000 }
    : { watchers: isQuick ? 200 : 500, listers: 20, pods: 2000 };
  const [on, off] = [await weather(context, size, true), await weather(context, size, false)];
  const what = `storm of ${size.watchers} watchers, ${size.listers} listers of ${size.pods} pods`;
  const row = (figure: string, unit: string, pick: (storm: Storm) => number) => [
    valueRow(`${what}: ${figure}`, unit, [pick(on)]),
    valueRow(`the same without flow control: ${figure}`, unit, [pick(off)]),
  ];
  return [
    ...row('all watchers caught up after', 's', ({ watchersMs }) => watchersMs / 1000),
    ...row('all listers caught up after', 's', ({ listersMs }) => listersMs / 1000),
    ...row('CPU of the server until then', 's', ({ cpuSeconds }) => cpuSeconds),
    ...row('requests refused', '', ({ refused }) => refused),
    ...row('most memory', 'MiB', ({ peakBytes }) => peakBytes / MIB),
    ...row('worst read of the administrator', 'ms', ({ adminWorstMs }) => adminWorstMs),
  ];
}

async function weather(context: ServerContext, size: Size, hasFlowControl: boolean): Promise<Storm> {
  const { say, signal } = context;
  const { dataDir } = await preparePods(context, size.pods, GROUPS);
  const options = {
    dataDir,
    authorizationMode: 'AlwaysAllow',
    enablePriorityAndFairness: hasFlowControl,
  } as const;
  const first = await MeasuredProcess.startServerWith(context, options);
  const version = await newestVersion(endpointOf(first, dataDir));
  await first.kill();
  say(`storm ${hasFlowControl ? 'with' : 'without'} flow control: the server is killed and comes back`);
  await using server = await MeasuredProcess.startServerWith(context, options);
  const endpoint = endpointOf(server, dataDir);
  using admin = await Administrator.start(server.pid, endpoint);
  const begin = performance.now();
  const counts = { refused: 0 };
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  setMaxListeners(0, stop); // every client listens
  const doors = new Doors(HANDSHAKES_AT_ONCE);
  const one = async (i: number, path: string, isOver: IsOver) => {
    await sleep(Math.random() * COME_BACK_MS);
    const user = `system:serviceaccount:default:c${i % ACCOUNTS}`;
    await comeBack({ endpoint, doors, user, path, isOver, counts, signal: stop });
  };
  const watch = `${PODS}?watch=1&allowWatchBookmarks=1&resourceVersion=${version}`;
  const cpuBefore = mainThreadTime(server.pid).cpuMs;
  const clients = {
    watchers: Array.from({ length: size.watchers }, (_, i) => one(i, watch, (text) => text.includes(MARK))),
    listers: Array.from({ length: size.listers }, (_, i) =>
      one(i, `${PODS}?resourceVersion=0`, (_, left) => left === 0),
    ),
  };
  const after = async (some: Promise<void>[]) => {
    await Promise.all(some);
    return performance.now() - begin;
  };
  const all = Promise.all([after(clients.watchers), after(clients.listers)]);
  all.catch(() => {}); // heard below
  let caughtUpMs: [watchersMs: number, listersMs: number];
  try {
    await sleep(COME_BACK_MS / 2);
    await writeMark(endpoint, stop);
    caughtUpMs = await all;
  } finally {
    over.abort(new Error('the storm is over'));
    await Promise.allSettled([...clients.watchers, ...clients.listers]);
  }
  const weathered = {
    watchersMs: caughtUpMs[0],
    listersMs: caughtUpMs[1],
    cpuSeconds: (mainThreadTime(server.pid).cpuMs - cpuBefore) / 1000,
    refused: counts.refused,
    peakBytes: memoryOf(server.pid).peakBytes,
    adminWorstMs: await admin.worstMs(),
  };
  say(`storm: ${JSON.stringify(weathered)}`); // the other half may take minutes
  return weathered;
}

/** Until it is there: this process is busy itself, and a handshake may take longer than a server waits. */
async function writeMark(endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      const writer = await Client.open(endpoint);
      const { status } = await writer.request('POST', PODS, newPod(MARK));
      writer.close();
      if (status === 201 || status === 409) return;
    } catch {
      await sleep(100);
    }
  }
}

/** Whether it has what it came for, by the last part of the answer and what is left of it. */
type IsOver = (text: string, leftBytes: number) => boolean;

type Returning = {
  readonly endpoint: Endpoint;
  readonly doors: Doors;
  readonly user: string;
  readonly path: string;
  readonly isOver: IsOver;
  readonly counts: { refused: number };
  readonly signal: AbortSignal;
};

/** Asks until it has what it wants; a refusal is waited for as it says, a broken connection a little. */
async function comeBack(client: Returning): Promise<void> {
  const { signal } = client;
  for (;;) {
    signal.throwIfAborted();
    const waitMs = await askOnce(client).catch(() => 800);
    if (waitMs === 0) return;
    await sleep(waitMs * (1 + Math.random() / 4), undefined, { signal });
  }
}

/** 0: it has it; else how long to stay away. */
async function askOnce({ endpoint, doors, user, path, isOver, counts, signal }: Returning): Promise<number> {
  const { port, token } = endpoint;
  const head =
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nImpersonate-User: ${user}\r\n` +
    'Accept: application/json\r\nUser-Agent: longwatch-bench\r\n\r\n';
  const socket = await doors.pass(() => connectTls(port, 'http/1.1'));
  const leave = () => socket.destroy();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await new Promise<number>((resolve, reject) => {
      let text = '';
      let left: number | undefined;
      socket.on('error', reject);
      socket.on('close', () => reject(new Error('closed')));
      socket.on('data', (part: Buffer) => {
        if (left === undefined) {
          text += part.toString('latin1', 0, 4096);
          const end = text.indexOf('\r\n\r\n');
          if (end < 0) return;
          if (!text.startsWith('HTTP/1.1 200')) {
            counts.refused++;
            resolve(1000 * Number(/\r\nRetry-After: (\d+)/i.exec(text)?.[1] ?? 1));
            return;
          }
          const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? Number.POSITIVE_INFINITY);
          left = length - (part.length - end - 4);
        } else left -= part.length;
        text = part.toString('latin1');
        if (isOver(text, left)) resolve(0);
      });
      socket.write(head, 'latin1');
    });
  } finally {
    signal.removeEventListener('abort', leave);
    socket.destroy();
  }
}

/** So many handshakes at once: the clients share one thread, and a server does not wait for ever for any of them. */
class Doors {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(doors: number) {
    this.#free = doors;
  }

  async pass<T>(through: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await through();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}

/** Reads one pod again and again, from a process of its own. */
class Administrator implements Disposable {
  readonly #probe = fork(new URL('../../../test/support/victim/probe-process.ts', import.meta.url), []);

  static async start(pid: number, { port, token }: Endpoint): Promise<Administrator> {
    const administrator = new Administrator();
    administrator.#probe.send({
      kind: 'aim',
      pid,
      url: `https://127.0.0.1:${port}`,
      path: `${PODS}/${podName(1)}`,
      headers: { authorization: `Bearer ${token}` },
      isTrusting: true,
    } satisfies ProbeOrder);
    await administrator.worstMs();
    return administrator;
  }

  async worstMs(): Promise<number> {
    const answer = once(this.#probe, 'message') as Promise<[ProbeReport]>;
    this.#probe.send({ kind: 'worst' } satisfies ProbeOrder);
    return (await answer)[0].worstMs;
  }

  [Symbol.dispose](): void {
    this.#probe.kill('SIGKILL');
  }
}
