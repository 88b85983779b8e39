/**
 * Reads a request's body whole, up to a limit.
 *
 * A body past the limit is refused at once, but the rest is still read and thrown away for a while: a client that is
 * cut off in the middle of sending never reads the answer. One that goes on and on is cut off all the same.
 */
import type { Readable } from 'node:stream';
import { bodyTooLarge } from '../../api/status-error.ts';

/** How much more than the limit is swallowed before the connection is closed. */
const SWALLOW_BYTES = 16 * 1024 * 1024;

export type BodyOptions = {
  readonly limitBytes: number;
  /** From the header, where there is one. */
  readonly announcedBytes: number | undefined;
  /** Fires when the client is gone or the time is over. */
  readonly signal: AbortSignal;
  readonly cutOff: () => void;
};

export function readBody(source: Readable, options: BodyOptions): Promise<Buffer> {
  const { limitBytes, announcedBytes, signal, cutOff } = options;
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    let isSettled = false;
    const settle = (finish: () => void) => {
      if (isSettled) return;
      isSettled = true;
      signal.removeEventListener('abort', onAbort);
      finish();
    };
    const refuse = () => {
      parts.length = 0;
      settle(() => reject(bodyTooLarge(limitBytes)));
    };
    const onAbort = () => settle(() => reject(signal.reason));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    if (announcedBytes !== undefined && announcedBytes > limitBytes) refuse();
    source.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes > limitBytes + SWALLOW_BYTES) cutOff();
      else if (bytes > limitBytes) refuse();
      else if (!isSettled) parts.push(part);
    });
    source.once('end', () => settle(() => resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, bytes))));
    source.once('error', (err) => settle(() => reject(err)));
    if (source.readableEnded) settle(() => resolve(Buffer.alloc(0)));
  });
}
