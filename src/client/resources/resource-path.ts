/** Where objects live: token, namespace, name and subresource to a path. */
import type { Resource } from '../objects/define-resource.ts';

/** Of one object, or of one subresource of it. An empty name would be the whole collection, and is refused. */
export function objectPath(resource: Resource, namespace: string, name: string, subresource?: string): string {
  if (!name) throw new TypeError(`Cannot name a ${resource.kind}: the name is empty`);
  const path = `${collectionPath(resource, namespace)}/${segment(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Without a namespace: of all namespaces. */
export function collectionPath({ group, version, plural, isNamespaced }: Resource, namespace?: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  if (!isNamespaced || namespace === undefined) return `${root}/${plural}`;
  if (namespace === '') throw new TypeError(`Cannot reach ${plural}: the namespace is empty`);
  return `${root}/namespaces/${segment(namespace)}/${plural}`;
}

/** `.` and `..` would be swallowed on the way. */
function segment(text: string): string {
  return /^\.{1,2}$/.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text);
}
