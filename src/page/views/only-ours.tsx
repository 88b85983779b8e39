/** In the place of a view that has nothing to show: because it is not known yet, or because this cluster does not tell. */
import type { ClusterState } from '../data/cluster-sampler.ts';

export function OnlyOurs({ state, what }: { readonly state: ClusterState; readonly what: string }) {
  if (state.isOurs === undefined) return <p class="empty">{state.problem === undefined ? 'Looking…' : ''}</p>;
  return (
    <p class="empty">
      This cluster does not tell {what}: only <code>longwatch serve</code> does, as{' '}
      <code>introspection.longwatch.dev</code>. The views Plots and Stream work with any cluster.
    </p>
  );
}
