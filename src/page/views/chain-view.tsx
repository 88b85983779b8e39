/**
 * The chain, drawn left to right: the store, the watch caches, the clients; what flows moves. Below it the band of history: from
 * the compaction to the head, the window of every cache and the place of every watcher.
 */
import { chainOf, placeOf } from '../data/chain.ts';
import type { ClusterSampler } from '../data/cluster-sampler.ts';
import { resourceName, type Watch, type WatchCache } from '../data/inside.ts';
import { bytes, seconds, shortNumber } from '../parts/format.ts';
import { OnlyOurs } from './only-ours.tsx';

const ROW = 44;
const WIDTH = 960;
const CACHE_X = 300;
const CLIENT_X = 660;
const BOX = 250;

export function ChainView({ sampler }: { readonly sampler: ClusterSampler }) {
  const { lists, figures } = sampler.state;
  if (!lists) return <OnlyOurs state={sampler.state} what="what goes on between its store and its clients" />;
  const chain = chainOf(lists);
  const { head, caches, clients, edges } = chain;
  const height = Math.max(caches.length, clients.length, 3) * ROW + 24;
  const yOf = (count: number, i: number) => (height / (count + 1)) * (i + 1);
  const cacheAt = new Map(caches.map(({ metadata }, i) => [metadata.name, yOf(caches.length, i)]));
  const clientAt = new Map(clients.map(({ id }, i) => [id, yOf(clients.length, i)]));
  const middle = height / 2;
  const oldest = figures?.compactRevision ?? 0;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section class="scrolls" aria-label="Chain from the store to the clients" tabIndex={0}>
        <svg class="chain" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-labelledby="chain-title">
          <title id="chain-title">
            The store at revision {head}, {caches.length} watch caches, {clients.length} clients with{' '}
            {lists.watches.length} watches
          </title>
          {caches.map(({ metadata, status }) => (
            <path
              key={metadata.name}
              class={`edge live ${status.eventsPerSecond > 0 ? 'flows' : ''}`}
              d={curve(190, middle, CACHE_X, cacheAt.get(metadata.name)!)}
            />
          ))}
          {edges.map(({ cache, client, state, count }) => (
            <path
              key={`${cache} ${client}`}
              class={`edge ${state.toLowerCase()} flows`}
              stroke-width={Math.min(6, 1.5 + Math.log2(count))}
              d={curve(CACHE_X + BOX, cacheAt.get(cache)!, CLIENT_X, clientAt.get(client)!)}
            />
          ))}
          <g class="node store">
            <rect x={10} y={middle - 48} width={180} height={96} rx={8} />
            <text x={24} y={middle - 22} class="name">
              store
            </text>
            <text x={24} y={middle}>
              revision {head}
            </text>
            <text x={24} y={middle + 18}>
              compacted to {oldest}
            </text>
            <text x={24} y={middle + 36}>
              {figures?.storeBytes === undefined ? '' : bytes(figures.storeBytes)}
            </text>
          </g>
          {caches.map(({ metadata, status }) => (
            <g key={metadata.name} class="node">
              <rect x={CACHE_X} y={cacheAt.get(metadata.name)! - 18} width={BOX} height={36} rx={6} />
              <text x={CACHE_X + 10} y={cacheAt.get(metadata.name)! - 3} class="name">
                {cut(metadata.name, 34)}
              </text>
              <text x={CACHE_X + 10} y={cacheAt.get(metadata.name)! + 12}>
                {shortNumber(status.objects)} objects, {shortNumber(status.eventsPerSecond)}/s, {status.watchers}{' '}
                watchers
              </text>
            </g>
          ))}
          {clients.map(({ id, agent, user, watches, worst }) => (
            <g key={id} class={`node ${worst.toLowerCase()}`} data-client={agent}>
              <rect x={CLIENT_X} y={clientAt.get(id)! - 18} width={BOX + 40} height={36} rx={6} />
              <text x={CLIENT_X + 10} y={clientAt.get(id)! - 3} class="name">
                {cut(agent, 38)}
              </text>
              <text x={CLIENT_X + 10} y={clientAt.get(id)! + 12}>
                {cut(user, 22)}: {watches.length} watches, {worst}
              </text>
            </g>
          ))}
        </svg>
      </section>
      <p class="quiet">
        {chain.hiddenCaches > 0 && `${chain.hiddenCaches} quiet caches are not drawn. `}
        {chain.hiddenClients > 0 && `${chain.hiddenClients} more clients are not drawn.`}
      </p>
      <Band caches={caches} watches={lists.watches} oldest={oldest} head={head} />
    </>
  );
}

type BandProps = {
  readonly caches: readonly WatchCache[];
  readonly watches: readonly Watch[];
  readonly oldest: number;
  readonly head: number;
};

function Band({ caches, watches, oldest, head }: BandProps) {
  const x = (revision: number) => 220 + placeOf(revision, oldest, head) * 720;
  const height = caches.length * 26 + 44;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class="scrolls" aria-label="Band of history" tabIndex={0}>
      <h3>History, from the compaction to the head</h3>
      <svg class="band" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-labelledby="band-title">
        <title id="band-title">
          Revisions {oldest} to {head}:{' '}
          {watches.map(({ metadata, status }) => `${metadata.name} is ${status.behind.revisions} behind`).join(', ')}
        </title>
        <rect class="history" x={220} y={18} width={720} height={height - 30} />
        <text x={220} y={12}>
          {oldest} compacted
        </text>
        <text x={940} y={12} text-anchor="end">
          head {head}
        </text>
        {[10, 1000, 100_000, 10_000_000]
          .filter((behind) => behind < head - oldest)
          .map((behind) => (
            <g key={behind} class="tick">
              <path d={`M${x(head - behind)} 18V${height - 12}`} />
              <text x={x(head - behind)} y={height} text-anchor="middle">
                {shortNumber(behind)} behind
              </text>
            </g>
          ))}
        {caches.map(({ metadata, status }, i) => {
          const y = 24 + i * 26;
          const from = x(Math.max(oldest, status.window.fromRevision));
          return (
            <g key={metadata.name}>
              <text x={212} y={y + 14} text-anchor="end">
                {cut(metadata.name, 32)}
              </text>
              <rect
                class="window"
                x={from}
                y={y + 3}
                width={Math.max(2, x(status.window.toRevision) - from)}
                height={14}
                rx={3}
              >
                <title>
                  {metadata.name}: window of {status.window.events} changes, {status.window.fromRevision} to{' '}
                  {status.window.toRevision}
                </title>
              </rect>
              {watches
                .filter(({ spec }) => resourceName(spec) === metadata.name)
                .map(({ metadata: { name }, status: at }) => (
                  <rect
                    key={name}
                    class={`place ${at.state.toLowerCase()}`}
                    data-watch={name}
                    x={x(at.behind.revisions === 0 ? status.window.toRevision : at.lastRevision) - 2}
                    y={y}
                    width={4}
                    height={20}
                    rx={2}
                  >
                    <title>
                      {name}: {at.state}, {at.behind.revisions} revisions and {seconds(at.behind.seconds)} behind
                    </title>
                  </rect>
                ))}
            </g>
          );
        })}
      </svg>
    </section>
  );
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1.toFixed(1)}C${middle} ${y1.toFixed(1)} ${middle} ${y2.toFixed(1)} ${x2} ${y2.toFixed(1)}`;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
