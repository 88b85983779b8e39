/**
 * `npm run bench -- incumbent-faults`: what informers do when something goes wrong, `@kubernetes/client-node`
 * beside Longwatch, against the same server through the same faults. Takes about three quarters of a minute.
 *
 * Each is synced, struck once, and then others write: four changes of one object and a new one. Who has the last state in
 * the end has recovered; the changes its handlers were not told, though it recovered, were lost. No figure here is a
 * time that matters: the questions are yes or no.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultProxy, startFaultProxy, startTestServer } from '../../src/testing/index.ts';
import { HurriedClock } from '../../test/support/hurried-clock.ts';
import { printTable } from '../lib/table.ts';
import { type Contender, type Copy, contenders, startCopy } from './incumbent-faults-clients.ts';
import { type Quiet, quietClientNode, quietLongwatch, REAL_S } from './incumbent-faults-quiet.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const CHANGES = ['1', '2', '3', '4'];

type Fault = {
  readonly what: string;
  readonly strike: (proxy: FaultProxy) => void;
  /** How long we look whether it recovers: 9 s, which is more than the restart of the example needs. */
  readonly watchMs?: number;
  /** Of Longwatch's clock: 1. */
  readonly speed?: number;
};

const faults: readonly Fault[] = [
  { what: 'the connection is reset', strike: (proxy) => proxy.cut() },
  {
    what: '503, twice',
    strike: (proxy) => {
      proxy.answer({ code: 503, times: 2, text: 'upstream is not ready' });
      proxy.cut();
    },
    watchMs: 18_000,
  },
  {
    what: '429 with Retry-After, twice',
    strike: (proxy) => {
      proxy.answer({ code: 429, times: 2, retryAfterSeconds: 1 });
      proxy.cut();
    },
    watchMs: 18_000,
  },
  { what: '410 in the stream', strike: (proxy) => void proxy.sendError('watch', 410) },
  { what: '500 in the stream', strike: (proxy) => void proxy.sendError('watch', 500) },
  { what: 'an event comes garbled', strike: (proxy) => void proxy.garble('watch') },
  { what: 'an event comes by half', strike: (proxy) => void proxy.truncate('watch') },
  // Longwatch finds it by a silence of 75 s; by its clock here, a tenth of that.
  { what: 'half-open: silence', strike: (proxy) => void proxy.stall('any'), watchMs: 36_000, speed: 10 },
];

type Outcome = {
  readonly fault: string;
  readonly contender: Contender;
  readonly cells: string[];
};

async function suffer(fault: Fault, contender: Contender): Promise<Outcome> {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  await server.client.create(MAPS, { metadata: { name: 'one' }, data: { v: '0' } });
  const clock = new HurriedClock(fault.speed ?? 1);
  await using copy = await startCopy(contender, { kubeconfig: proxy.kubeconfigPath, clock });
  while (!proxy.open.some(({ kind, code }) => kind === 'watch' && code === 200)) await sleep(10);
  const before = proxy.requests.length;
  const begin = performance.now();
  fault.strike(proxy);
  for (const v of CHANGES) await server.client.patch(`${MAPS}/one`, { data: { v } });
  await server.client.create(MAPS, { metadata: { name: 'another' }, data: { v: 'new' } });
  const isCurrent = () => copy.valueOf('one') === CHANGES.at(-1) && copy.valueOf('another') === 'new';
  while (!isCurrent() && performance.now() - begin < (fault.watchMs ?? 9_000)) await sleep(20);
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  const asked = proxy.requests.slice(before);
  const count = (kind: string) => asked.filter((request) => request.kind === kind).length;
  const recovered = isCurrent() ? `yes, ${seconds} s` : `no, not in ${seconds} s`;
  return {
    ...{ fault: fault.what, contender },
    cells: [recovered, `${count('list')}, ${count('watch')}`, lostBy(copy), copy.errors[0]?.slice(0, 60) ?? ''],
  };
}

/** Changes that handlers were not told of. */
function lostBy({ told }: Copy): string {
  const all = [...CHANGES.map((v) => `one ${v}`), 'another new'];
  return `${all.filter((state) => !told.includes(state)).length} of ${all.length}`;
}

