/** The last answers "410 Gone": who asked for which revision, why it was gone, and what helps. */
import type { ClusterSampler } from '../data/cluster-sampler.ts';
import { type Expiration, resourceName } from '../data/inside.ts';
import { ago } from '../parts/format.ts';
import { type Column, Table } from '../parts/table.tsx';
import { OnlyOurs } from './only-ours.tsx';

const columns: readonly Column<Expiration>[] = [
  { title: 'When', show: ({ metadata }) => ago(metadata.creationTimestamp), by: ({ metadata }) => metadata.name },
  { title: 'User', show: ({ spec }) => spec.user, by: ({ spec }) => spec.user },
  { title: 'Verb', show: ({ spec }) => spec.verb, by: ({ spec }) => spec.verb },
  { title: 'Resource', show: ({ spec }) => resourceName(spec), by: ({ spec }) => resourceName(spec) },
  {
    title: 'Asked for',
    isNumber: true,
    show: ({ status }) => status.askedRevision,
    by: ({ status }) => status.askedRevision,
  },
  { title: 'Oldest', isNumber: true, show: ({ status }) => status.oldestRevision ?? '' },
  { title: 'Reason', show: ({ status }) => <span class="state gone">{status.reason}</span> },
  { title: 'Why', show: ({ status }) => status.explanation },
  { title: 'What helps', show: ({ status }) => status.remedy },
  { title: 'Agent', show: ({ spec }) => spec.userAgent ?? '' },
];

export function GoneView({ sampler }: { readonly sampler: ClusterSampler }) {
  const { lists } = sampler.state;
  if (!lists) return <OnlyOurs state={sampler.state} what="who was answered 410, and why" />;
  return (
    <Table
      caption={`the last ${lists.expirations.length} answers "410 Gone"`}
      columns={columns}
      rows={lists.expirations}
      keyOf={({ metadata }) => metadata.name}
      sortedBy="When"
      empty="Nobody has asked for history that is gone."
    />
  );
}
