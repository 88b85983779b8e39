/** Every open watch: who has it, of what, and how far behind it is, with the last minute of its lag and its events. */
import { useState } from 'preact/hooks';
import type { ClusterSampler } from '../data/cluster-sampler.ts';
import { resourceName, type Watch } from '../data/inside.ts';
import { ago, bytes, seconds, shortNumber } from '../parts/format.ts';
import { Sparkline } from '../parts/plot.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { OnlyOurs } from './only-ours.tsx';

export function WatchesView({ sampler }: { readonly sampler: ClusterSampler }) {
  const [filter, setFilter] = useState('');
  const { lists } = sampler.state;
  if (!lists) return <OnlyOurs state={sampler.state} what="who watches what, and how far behind each is" />;
  const wanted = filter.toLowerCase();
  const rows = lists.watches.filter((watch) => textOf(watch).includes(wanted));
  const columns: readonly Column<Watch>[] = [
    { title: 'Watch', show: ({ metadata }) => metadata.name, by: ({ metadata }) => metadata.name },
    { title: 'State', show: ({ status }) => <State of={status.state} />, by: ({ status }) => status.state },
    {
      title: 'Lag',
      isNumber: true,
      show: ({ status }) => seconds(status.behind.seconds),
      by: ({ status }) => status.behind.seconds * 1e9 + status.behind.revisions,
    },
    {
      title: 'Lag, last minute',
      show: ({ metadata }) => <Sparkline of={sampler.lagOf.get(metadata.name)} label="lag over the last minute" />,
    },
    {
      title: 'Behind',
      isNumber: true,
      show: ({ status }) => shortNumber(status.behind.revisions),
      by: ({ status }) => status.behind.revisions,
    },
    {
      title: 'Unread',
      isNumber: true,
      show: ({ status }) => bytes(status.behind.bytes),
      by: ({ status }) => status.behind.bytes,
    },
    {
      title: 'Events/s',
      show: ({ metadata }) => <Sparkline of={sampler.eventsOf.get(metadata.name)} label="events a second" />,
    },
    {
      title: 'Events',
      isNumber: true,
      show: ({ status }) => shortNumber(status.eventsSent),
      by: ({ status }) => status.eventsSent,
    },
    { title: 'Resource', show: ({ spec }) => resourceName(spec), by: ({ spec }) => resourceName(spec) },
    { title: 'Namespace', show: ({ spec }) => spec.namespace ?? '', by: ({ spec }) => spec.namespace ?? '' },
    { title: 'User', show: ({ spec }) => spec.user, by: ({ spec }) => spec.user },
    { title: 'Agent', show: ({ spec }) => spec.userAgent ?? '', by: ({ spec }) => spec.userAgent ?? '' },
    { title: 'Age', show: ({ metadata }) => ago(metadata.creationTimestamp) },
  ];
  return (
    <>
      <label class="filter">
        Filter <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      </label>
      <Table
        caption={`${rows.length} of ${lists.watches.length} watches`}
        columns={columns}
        rows={rows}
        keyOf={({ metadata }) => metadata.name}
        sortedBy="Lag"
        empty="Nobody watches."
      />
    </>
  );
}

function State({ of }: { readonly of: string }) {
  return <span class={`state ${of.toLowerCase()}`}>{of}</span>;
}

function textOf({ metadata, spec, status }: Watch): string {
  return [metadata.name, spec.user, spec.userAgent, resourceName(spec), spec.namespace, status.state, spec.address]
    .join(' ')
    .toLowerCase();
}
