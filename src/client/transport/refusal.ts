/** What a refusal says: the Status in its body, or one made from its text and code as client-go makes it. */
import type { Status } from '../../api/index.ts';
import { ApiError } from '../errors.ts';
import type { Headers } from './transport-options.ts';

const MAX_TEXT = 2048;

export function refusalOf(code: number, headers: Headers, text: string, request: string): ApiError {
  const retryAfterSeconds = retryAfterOf(headers);
  const parsed = statusIn(text);
  if (!parsed) {
    const message = `${text.trim().slice(0, MAX_TEXT) || 'the server gave no reason'} (${request}: ${code})`;
    return new ApiError(
      {
        ...failure,
        message,
        ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
        code,
      },
      request,
    );
  }
  const details = retryAfterSeconds === undefined ? parsed.details : { retryAfterSeconds, ...parsed.details };
  return new ApiError({ ...parsed, ...(details && { details }), code: parsed.code ?? code }, request);
}

/** Only seconds are used by API servers; a date is left alone. */
function retryAfterOf(headers: Headers): number | undefined {
  const value = headers['retry-after'];
  return typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : undefined;
}

const failure = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;

function statusIn(text: string): Status | undefined {
  try {
    const parsed = JSON.parse(text) as Partial<Status> | null;
    return parsed?.kind === 'Status' ? { ...failure, ...parsed } : undefined;
  } catch {
    return undefined; // it is text
  }
}