/** A handler that takes 20 ms, and throws once; others write as fast as they can. */
async function sufferHandlers(contender: Contender): Promise<string[]> {
  await using server = await startTestServer();
  await using proxy = await startFaultProxy(server);
  await server.client.create(MAPS, { metadata: { name: 'one' }, data: { v: '0' } });
  const count = { running: 0, most: 0, unhandled: 0 };
  const finished: number[] = [];
  const onUnhandled = () => void count.unhandled++;
  process.on('unhandledRejection', onUnhandled);
  const writes = 100;
  try {
    await using copy = await startCopy(contender, {
      kubeconfig: proxy.kubeconfigPath,
      onChange: async (_name, value) => {
        count.most = Math.max(count.most, ++count.running);
        await sleep(Number(value) % 3 === 0 ? 40 : 10);
        count.running--;
        finished.push(Number(value));
        if (value === '7') throw new Error('a bug in the handler');
      },
    });
    for (let v = 1; v <= writes; v++) await server.client.patch(`${MAPS}/one`, { data: { v: String(v) } });
    while (copy.valueOf('one') !== String(writes)) await sleep(5);
    const isAhead = finished.at(-1) !== writes;
    while (finished.at(-1) !== writes && count.running > 0) await sleep(5);
    while (count.running > 0) await sleep(5);
    const inOrder = finished.every((value, i) => i === 0 || value > finished[i - 1]!);
    return [
      `${count.most}`,
      inOrder ? 'yes' : 'no',
      isAhead ? 'yes' : 'no',
      count.unhandled > 0 ? 'an unhandled rejection, which ends a process' : 'told to onError; the next event came',
    ];
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

function quietCells({ watches, lists, resumedAt, lastVersion }: Quiet, retained: number): string[] {
  const behind = resumedAt === undefined ? undefined : lastVersion - resumedAt;
  const needs = behind === undefined ? 'not taken up' : behind > retained ? 'gone: it must list again' : 'still there';
  return [`${watches} watches, ${lists} lists`, behind === undefined ? '' : `${behind} s old`, needs];
}

export async function printIncumbentFaults(isJson: boolean): Promise<void> {
  // client-node's own rejections must not end the measurement of it.
  process.on('unhandledRejection', () => {});
  const pairs = faults.flatMap((fault) => contenders.map((contender) => ({ fault, contender })));
  const quiet = Promise.all([quietClientNode(), quietLongwatch()]);
  const outcomes = await Promise.all(pairs.map(({ fault, contender }) => suffer(fault, contender)));
  const [nodeQuiet, ourQuiet] = await quiet;
  const handlers: [Contender, string[]][] = [];
  for (const contender of ['client-node', 'longwatch'] as const)
    handlers.push([contender, await sufferHandlers(contender)]);
  if (isJson) {
    console.log(JSON.stringify({ outcomes, nodeQuiet, ourQuiet, handlers }, undefined, 2));
    return;
  }
  printTable(
    ['fault', 'informer', 'has the last state', 'lists, watches since', 'changes not told', 'it says'],
    outcomes.map(({ fault, contender, cells }) => [fault, contender, ...cells]),
  );
  console.log('\nA quiet half hour, then a reset; history is kept for five minutes\n');
  printTable(
    ['informer', 'observed', 'asked for', 'its version', 'the version was'],
    [
      ['client-node', `${REAL_S} s, real`, ...quietCells(nodeQuiet, 300)],
      ['client-node', 'half an hour, extrapolated', ...quietCells(extrapolated(nodeQuiet), 300)],
      ['longwatch', 'half an hour, by a clock turned by hand', ...quietCells(ourQuiet, 300)],
    ],
  );
  console.log('\nA handler that takes 10 to 40 ms and throws once, a hundred changes of one object\n');
  printTable(
    ['informer', 'handlers at once', 'in order', 'store ahead of handlers', 'what was thrown'],
    handlers.map(([contender, cells]) => [contender, ...cells]),
  );
}

/** It does in half an hour what it did in 35 s, as often; without bookmarks its version stays where it was. */
function extrapolated({ watches, lists, resumedAt, lastVersion }: Quiet): Quiet {
  const more = 1_800 - REAL_S;
  const reopened = Math.round(((watches - 1) * 1_800) / REAL_S);
  return { watches: 1 + reopened, lists, resumedAt, lastVersion: lastVersion + more };
}
