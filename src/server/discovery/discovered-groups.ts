/** What discovery is made from: the registry, or that and what other servers answer for. */
import type { JsonObject } from '../../api/json.ts';
import type { Registry } from '../registry/registry.ts';

export type DiscoveredGroups = Pick<
  Registry,
  'generation' | 'group' | 'groups' | 'isGroupServed' | 'isServed' | 'resourcesOf'
> & {
  /** A version that another server answers for, in the newer form; undefined: it is our own. */
  readonly remoteVersion?: (group: string, version: string) => JsonObject | undefined;
};
