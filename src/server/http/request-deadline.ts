/** How long a request may take: the server's limit, or less where `?timeout=` says so. Watches have their own clock. */
import { badRequest } from '../../api/status-error.ts';
import { parseGoDuration } from './go-duration.ts';

export function requestDeadlineMs(query: URLSearchParams | undefined, limitMs: number): number {
  const asked = query?.get('timeout');
  if (!asked) return limitMs;
  const ms = parseGoDuration(asked);
  if (ms === undefined)
    throw badRequest(`invalid timeout specified in the request URL - time: ${durationProblem(asked)}`);
  return ms > 0 && ms < limitMs ? ms : limitMs;
}

function durationProblem(text: string): string {
  const quoted = JSON.stringify(text);
  const [, number, unit] = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)/.exec(text) ?? [];
  if (number === undefined) return `invalid duration ${quoted}`;
  return unit ? `unknown unit ${JSON.stringify(unit)} in duration ${quoted}` : `missing unit in duration ${quoted}`;
}
