/**
 * `docs/scale.md` from measured figures: what a cluster of so many nodes asks of a server.
 *
 *     npm run bench -- --json cluster > cluster.json
 *     node scripts/scale.mjs cluster.json     takes the figures over into bench/server/cluster/figures.json, and writes the page
 *     node scripts/scale.mjs --played larger.json     the same of a run of another size, beside those that are there
 *     node scripts/scale.mjs --long long.json      of a run of ten minutes or more, what was held half way and at its end
 *     node scripts/scale.mjs                  writes the page from those that are there
 *
 * The rates are those that bench/server/cluster/ plays, and the page says them; everything else on it is computed here. A test holds
 * the page to what this makes.
 */
import '../bin/node-version.cjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const FIGURES = new URL('../bench/server/cluster/figures.json', import.meta.url);
const PAGE = new URL('../docs/scale.md', import.meta.url);

/** Figure, and the row of the bench that it is: what it says behind `cluster: `, and its unit. */
const rows = {
  nodes: ['nodes', ''],
  pods: ['pods', ''],
  watches: ['watches', ''],
  writesPerSecond: ['writes a second', ''],
  writesP99Ms: ['writes, p99', 'ms'],
  readsP99Ms: ['reads, p99', 'ms'],
  eventsPerSecond: ['events delivered a second', ''],
  eventP99Ms: ['event after its write left, p99', 'ms'],
  generatorP99Ms: ['delay of the load generator itself, p99', 'ms'],
  cores: ['CPU of the server', 'cores'],
  emptyMiB: ['memory of an empty server', 'MiB'],
  podsMiB: ['memory with the pods alone', 'MiB'],
  connectedMiB: ['memory with everybody connected', 'MiB'],
  endMiB: ['memory at the end', 'MiB'],
  cutOff: ['watches cut off', ''],
  gone: ['410s', ''],
  leaseMicros: ['renewal of a lease', 'CPU µs'],
  podMicros: ['life of a pod', 'CPU µs'],
  sliceEventMicros: ['event of a slice', 'CPU µs'],
  sliceEventBytes: ['event of a slice', 'bytes'],
};

/** Of a run of another size. */
const playedRows = {
  nodes: rows.nodes,
  watches: rows.watches,
  writesPerSecond: rows.writesPerSecond,
  writesP50Ms: ['writes, p50', 'ms'],
  writesP99Ms: rows.writesP99Ms,
  eventsPerSecond: rows.eventsPerSecond,
  eventP50Ms: ['event after its write left, p50', 'ms'],
  eventP99Ms: rows.eventP99Ms,
  cores: rows.cores,
  generatorCores: ['CPU of the load generator', 'cores'],
  connectedMiB: rows.connectedMiB,
  endMiB: rows.endMiB,
  seconds: ['seconds', ''],
  cutOff: rows.cutOff,
  gone: rows.gone,
};

/** Of a run that is longer than the history that the store keeps. */
const longRows = {
  nodes: rows.nodes,
  seconds: playedRows.seconds,
  halfMiB: ['memory held half way', 'MiB'],
  heapHalfMiB: ['heap half way', 'MiB'],
  buffersHalfMiB: ['buffers half way', 'MiB'],
  endMiB: ['memory held at the end', 'MiB'],
  heapEndMiB: ['heap at the end', 'MiB'],
  buffersEndMiB: ['buffers at the end', 'MiB'],
  cutOff: rows.cutOff,
};

/** As bench/lib/cluster-shape.ts has them; a test compares. */
export const rates = {
  podsPerNode: 20,
  churnPerPodSecond: 20 / 100_000,
  servedShare: 0.25,
  leaseSeconds: 10,
  nodeStatusSeconds: 300,
};
/** Of one thread, beyond which those who wait begin to notice each other. */
const BUSY_CORES = 0.7;
/** What p99 of writes and events should be below, at any size. */
const PROMPT_MS = 100;
/** Of the machine, above which figures are not to be quoted. */
const BUSY_LOAD = 2;
const SIZES = [100, 1000, 5000, 50_000];

export function figuresFrom(bench) {
  const { date, node, cpu, load } = bench;
  return { date: date.slice(0, 10), node, cpu, load, ...valuesOf(rows, bench) };
}

export function longFrom(bench) {
  return { date: bench.date.slice(0, 10), ...valuesOf(longRows, bench) };
}

export function playedFrom(bench) {
  return { date: bench.date.slice(0, 10), load: bench.load, ...valuesOf(playedRows, bench) };
}

function valuesOf(wanted, { serverRows }) {
  const of = ([what, unit]) => {
    const row = serverRows.find((one) => one.what === `cluster: ${what}` && one.unit === unit);
    if (!row)
      throw new Error(`Cannot take the figures over: there is no row ${JSON.stringify(what)} in ${unit || 'numbers'}`);
    return Number(row.server[0].toPrecision(4));
  };
  return Object.fromEntries(Object.entries(wanted).map(([name, row]) => [name, of(row)]));
}

