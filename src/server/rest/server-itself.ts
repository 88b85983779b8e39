/** The server as a client of its own: nobody asked over the wire, so there is no one to warn and nothing to wait for. */
import type { Exchange } from '../request/request-context.ts';

export const serverItself: Exchange = {
  warn: () => {},
  signal: new AbortController().signal,
} as unknown as Exchange;
