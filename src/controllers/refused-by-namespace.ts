/** Whether something was refused because it, or its namespace, is going or gone: no error, and nothing to be done. */
import { isApiError } from '../client/index.ts';

export function isRefusedByNamespace(err: unknown): boolean {
  if (isApiError(err, 'NotFound')) return true;
  const causes = isApiError(err, 'Forbidden') ? (err.status.details?.causes ?? []) : [];
  return causes.some(({ reason }) => reason === 'NamespaceTerminating');
}
