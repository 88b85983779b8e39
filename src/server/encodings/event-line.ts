/** Events in JSON, one document per line, put together from objects. */
import { goJson } from '../codec/index.ts';
import { asStatusError } from '../request/status-body.ts';

export const JSON_EVENTS = 'application/json';

export function eventLine(type: string, object: object): Buffer {
  return Buffer.from(`${goJson({ type, object: object as never })}\n`);
}

export function errorLine(err: unknown): Buffer {
  return eventLine('ERROR', asStatusError(err).status);
}