/** What `nodes` nodes ask for. */
export function demand(figures, nodes) {
  const pods = nodes * rates.podsPerNode;
  const leases = nodes / rates.leaseSeconds + nodes / rates.nodeStatusSeconds;
  const lives = pods * rates.churnPerPodSecond;
  const slices = 2 * rates.servedShare * lives;
  const sliceEvents = slices * nodes;
  const micros = {
    leases: leases * figures.leaseMicros,
    lives: lives * figures.podMicros,
    slices: slices * figures.leaseMicros + sliceEvents * figures.sliceEventMicros,
  };
  const perPodMiB = Math.max(0, figures.podsMiB - figures.emptyMiB) / figures.pods;
  const perNodeMiB = Math.max(0, figures.connectedMiB - figures.podsMiB) / figures.nodes;
  return {
    pods,
    watches: Math.round((nodes * figures.watches) / figures.nodes),
    writes: leases + slices + 5 * lives, // of a pod: to delete, to create, to bind, its status, to let it go
    sliceEvents,
    cores: (micros.leases + micros.lives + micros.slices) / 1e6,
    shares: micros,
    memoryMiB: figures.emptyMiB + pods * perPodMiB + nodes * perNodeMiB,
    networkMiB: (sliceEvents * figures.sliceEventBytes) / 1024 / 1024,
  };
}

/** The most nodes for which one thread is not too busy. */
export function carried(figures) {
  let nodes = 1;
  while (demand(figures, nodes + 1).cores <= BUSY_CORES) nodes++;
  return nodes;
}

/** CPU is dearer where others have the caches, and latencies are theirs. */
function busyNote({ load }) {
  if (Number(load) <= BUSY_LOAD) return '';
  return `
The machine was busy with other work: latencies are those of waiting for a core, and CPU is up to three times what it is on a
quiet one. What follows is on the safe side by as much.
`;
}

/** Up to which size nobody waited long, of those that were played. */
function promptPart({ played = [], nodes, writesP99Ms, eventP99Ms }) {
  const all = [{ nodes, writesP99Ms, eventP99Ms }, ...played].sort((a, b) => a.nodes - b.nodes);
  const prompt = all.filter((run) => Math.max(run.writesP99Ms, run.eventP99Ms) < PROMPT_MS).at(-1);
  const slow = prompt && all.find((run) => run.nodes > prompt.nodes);
  if (!prompt) return '';
  const beyond = slow
    ? `, with ${slow.nodes} they were not: an event for every proxy holds up what comes behind it`
    : '';
  return `\n  Of the clusters that were played, with ${prompt.nodes} nodes p99 of writes and of events were below ${PROMPT_MS} ms${beyond}.`;
}

function playedPart({ played = [] }, number, memory) {
  if (played.length === 0) return '';
  const lines = played.map((run) =>
    [
      run.nodes,
      run.watches,
      run.seconds,
      `${number(run.writesPerSecond)}: ${number(run.writesP50Ms)}, ${number(run.writesP99Ms)}`,
      `${number(run.eventsPerSecond)}: ${number(run.eventP50Ms)}, ${number(run.eventP99Ms)}`,
      `${number(run.cores)} + ${number(run.generatorCores)}`,
      `${memory(run.connectedMiB)}, ${memory(run.endMiB)}`,
      run.cutOff + run.gone,
      `${run.date}, ${run.load}`,
    ].join(' | '),
  );
  return `
## What one thread carried

Clusters of other sizes, played by the same benchmark on two cores, of which the load generator takes what is left:

| nodes | watches | seconds | writes/s: p50, p99 ms | events/s: p50, p99 ms | cores: server + generator | memory: first, last | cut off, 410 | when, load before |
| ----- | ------- | ------- | --------------------- | --------------------- | ------------------------- | ------------------- | ------------ | ----------------- |
${lines.map((line) => `| ${line} |`).join('\n')}
`;
}

function longPart({ long }, number) {
  if (!long) return '';
  return `
Memory grows with the history that the store keeps, five to ten minutes of it, and is level then: ${long.nodes} nodes for ${number(long.seconds / 60)}
minutes (${long.date}) held ${number(long.halfMiB)} MiB half way and ${number(long.endMiB)} at the end, of which the heap was ${number(long.heapHalfMiB)} and ${number(long.heapEndMiB)}, buffers ${number(long.buffersHalfMiB)} and
${number(long.buffersEndMiB)}; ${long.cutOff} watches were cut off.
`;
}

