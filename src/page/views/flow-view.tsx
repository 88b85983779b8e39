/** Flow control: the priority levels with their seats, who waits, who was rejected, and the flows of this moment. */
import type { ClusterSampler } from '../data/cluster-sampler.ts';
import type { FlowLevel } from '../data/inside.ts';
import { shortNumber } from '../parts/format.ts';
import { type Column, Table } from '../parts/table.tsx';
import { OnlyOurs } from './only-ours.tsx';

const count = (title: string, of: (level: FlowLevel) => number): Column<FlowLevel> => ({
  title,
  isNumber: true,
  show: (level) => shortNumber(of(level)),
  by: of,
});

const columns: readonly Column<FlowLevel>[] = [
  { title: 'Level', show: ({ metadata }) => metadata.name, by: ({ metadata }) => metadata.name },
  {
    title: 'Seats',
    show: ({ metadata, status: { seats } }) =>
      seats.limit === undefined ? (
        `${seats.inUse}, no limit`
      ) : (
        <span class="seats">
          <meter aria-label={`seats of ${metadata.name}`} max={Math.max(1, seats.limit)} value={seats.inUse} />{' '}
          {seats.inUse} of {seats.limit}
        </span>
      ),
    by: ({ status: { seats } }) => seats.inUse,
  },
  count('Waiting', ({ status }) => status.waiting),
  count('Executing', ({ status }) => status.executing),
  count('Dispatched', ({ status }) => status.dispatched),
  count('Rejected (429)', ({ status }) => status.rejected),
  {
    title: 'Flows now',
    show: ({ status: { flows = [], flowCount = 0 } }) => (
      <ul class="flows">
        {flows.slice(0, 5).map(({ schema, distinguisher, waiting, executing }) => (
          <li key={`${schema} ${distinguisher}`}>
            {schema} <b>{distinguisher}</b> {executing} running, {waiting} waiting
          </li>
        ))}
        {flowCount > 5 && <li>and {flowCount - 5} more</li>}
      </ul>
    ),
  },
];

export function FlowView({ sampler }: { readonly sampler: ClusterSampler }) {
  const { lists } = sampler.state;
  if (!lists)
    return <OnlyOurs state={sampler.state} what="the seats and flows of its priority levels as they are now" />;
  return (
    <Table
      caption="priority levels"
      columns={columns}
      rows={lists.levels}
      keyOf={({ metadata }) => metadata.name}
      sortedBy="Waiting"
      empty="Flow control is off."
    />
  );
}
