/**
 * Lists of 10,000 pods: whole, in pages, by label, by node, and as the opening of a watch. One client asks again and
 * again. Bare Node sends the same bytes from one buffer; for a list that is filtered it has no counterpart.
 */
import { type Done, interleave, median } from '../../lib/measure.ts';
import type { Phase } from '../../lib/server-process.ts';
import {
  perCpuSecond,
  phaseRow,
  type ServerBenchmark,
  type ServerContext,
  type ServerRow,
} from '../../lib/server-report.ts';
import { Client, type Endpoint } from '../load/server-client.ts';
import { GROUPS, nodeName, PODS, preparePods } from '../load/server-data.ts';
import { contestants, type Pair, startPair } from '../load/server-pair.ts';
import { Watchers } from '../load/server-watchers.ts';

export const serverLists: ServerBenchmark = { name: 'server-lists', run };

const MB = 1e6;
const PAGE = 500;
const BARE_SHARE = 0.7;
const WATCH_LIST_TIMES = 1.3;
/** An object found by an index, against one of all. */
const INDEXED_TIMES = 1.5;
/** Lists by an index are so much shorter than whole ones; and how many it takes until their code is compiled. */
const SMALL_TIMES = 40;
const WARM = 1500;
/** The same of pages: each is a request. */
const WARM_LISTS = 40;
const watchListPath = `${PODS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;

async function run(context: ServerContext): Promise<ServerRow[]> {
  const { isQuick, say } = context;
  const pods = isQuick ? 5000 : 10_000;
  const times = isQuick ? 4 : 8;
  const rounds = isQuick ? 2 : 3;
  const limitMs = isQuick ? 3000 : 10_000;
  const data = await preparePods(context, pods, GROUPS);
  await using pair = await startPair(context, data);
  const { listBytes } = pair;

  const whole = (name: 'server' | 'bare') => listWhole(pair, name, times);
  const paged = (name: 'server' | 'bare') => listPaged(pair, name, times, Math.ceil(pods / PAGE));
  const phase = (what: string, name: 'server' | 'bare', work: () => Promise<Done>) =>
    pair[name].process.measure(`${what} ${name}`, work);

  say(`list of ${pods} pods, ${(listBytes / MB).toFixed(1)} MB`);
  await whole('server');
  await whole('bare');
  const wholes = await interleave(rounds, contestants, (name) => phase('list', name, () => whole(name)), limitMs);
  say('list in pages');
  for (const name of contestants) await listPaged(pair, name, WARM_LISTS, Math.ceil(pods / PAGE));
  const pages = await interleave(rounds, contestants, (name) => phase('pages', name, () => paged(name)), limitMs);

  say('watch-list beside list, filtered lists');
  const { endpoint } = pair.server;
  const filtering = await Client.open(endpoint);
  const byLabel = `${PODS}?labelSelector=group%3Dgroup-07`;
  const byNode = `${PODS}?fieldSelector=spec.nodeName%3D${nodeName(7)}`;
  const kinds = {
    'list again': () => listsAnew(endpoint, times),
    'watch-list': () => watchLists(endpoint, times, pods),
    'by label': () => listFiltered(filtering, byLabel, times * SMALL_TIMES),
    'by node': () => listFiltered(filtering, byNode, times * SMALL_TIMES),
    'pages by label': () => listMost(endpoint, times),
  };
  const names = Object.keys(kinds) as (keyof typeof kinds)[];
  // The first filtered list reads what its selector asks for out of every object, and has an index made.
  const first = await phase('first by label', 'server', () => listFiltered(filtering, byLabel, 1));
  for (const path of [byLabel, byNode]) await listFiltered(filtering, path, WARM); // until the code is compiled
  const others = await interleave(rounds, names, (kind) => phase(kind, 'server', kinds[kind]), limitMs);
  filtering.close();

  const mbPerCpuSecond = (one: Phase) => (perCpuSecond(one) * listBytes) / MB;
  const milliseconds = (one: Phase) => one.cpuMicrosPerOperation / 1000;
  const more = { better: 'higher', target: { ratio: BARE_SHARE } } as const;
  const listMs = median(others['list again'].map(milliseconds));
  const matching = `${pods / GROUPS} of ${pods} match`;
  const firstMs = milliseconds(first).toFixed(0);
  const perObject = (by: string, of: readonly Phase[]) =>
    phaseRow(
      `LIST by ${by}, per object to LIST`,
      '× CPU',
      { server: of },
      (one) => (milliseconds(one) * GROUPS) / listMs,
      {
        target: { value: INDEXED_TIMES },
      },
    );
  return [
    phaseRow(`LIST of ${pods} pods`, 'MB/CPU-s', wholes, mbPerCpuSecond, {
      ...more,
      note: `${(listBytes / MB).toFixed(1)} MB in ${median(wholes.server.map(milliseconds)).toFixed(1)} ms of CPU`,
    }),
    phaseRow(`the same in pages of ${PAGE}`, 'MB/CPU-s', pages, mbPerCpuSecond, more),
    phaseRow('LIST by label', 'CPU ms', { server: others['by label'] }, milliseconds, {
      note: `${matching}; the very first list with a selector took ${firstMs} ms`,
    }),
    perObject('label', others['by label']),
    phaseRow('LIST by spec.nodeName', 'CPU ms', { server: others['by node'] }, milliseconds, { note: matching }),
    perObject('spec.nodeName', others['by node']),
    phaseRow(
      `nine in ten by label, in pages of ${PAGE}, to LIST`,
      '× CPU',
      { server: others['pages by label'] },
      (one) => milliseconds(one) / listMs,
    ),
    phaseRow('watch-list to LIST', '× CPU', { server: others['watch-list'] }, (one) => milliseconds(one) / listMs, {
      target: { value: WATCH_LIST_TIMES },
      note: `LIST took ${listMs.toFixed(1)} ms of CPU in these rounds`,
    }),
  ];
}

/** All but ten groups, page by page. */
function listMost(endpoint: Endpoint, times: number): Promise<Done> {
  const others = Array.from({ length: 10 }, (_, i) => `group-0${i}`).join(',');
  const path = `${PODS}?limit=${PAGE}&labelSelector=${encodeURIComponent(`group notin (${others})`)}`;
  return repeat(endpoint, times, async (client) => {
    let token: string | undefined = '';
    do {
      const { body } = await client.must('GET', token === '' ? path : `${path}&continue=${encodeURIComponent(token!)}`);
      token = /"continue":"([^"]*)"/.exec(body.toString('latin1', 0, 1000))?.[1];
    } while (token !== undefined);
  });
}

async function listWhole(pair: Pair, name: 'server' | 'bare', times: number): Promise<Done> {
  const path = name === 'server' ? PODS : '/list';
  return repeat(pair[name].endpoint, times, async (client) => {
    const { bytes } = await client.must('GET', path);
    if (bytes !== pair.listBytes) throw new Error(`Cannot compare: ${bytes} bytes came instead of ${pair.listBytes}`);
  });
}

async function listPaged(pair: Pair, name: 'server' | 'bare', times: number, pages: number): Promise<Done> {
  return repeat(pair[name].endpoint, times, async (client) => {
    let token = '';
    for (let page = 0; page < pages; page++) {
      const part = (index: number) => Math.floor((pair.listBytes * index) / pages);
      const path = `${PODS}?limit=${PAGE}${token && `&continue=${encodeURIComponent(token)}`}`;
      const bare = `/list?from=${part(page)}&to=${part(page + 1)}`;
      const { body } = await client.must('GET', name === 'server' ? path : bare);
      token = /"continue":"([^"]*)"/.exec(body.toString('latin1', 0, 1000))?.[1] ?? '';
    }
  });
}

/** On a connection that stands: a handshake costs as much as several of them. */
function listFiltered(client: Client, path: string, times: number): Promise<Done> {
  return repeated(times, () => client.must('GET', path));
}

/** Each on a connection of its own, as watch-lists are: the handshake is in both. */
async function listsAnew(endpoint: Endpoint, times: number): Promise<Done> {
  const latenciesMs: number[] = [];
  for (let i = 0; i < times; i++)
    latenciesMs.push(...(await repeat(endpoint, 1, (client) => client.must('GET', PODS))).latenciesMs);
  return { operations: times, latenciesMs };
}

/** Each ends with the bookmark that says the state is complete. */
async function watchLists(endpoint: Endpoint, times: number, pods: number): Promise<Done> {
  const latenciesMs: number[] = [];
  for (let i = 0; i < times; i++) {
    const begin = performance.now();
    using watchers = await Watchers.overHttp1(endpoint, [watchListPath]);
    await watchers.reached(pods + 1);
    latenciesMs.push(performance.now() - begin);
  }
  return { operations: times, latenciesMs };
}

async function repeat(endpoint: Endpoint, times: number, work: (client: Client) => Promise<unknown>): Promise<Done> {
  const client = await Client.open(endpoint);
  const done = await repeated(times, () => work(client));
  client.close();
  return done;
}

async function repeated(times: number, work: () => Promise<unknown>): Promise<Done> {
  const latenciesMs: number[] = [];
  for (let i = 0; i < times; i++) {
    const begin = performance.now();
    await work();
    latenciesMs.push(performance.now() - begin);
  }
  return { operations: times, latenciesMs };
}
