/** Reads and writes are counted and limited apart: which of the two a request is, by its method alone. */
export type RequestKind = 'readOnly' | 'mutating';

export function requestKind(method: string): RequestKind {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' ? 'readOnly' : 'mutating';
}
