/**
 * Which built-in types are known to whoever decodes for a resource. kube-apiserver is three servers in one, and each has a
 * register of its own: of definitions, of APIServices, of everything else. What comes with every API is in all of them.
 */
import { builtInSchemas } from '../schema/schemas.ts';

const apart: ReadonlySet<string> = new Set(['apiextensions.k8s.io', 'apiregistration.k8s.io']);
/** Of every version there is, and of versions that there are not. */
const unversioned: ReadonlySet<string> = new Set([
  'Status',
  'APIVersions',
  'APIGroup',
  'APIGroupList',
  'APIResourceList',
]);
/** Of every version there is. */
const ofEveryVersion: ReadonlySet<string> = new Set([
  'WatchEvent',
  'ListOptions',
  'GetOptions',
  'DeleteOptions',
  'CreateOptions',
  'UpdateOptions',
  'PatchOptions',
]);
/** Registered, and nowhere to be sent to. */
const ofCore: ReadonlySet<string> = new Set([
  'List',
  'NodeProxyOptions',
  'PodAttachOptions',
  'PodExecOptions',
  'PodLogOptions',
  'PodPortForwardOptions',
  'PodProxyOptions',
  'PodStatusResult',
  'RangeAllocation',
  'SerializedReference',
  'ServiceProxyOptions',
]);

/** The Go package and type that are registered for it; undefined if there is none. */
export function registeredType(apiVersion: string, kind: string, decodedFor: string): string | undefined {
  const { group, version } = partsOf(apiVersion);
  if (unversioned.has(kind)) return `v1.${kind}`;
  const isCommonKind = ofEveryVersion.has(kind);
  if (!(isCommonKind && apiVersion === 'v1') && registerOf(group) !== registerOf(partsOf(decodedFor).group))
    return undefined;
  if (apiVersion === 'v1' && ofCore.has(kind)) return `v1.${kind}`;
  if (!builtInSchemas().byKind(group, version, isCommonKind ? 'DeleteOptions' : kind)) return undefined;
  return `${isCommonKind ? 'v1' : version}.${kind}`;
}

/** The type inside the server that objects of a resource are decoded into. */
export function internalType(groupVersion: string, kind: string): string {
  const { group } = partsOf(groupVersion);
  if (group === '' || group === 'events.k8s.io') return `core.${kind}`;
  if (group === 'internal.apiserver.k8s.io') return `apiserverinternal.${kind}`;
  return `${group.split('.')[0]}.${kind}`;
}

function registerOf(group: string): string {
  return apart.has(group) ? group : '';
}

function partsOf(groupVersion: string): { readonly group: string; readonly version: string } {
  const slash = groupVersion.indexOf('/');
  return { group: groupVersion.slice(0, Math.max(slash, 0)), version: groupVersion.slice(slash + 1) };
}
