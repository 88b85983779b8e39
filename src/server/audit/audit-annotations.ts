/**
 * What is said of a request beside what the request itself says: annotations of its audit event, kept with the request and
 * gone with it. A key is said once; a second value for it is dropped, as kube-apiserver has it, and so are more keys than a
 * line of the log should have.
 */
import type { RequestContext } from '../request/request-context.ts';

const LIMIT_KEYS = 100;

export function annotateAudit(context: RequestContext, key: string, value: string): void {
  context.auditAnnotations ??= new Map();
  const those = context.auditAnnotations;
  if (!those.has(key) && those.size < LIMIT_KEYS) those.set(key, value);
}
