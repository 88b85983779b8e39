/**
 * Errors as a word each, from a list that is known beforehand, so that it can be a label of a metric whatever a server
 * may say: the reasons of the API, the phases of the transport, and three for the rest.
 */
import { ConfigError, isApiError, isTransportError } from '../errors.ts';

const apiReasons: ReadonlySet<string> = new Set([
  ...['AlreadyExists', 'BadRequest', 'Conflict', 'Expired', 'Forbidden', 'Gone', 'InternalError', 'Invalid'],
  ...['MethodNotAllowed', 'NotAcceptable', 'NotFound', 'RequestEntityTooLarge', 'ServerTimeout', 'ServiceUnavailable'],
  ...['Timeout', 'TooManyRequests', 'Unauthorized', 'UnsupportedMediaType'],
]);

/** `Other`: a refusal with a reason that is not in the list. `Config`: no credentials. `Bug`: none of all these. */
export function errorReason(error: unknown): string {
  if (isTransportError(error)) return error.phase;
  if (isApiError(error)) return apiReasons.has(error.reason) ? error.reason : 'Other';
  return error instanceof ConfigError ? 'Config' : 'Bug';
}
