/** Rates, lag, 410s and 429s over the last ten minutes. */
import type { ClusterSampler } from '../data/cluster-sampler.ts';
import { seconds, shortNumber } from '../parts/format.ts';
import { Plot } from '../parts/plot.tsx';

export function PlotsView({ sampler, version }: { readonly sampler: ClusterSampler; readonly version: number }) {
  const { isOurs, figures } = sampler.state;
  const rate = (value: number) => `${shortNumber(value)}/s`;
  if (isOurs === undefined) return <p class="empty">Looking…</p>;
  return (
    <>
      {!isOurs && (
        <p class="empty">
          This cluster tells what is in its /metrics: requests, 410s, 429s
          {figures?.watchers === undefined ? '' : `, ${shortNumber(figures.watchers)} watchers`}. Changes and lag of
          watches only <code>longwatch serve</code> tells.
        </p>
      )}
      <div class="plots">
        {isOurs && (
          <>
            <Plot
              title="Rates"
              version={version}
              show={rate}
              series={[
                { label: 'changes', of: sampler.changes, tone: 'blue' },
                { label: 'events to watches', of: sampler.dispatched, tone: 'green' },
              ]}
            />
            <Plot
              title="Lag"
              version={version}
              show={seconds}
              series={[{ label: 'the worst watch', of: sampler.worstLag, tone: 'orange' }]}
            />
            <Plot
              title="Slow watches"
              version={version}
              show={shortNumber}
              series={[{ label: 'a second or more behind', of: sampler.behind, tone: 'orange' }]}
            />
          </>
        )}
        <Plot
          title="410 Gone"
          version={version}
          show={rate}
          series={[{ label: 'answers', of: sampler.gone, tone: 'red' }]}
        />
        <Plot
          title="429 Too Many Requests"
          version={version}
          show={rate}
          series={[{ label: 'rejected', of: sampler.rejected, tone: 'red' }]}
        />
        <Plot
          title="Requests"
          version={version}
          show={rate}
          series={[{ label: 'answered', of: sampler.requests, tone: 'blue' }]}
        />
      </div>
    </>
  );
}
