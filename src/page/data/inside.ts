/** What a server of ours tells of itself (docs/introspection.md), as far as the page shows it. */
export type {
  ExpirationInfo as Expiration,
  FlowLevelInfo as FlowLevel,
  HistoryInfo as ObjectHistory,
  WatchCacheInfo as WatchCache,
  WatchInfo as Watch,
} from '../../api/observing/introspection-objects.ts';

export const GROUP = 'apis/introspection.longwatch.dev/v1alpha1';

/** `deployments.apps`, `pods`. */
export function resourceName({ group, resource }: { readonly group: string; readonly resource: string }): string {
  return group === '' ? resource : `${resource}.${group}`;
}