export function scalePage(figures) {
  const number = (value) => (value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(2))));
  const memory = (mib) => (mib >= 1024 ? `${number(mib / 1024)} GiB` : `${number(mib)} MiB`);
  const played = demand(figures, figures.nodes);
  const most = carried(figures);
  const table = SIZES.map((nodes) => {
    const { pods, watches, writes, sliceEvents, cores, memoryMiB, networkMiB } = demand(figures, nodes);
    const servers = Math.max(1, Math.ceil(cores / BUSY_CORES));
    return `| ${[nodes, pods, watches, number(writes), number(sliceEvents), number(cores), memory(memoryMiB), memory(networkMiB), servers].join(' | ')} |`;
  });
  const { leases, lives, slices } = demand(figures, most).shares;
  const share = (micros) => `${Math.round((100 * micros) / (leases + lives + slices))} %`;
  return `# Scale

What a cluster of so many nodes asks of the API, from the cost of its parts. Made by \`scripts/scale.mjs\` from what
\`npm run bench -- cluster\` measured; do not edit it by hand.

## What is counted

A node renews its Lease every ${rates.leaseSeconds} s and writes its status every ${rates.nodeStatusSeconds / 60} minutes; its kubelet watches its own pods, its Node, a ConfigMap, a
Secret and all Services, its proxy all Services and EndpointSlices. There are ${rates.podsPerNode} pods of 4.8 KB to a node, and of 100,000 of
them ${rates.churnPerPodSecond * 100_000} are replaced every second: deleted, created, bound, reported as running, let go. A quarter of them are behind a Service, and
each of these changes a slice twice, which every proxy is told of. Ten controllers watch everything. Not counted: lists (a
whole LIST of 10,000 pods is about 40 ms), events that kubelets write, custom resources, webhooks.

## What its parts cost

On ${figures.date}, Node ${figures.node}, ${figures.cpu}, at a load of ${figures.load} before; ${figures.nodes} nodes, ${figures.pods} pods, ${figures.watches} watches:

| what | measured |
| ---- | -------- |
| renewal of a lease, with the events of it | ${number(figures.leaseMicros)} µs of CPU |
| life of a pod, all its writes and events | ${number(figures.podMicros)} µs of CPU |
| event of a slice, to one proxy | ${number(figures.sliceEventMicros)} µs of CPU, ${number(figures.sliceEventBytes)} bytes |
| a pod in memory | ${number((Math.max(0, figures.podsMiB - figures.emptyMiB) * 1024) / figures.pods)} KiB |
| a node in memory: its objects, two connections, seven watches | ${number((Math.max(0, figures.connectedMiB - figures.podsMiB) * 1024) / figures.nodes)} KiB |
| an empty server | ${memory(figures.emptyMiB)} |
${busyNote(figures)}
The arithmetic gives ${number(played.cores)} cores for that cluster, and its run took ${number(figures.cores)}: ${number(figures.writesPerSecond)} writes a second (p99 ${number(figures.writesP99Ms)} ms),
${number(figures.eventsPerSecond)} events delivered a second (p99 ${number(figures.eventP99Ms)} ms after the write left), reads p99 ${number(figures.readsP99Ms)} ms, with a load
generator that was ${number(figures.generatorP99Ms)} ms late itself at its 99th percentile; memory ${memory(figures.connectedMiB)} at the beginning and ${memory(figures.endMiB)} at the end;
${figures.cutOff} watches cut off, ${figures.gone} times 410.
${playedPart(figures, number, memory)}${longPart(figures, number)}
## What clusters ask for

| nodes | pods | watches | writes/s | slice events/s | cores | memory | network of slices/s | servers |
| ----- | ---- | ------- | -------- | -------------- | ----- | ------ | ------------------- | ------- |
${table.join('\n')}

Servers are threads that are ${Math.round(BUSY_CORES * 100)} % busy; beyond that p99 is no longer that of a quiet one.

## Where the walls are

- **One thread has the CPU for ${most} nodes** of this kind, by the arithmetic. At ${most}, ${share(leases)} of its work are leases, ${share(lives)} pods and ${share(slices)} slices.${promptPart(figures)}
- **Leases grow with the nodes, slices with their square**: each of ${number(demand(figures, 5000).sliceEvents / 5000)} changes a second in a cluster of 5,000 goes to 5,000 proxies. What
  helps is fewer changes (pods that do not come and go behind a Service), not a faster server.
- **Several servers** share watches, reads and the delivery of events, each with a cache of its own: the memory of pods is
  needed in each. They need an etcd, and every one of them hears of every write. An etcd of one member took 5,000 to 8,000
  writes a second in [our benchmarks](../bench/README.md); ${number(demand(figures, 50_000).writes)} a second, of which most are leases, are what 50,000 nodes write.
- **Memory** is the pods' until the nodes' connections outweigh them, and both grow with the nodes alone.
`;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values, positionals } = parseArgs({
    options: { played: { type: 'string' }, long: { type: 'string' } },
    allowPositionals: true,
  });
  const read = (file) => {
    const text = readFileSync(file, 'utf8');
    return JSON.parse(text.slice(text.indexOf('{')));
  };
  let figures = read(FIGURES);
  if (positionals[0]) figures = { ...figures, ...figuresFrom(read(positionals[0])) };
  if (values.played) {
    const run = playedFrom(read(values.played));
    const others = (figures.played ?? []).filter(({ nodes }) => nodes !== run.nodes);
    figures = { ...figures, played: [...others, run].sort((a, b) => a.nodes - b.nodes) };
  }
  if (values.long) figures = { ...figures, long: longFrom(read(values.long)) };
  writeFileSync(FIGURES, `${JSON.stringify(figures, undefined, 2)}\n`);
  writeFileSync(PAGE, scalePage(figures));
}
