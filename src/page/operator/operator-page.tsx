/** An operator's inside: informers with their freshness, queues, the last reconciles, and who leads. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type ControllerState, type InformerState, OperatorSampler, type Reconcile } from '../data/operator-sampler.ts';
import { seconds, shortNumber } from '../parts/format.ts';
import { Plot } from '../parts/plot.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { type Tab, TabbedPage } from '../parts/tabs.tsx';

const number = <T,>(title: string, of: (row: T) => number): Column<T> => ({
  title,
  isNumber: true,
  show: (row) => shortNumber(of(row)),
  by: of,
});

const informerColumns: readonly Column<InformerState>[] = [
  { title: 'Informer', show: ({ name }) => name, by: ({ name }) => name },
  { title: 'State', show: ({ state }) => <span class={`state ${state}`}>{state}</span>, by: ({ state }) => state },
  {
    title: 'Heard from',
    isNumber: true,
    show: ({ lagMs }) => (lagMs === undefined ? '' : `${seconds(Math.round(lagMs / 100) / 10)} ago`),
    by: ({ lagMs }) => lagMs ?? Number.POSITIVE_INFINITY,
  },
  { title: 'Version', isNumber: true, show: ({ resourceVersion }) => resourceVersion ?? '' },
  number('Objects', ({ objects }) => objects),
  number('Events', ({ events }) => events),
  number('Waiting for handlers', ({ backlog }) => backlog),
  number('Lists', ({ lists }) => lists),
  number('Failures', ({ failures }) => failures),
  { title: 'Controllers', show: ({ controllers }) => controllers.join(', ') },
  { title: 'Error', show: ({ error }) => error ?? '' },
];

const queueColumns: readonly Column<ControllerState>[] = [
  { title: 'Controller', show: ({ name }) => name, by: ({ name }) => name },
  { title: 'State', show: ({ state }) => <span class={`state ${state}`}>{state}</span>, by: ({ state }) => state },
  number('Depth', ({ depth }) => depth),
  {
    title: 'Oldest',
    isNumber: true,
    show: ({ oldestMs }) => seconds(oldestMs / 1000),
    by: ({ oldestMs }) => oldestMs,
  },
  number('Later', ({ delayed }) => delayed),
  { title: 'At work', isNumber: true, show: ({ inFlight, concurrency }) => `${inFlight} of ${concurrency}` },
  {
    title: 'Longest now',
    isNumber: true,
    show: ({ longestSeconds }) => seconds(longestSeconds),
    by: ({ longestSeconds }) => longestSeconds,
  },
  number('Reconciles', ({ results }) => Object.values(results).reduce((sum, count) => sum + count, 0)),
  number('Failed', ({ results }) => (results.error ?? 0) + (results.terminal_error ?? 0)),
  number('Retries', ({ retries }) => retries),
  {
    title: 'Now',
    show: ({ waitsFor, running }) =>
      waitsFor.length > 0 ? `waits for ${waitsFor.join(', ')}` : running.map(({ key }) => key).join(', '),
  },
];

const reconcileColumns: readonly Column<Reconcile>[] = [
  { title: 'Ended', show: ({ endedAt }) => new Date(endedAt).toLocaleTimeString(), by: ({ endedAt }) => endedAt },
  { title: 'Controller', show: ({ controller }) => controller, by: ({ controller }) => controller },
  { title: 'Key', show: ({ key }) => key, by: ({ key }) => key },
  {
    title: 'Result',
    show: ({ result }) => <span class={`state ${result}`}>{result}</span>,
    by: ({ result }) => result,
  },
  {
    title: 'Took',
    isNumber: true,
    show: ({ durationMs }) => seconds(durationMs / 1000),
    by: ({ durationMs }) => durationMs,
  },
  number('Attempt', ({ attempt }) => attempt),
  { title: 'Causes', show: ({ causes }) => causes.join(', ') },
  { title: 'Error', show: ({ error }) => error ?? '' },
];

export function OperatorPage({ name }: { readonly name: string }) {
  const [version, setVersion] = useState(0);
  const sampler = useMemo(() => new OperatorSampler(() => setVersion((before) => before + 1)), []);
  useEffect(() => {
    const stop = new AbortController();
    void sampler.run(stop.signal);
    return () => stop.abort();
  }, [sampler]);
  const { state } = sampler;
  const keyOf = ({ name: one }: { readonly name: string }) => one;
  const tabs: readonly Tab[] = [
    {
      id: 'informers',
      title: 'Informers',
      show: () => (
        <Table
          caption="informers, by how long ago their server was heard"
          columns={informerColumns}
          rows={(state?.informers ?? []).map((one, i) => ({ ...one, id: `${one.name} ${i}` }))}
          keyOf={(row) => (row as InformerState & { id: string }).id}
          sortedBy="Heard from"
          empty="There are none."
        />
      ),
    },
    {
      id: 'queues',
      title: 'Queues',
      show: () => (
        <>
          <Table
            caption="controllers and their queues"
            columns={queueColumns}
            rows={state?.controllers ?? []}
            keyOf={keyOf}
            sortedBy="Depth"
            empty="There are none."
          />
          <Plots sampler={sampler} version={version} />
        </>
      ),
    },
    { id: 'reconciles', title: 'Reconciles', show: () => <Reconciles all={state?.reconciles ?? []} /> },
  ];
  const problem = sampler.problem ?? (state && state.problems.length > 0 ? state.problems.join('; ') : undefined);
  return <TabbedPage heading={name} detail={detailOf(sampler)} tabs={tabs} problem={problem} />;
}

function Reconciles({ all }: { readonly all: readonly Reconcile[] }) {
  const [filter, setFilter] = useState('');
  const [isFailedOnly, setFailedOnly] = useState(false);
  const text = filter.toLowerCase();
  const rows = all
    .filter(({ error }) => !isFailedOnly || error !== undefined)
    .filter((one) =>
      [one.controller, one.key, one.result, one.error, ...one.causes].join(' ').toLowerCase().includes(text),
    );
  return (
    <>
      <div class="fields">
        <label>
          Filter <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
        <fieldset>
          <legend>Show</legend>
          <label>
            <input type="checkbox" checked={isFailedOnly} onChange={() => setFailedOnly(!isFailedOnly)} /> failed only
          </label>
        </fieldset>
      </div>
      <Table
        caption={`the last ${rows.length} reconciles`}
        columns={reconcileColumns}
        rows={rows}
        keyOf={({ controller, key, endedAt, attempt }) => `${controller} ${key} ${endedAt} ${attempt}`}
        empty="None has ended."
      />
    </>
  );
}

function Plots({ sampler, version }: { readonly sampler: OperatorSampler; readonly version: number }) {
  const rate = (value: number) => `${shortNumber(value)}/s`;
  return (
    <div class="plots">
      <Plot
        title="Reconciles"
        version={version}
        show={rate}
        series={[
          { label: 'ended', of: sampler.reconciles, tone: 'blue' },
          { label: 'failed', of: sampler.failures, tone: 'red' },
        ]}
      />
      <Plot
        title="Depth"
        version={version}
        show={shortNumber}
        series={[{ label: 'keys that wait', of: sampler.depth, tone: 'orange' }]}
      />
      <Plot
        title="Age"
        version={version}
        show={seconds}
        series={[{ label: 'the oldest that waits', of: sampler.age, tone: 'orange' }]}
      />
    </div>
  );
}

function detailOf({ state }: OperatorSampler): string {
  if (!state) return '';
  const { leader, isReady } = state;
  const role = !leader
    ? 'no election'
    : leader.isLeading
      ? `leads ${leader.name}, term ${leader.term}`
      : `stands by; ${leader.leader || 'nobody'} leads ${leader.name}`;
  return `${isReady ? 'ready' : 'not ready'}, ${role}`;
}
