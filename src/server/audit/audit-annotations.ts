/**
 * What is said of a request beside what the request itself says: annotations of its audit event, kept with the request and
 * gone with it. A key is said once; a second value for it is dropped, as kube-apiserver has it, and so are more keys than a
 * line of the log should have.
 */
import type { RequestContext } from '../request/request-context.ts';

const LIMIT_KEYS = 100;

const annotations = new WeakMap<RequestContext, Map<string, string>>();

export function annotateAudit(context: RequestContext, key: string, value: string): void {
  let those = annotations.get(context);
  if (!those) {
    those = new Map();
    annotations.set(context, those);
  }
  if (!those.has(key) && those.size < LIMIT_KEYS) those.set(key, value);
}

export function auditAnnotationsOf(context: RequestContext): ReadonlyMap<string, string> | undefined {
  return annotations.get(context);
}
