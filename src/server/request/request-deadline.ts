/** How long a request may take: the server's limit, or less where `?timeout=` says so. Watches have their own clock. */
import { badRequest } from '../../api/errors/status-error.ts';
import { DurationError, parseGoDurationMs } from '../../api/scalars/durations.ts';

export function requestDeadlineMs(query: URLSearchParams | undefined, limitMs: number): number {
  const asked = query?.get('timeout');
  if (!asked) return limitMs;
  const ms = durationMs(asked);
  return ms > 0 && ms < limitMs ? ms : limitMs;
}

function durationMs(asked: string): number {
  try {
    return parseGoDurationMs(asked);
  } catch (err) {
    if (!(err instanceof DurationError)) throw err;
    throw badRequest(`invalid timeout specified in the request URL - ${err.message}`);
  }
}
