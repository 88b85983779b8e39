/** The kept revisions of one object, who changed what, and what differs between any two of them. */
import { useEffect, useState } from 'preact/hooks';
import type { ClusterState } from '../data/cluster-sampler.ts';
import { GROUP, type ObjectHistory } from '../data/inside.ts';
import { readJson } from '../data/reading.ts';
import { ago, inline } from '../parts/format.ts';
import { OnlyOurs } from './only-ours.tsx';

type Wanted = { readonly namespace: string; readonly resource: string; readonly name: string };

export function HistoryView({ root, state }: { readonly root: string; readonly state: ClusterState }) {
  const [wanted, setWanted] = useState<Wanted>();
  const [found, setFound] = useState<ObjectHistory>();
  const [two, setTwo] = useState<{ readonly from: number; readonly to: number }>();
  const [diff, setDiff] = useState<ObjectHistory['diff']>();
  const [problem, setProblem] = useState('');
  const read = async (query: string, signal: AbortSignal) => {
    const { namespace, resource, name } = wanted!;
    const object = `${encodeURIComponent(resource)}:${encodeURIComponent(name).replaceAll('%3A', ':')}`;
    return readJson<ObjectHistory>(`${root}/${GROUP}/namespaces/${namespace}/objecthistories/${object}?${query}`, {
      signal,
    });
  };
  const attempt = (act: (signal: AbortSignal) => Promise<void>) => {
    const stop = new AbortController();
    act(stop.signal).catch((err: Error) => {
      if (!stop.signal.aborted) setProblem(err.message);
    });
    return () => stop.abort();
  };
  useEffect(() => {
    if (!wanted) return undefined;
    setFound(undefined);
    setDiff(undefined);
    setTwo(undefined);
    setProblem('');
    return attempt(async (signal) => {
      const history = await read('limit=100', signal);
      setFound(history);
      const [to, from] = history.status.revisions;
      if (to) setTwo({ from: from?.revision ?? 0, to: to.revision });
    });
  }, [wanted]);
  useEffect(() => {
    if (!two) return undefined;
    setProblem('');
    return attempt(async (signal) => setDiff((await read(`diff=${two.from},${two.to}`, signal)).diff));
  }, [two]);
  if (state.isOurs === false) return <OnlyOurs state={state} what="what its objects were" />;
  return (
    <>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          const field = (name: string) => String(data.get(name) ?? '').trim();
          setWanted({ namespace: field('namespace') || 'default', resource: field('resource'), name: field('name') });
        }}
      >
        <label>
          Kind <input name="resource" required placeholder="deployments.apps" autocomplete="off" />
        </label>
        <label>
          Namespace <input name="namespace" placeholder="default" autocomplete="off" />
        </label>
        <label>
          Name <input name="name" required autocomplete="off" />
        </label>
        <button type="submit">Show</button>
      </form>
      {problem !== '' && (
        <p role="alert" class="problem">
          {problem}
        </p>
      )}
      {found && two && (
        <div class="side-by-side">
          <Revisions of={found} two={two} choose={setTwo} />
          {diff && <Diff of={diff} />}
        </div>
      )}
    </>
  );
}

type Two = { readonly from: number; readonly to: number };

function Revisions({ of, two, choose }: { of: ObjectHistory; two: Two; choose: (two: Two) => void }) {
  const { revisions, isComplete, exists } = of.status;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class="scrolls" aria-label="Revisions" tabIndex={0}>
      <table>
        <caption>
          {of.metadata.name}
          {exists ? '' : ', which is deleted'}
          {isComplete ? '' : '; what came before is compacted'}
        </caption>
        <thead>
          <tr>
            {['From', 'To', 'Revision', 'Age', 'Change', 'Manager', 'User', 'Fields'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {revisions.map(({ revision, time, change, manager, user, changed = [], changedCount = 0 }) => (
            <tr key={revision}>
              {(['from', 'to'] as const).map((end) => (
                <td key={end}>
                  <input
                    type="radio"
                    name={end}
                    aria-label={`${end} revision ${revision}`}
                    checked={two[end] === revision}
                    onChange={() => choose({ ...two, [end]: revision })}
                  />
                </td>
              ))}
              <td class="number">{revision}</td>
              <td>{ago(time)}</td>
              <td>{change}</td>
              <td>{manager ?? ''}</td>
              <td>{user ?? ''}</td>
              <td>
                {changed.slice(0, 4).join(', ')}
                {changedCount > 4 && ` and ${changedCount - 4} more`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Diff({ of }: { readonly of: NonNullable<ObjectHistory['diff']> }) {
  return (
    <section aria-label="Difference" class="diff">
      <h3>
        {of.from} → {of.to}
      </h3>
      <ul>
        {of.changes.map(({ path, from, to }) => (
          <li key={path}>
            <code>{path}</code>
            {from !== undefined && <del>{inline(from)}</del>}
            {to !== undefined && <ins>{inline(to)}</ins>}
          </li>
        ))}
      </ul>
      {of.changes.length === 0 && <p class="empty">No difference.</p>}
      {of.isTruncated && <p class="quiet">There are more changes than the server shows.</p>}
    </section>
  );
}
