/** The audit log of `--audit-log-path`: one line of JSON for every request that has ended, let in or not. */
import type { RequestObserver } from '../http/request-observer.ts';
import { auditEvent } from './audit-event.ts';
import { type LineFile, openLineFile } from './line-file.ts';

/** `observer` also goes on counting; `close` writes what is still waiting. */
export type AuditLog = { readonly observer: RequestObserver; close(): Promise<void> };

export async function openAuditLog(
  file: string,
  counting: RequestObserver,
  log: (line: string) => void,
): Promise<AuditLog> {
  const lines = await openLineFile(file, { log });
  return { observer: audited(counting, lines), close: () => lines.close() };
}

function audited(counting: RequestObserver, lines: Pick<LineFile, 'write'>): RequestObserver {
  return {
    begin: (exchange, kind) => counting.begin(exchange, kind),
    end(exchange, kind, outcome, wasLetIn) {
      counting.end(exchange, kind, outcome, wasLetIn);
      lines.write(JSON.stringify(auditEvent(exchange, outcome, wasLetIn, Date.now())));
    },
    handshakeFailed: () => counting.handshakeFailed(),
  };
}
