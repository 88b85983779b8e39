/** The audit log of `--audit-log-path`: one line of JSON for every request that has ended, let in or not. */
import type { RequestObserver } from '../request/request-observer.ts';
import { auditEvent } from './audit-event.ts';
import { LineFile } from './line-file.ts';
import { openLineSink } from './line-sink.ts';

/** `observer` also goes on counting; `close` writes what is still waiting. */
export type AuditLog = {
  readonly observer: RequestObserver;
  /** A line of a thread that has no file of its own. */
  readonly write: (line: string) => void;
  close(): Promise<void>;
};

export type AuditLogOptions = {
  readonly file: string;
  /** Of one file, 100 MiB without it; 0 is no limit. */
  readonly maxBytes?: number;
  /** How many full ones are kept, 10 without it; 0 keeps all. */
  readonly maxBackups?: number;
  readonly log: (line: string) => void;
};

const MAX_BYTES = 100 * 1024 * 1024;
const MAX_BACKUPS = 10;

export async function openAuditLog(options: AuditLogOptions, counting: RequestObserver): Promise<AuditLog> {
  const { file, maxBytes = MAX_BYTES, maxBackups = MAX_BACKUPS, log } = options;
  const open = () => openLineSink(file, maxBackups);
  const lines = new LineFile(file, await open(), open, { maxBytes, log });
  const write = (line: string) => lines.write(line);
  return { observer: auditedBy(write, counting), write, close: () => lines.close() };
}

/** Counts as before, and hands out a line for each request. */
export function auditedBy(write: (line: string) => void, counting: RequestObserver): RequestObserver {
  return {
    begin: (context) => counting.begin(context),
    streamOpened: (context) => counting.streamOpened(context),
    seat: (kind, change) => counting.seat(kind, change),
    end(context, outcome, wasLetIn) {
      counting.end(context, outcome, wasLetIn);
      write(JSON.stringify(auditEvent(context, outcome, wasLetIn, Date.now())));
    },
    handshakeFailed: () => counting.handshakeFailed(),
  };
}
