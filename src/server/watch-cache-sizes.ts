/** Which watch caches a server has, and how large they are at least. */
import { ADMISSION_GROUP } from './admission/policies/admission-policies.ts';
import { API_SERVICES } from './aggregation/api-service.ts';
import { DEFINITIONS } from './apiextensions/definition.ts';
import { FLOW_CONTROL_GROUP } from './flow-control/configuration/flow-objects.ts';
import { RBAC_GROUP } from './rbac/rbac-authorizer.ts';
import { qualifiedName, type Resource } from './registry/resource.ts';
import type { ServerOptions } from './server-options.ts';
import { defaultWatchCacheLimits, type WatchCacheLimits } from './storage/cacher/watch-cache.ts';

/** Sizes of caches as the flags give them; the window still grows and shrinks by itself above that. */
export function watchCacheLimitsOf(options: ServerOptions, resource: Resource): WatchCacheLimits | 'off' | undefined {
  const size = options.watchCacheSizes?.[qualifiedName(resource)] ?? options.defaultWatchCacheSize;
  // Who may do what, and when, and which kinds there are, is decided from memory: without a cache there is nothing to
  // decide from.
  const isDecidedBy = [RBAC_GROUP, FLOW_CONTROL_GROUP, API_SERVICES.group, ADMISSION_GROUP].includes(resource.group);
  const isNeeded = isDecidedBy || qualifiedName(resource) === qualifiedName(DEFINITIONS);
  if ((options.watchCache === false || size === 0) && !isNeeded) return 'off';
  return !size ? undefined : { ...defaultWatchCacheLimits, minEvents: size };
}
