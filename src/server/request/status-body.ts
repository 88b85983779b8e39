/** How a Status goes out when nobody negotiated another form: JSON, indented for people who look with curl or a browser. */
import type { IncomingHttpHeaders } from 'node:http';
import { isStatusError, plainError, type Status, type StatusError } from '../../api/errors/status-error.ts';

/** What was thrown, as the error the client gets to see: what is no error of the API becomes a plain 500. */
export function asStatusError(err: unknown): StatusError {
  if (isStatusError(err)) return err;
  return plainError(err instanceof Error ? err.message : String(err), { cause: err });
}

export function statusBody(status: Status, isPretty: boolean): Buffer {
  const text = isPretty ? JSON.stringify(status, null, 2) : `${JSON.stringify(status)}\n`;
  return Buffer.from(text.replace(/[<>&\u2028\u2029]/g, escapeForHtml));
}

/** `?pretty` decides; without it the kind of client does. */
export function wantsPretty(query: URLSearchParams, headers: IncomingHttpHeaders): boolean {
  const asked = query.get('pretty');
  if (asked !== null) return asked !== 'false' && asked !== '0';
  const agent = headers['user-agent'] ?? '';
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
}

/** Clients may wait and try again: seconds, where the Status says so or its code means so. */
export function retryAfterSeconds({ code, details }: Status): number | undefined {
  if (details?.retryAfterSeconds !== undefined || details?.causes) return details.retryAfterSeconds; // as its author says
  return code === 429 || code === 503 ? 1 : undefined;
}

function escapeForHtml(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
