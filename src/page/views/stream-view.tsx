/** The events of one kind as they come, with what each changed, filtered as one likes; of any cluster. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { EventStream, type StreamEvent } from '../data/event-stream.ts';
import { collectionPath, type Kind, readKinds } from '../data/kinds.ts';
import { type Column, Table } from '../parts/table.tsx';

const TYPES = ['ADDED', 'MODIFIED', 'DELETED'];
const SHOWN_CHANGES = 6;

const columns: readonly Column<StreamEvent>[] = [
  { title: 'Time', show: ({ at }) => at.toLocaleTimeString() },
  { title: 'Event', show: ({ type }) => <span class={`event ${type.toLowerCase()}`}>{type}</span> },
  { title: 'Object', show: ({ key }) => key },
  { title: 'Version', isNumber: true, show: ({ version }) => version },
  { title: 'By', show: ({ manager }) => manager },
  {
    title: 'Changes',
    show: ({ changes }) => (
      <ul class="changes">
        {changes.slice(0, SHOWN_CHANGES).map((line) => (
          <li key={line}>{line}</li>
        ))}
        {changes.length > SHOWN_CHANGES && <li>and {changes.length - SHOWN_CHANGES} more</li>}
      </ul>
    ),
  },
];

type Wanted = { readonly path: string; readonly selectors: string };

export function StreamView({ root }: { readonly root: string }) {
  const [kinds, setKinds] = useState<readonly Kind[]>([]);
  const known = useRef<Promise<readonly Kind[]>>(Promise.resolve([]));
  const [problem, setProblem] = useState('');
  const [wanted, setWanted] = useState<Wanted>();
  const [stream, setStream] = useState<EventStream>();
  const [, redraw] = useState(0);
  const [filter, setFilter] = useState('');
  const [types, setTypes] = useState<ReadonlySet<string>>(new Set(TYPES));
  useEffect(() => {
    const stop = new AbortController();
    known.current = readKinds(root, stop.signal).catch((err: Error) => {
      if (!stop.signal.aborted) setProblem(err.message);
      return [];
    });
    void known.current.then(setKinds);
    return () => stop.abort();
  }, [root]);
  useEffect(() => {
    if (!wanted) return undefined;
    const stop = new AbortController();
    const next = new EventStream(wanted.path, wanted.selectors, () => redraw((before) => before + 1));
    setStream(next);
    void next.run(stop.signal);
    return () => stop.abort();
  }, [wanted]);
  const start = async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const field = (name: string) => String(data.get(name) ?? '').trim();
    const kind = (await known.current).find(({ name }) => name === field('kind'));
    if (!kind) return setProblem(`Cannot follow ${JSON.stringify(field('kind'))}: choose a kind of the list`);
    setProblem('');
    const selectors = (['labelSelector', 'fieldSelector'] as const)
      .filter((name) => field(name) !== '')
      .map((name) => `&${name}=${encodeURIComponent(field(name))}`);
    return setWanted({ path: `${root}/${collectionPath(kind, field('namespace'))}`, selectors: selectors.join('') });
  };
  const text = filter.toLowerCase();
  const rows = (stream?.events ?? []).filter(
    (event) =>
      (types.has(event.type) || event.type === '410') &&
      [event.key, event.manager, ...event.changes].join(' ').toLowerCase().includes(text),
  );
  return (
    <>
      <form class="fields" onSubmit={(event) => void start(event)}>
        <label>
          Kind <input name="kind" list="kinds" required placeholder="pods" autocomplete="off" />
        </label>
        <datalist id="kinds">
          {kinds.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <label>
          Namespace <input name="namespace" placeholder="all" autocomplete="off" />
        </label>
        <label>
          Labels <input name="labelSelector" placeholder="app=web" autocomplete="off" />
        </label>
        <label>
          Fields <input name="fieldSelector" placeholder="metadata.name=web" autocomplete="off" />
        </label>
        <button type="submit">Follow</button>
        {wanted && (
          <button
            type="button"
            onClick={() => {
              setWanted(undefined);
              setStream(undefined);
            }}
          >
            Stop
          </button>
        )}
      </form>
      <div class="fields">
        <label>
          Filter <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
        </label>
        <fieldset>
          <legend>Events</legend>
          {TYPES.map((type) => (
            <label key={type}>
              <input
                type="checkbox"
                checked={types.has(type)}
                onChange={() => {
                  const next = new Set(types);
                  if (!next.delete(type)) next.add(type);
                  setTypes(next);
                }}
              />
              {type}
            </label>
          ))}
        </fieldset>
      </div>
      {(problem || stream?.problem) && (
        <p role="alert" class="problem">
          {problem || stream?.problem}
        </p>
      )}
      <Table
        caption={stream ? `${rows.length} events, ${stream.objects} objects followed` : 'events'}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => String(id)}
        empty={stream ? 'No event yet.' : 'Choose a kind and follow it.'}
      />
    </>
  );
}
