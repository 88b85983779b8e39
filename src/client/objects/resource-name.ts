/** Groups and resources as text, as kubectl writes them. */
import type { Resource } from './define-resource.ts';

/** `pods`, `deployments.apps` */
export function resourceName({ group, plural }: Pick<Resource, 'group' | 'plural'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}

/** Of an apiVersion; empty for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
}
