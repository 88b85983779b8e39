/**
 * The end of an HTTP server, in the order of kube-apiserver:
 *
 *   draining   new requests are refused: 503 on connections that are open, or 429 with a port that still listens
 *              requests under way finish; watches end cleanly, all at once or spread over a time
 *   closing    the port is closed, connections that are idle end
 *
 * Always true: it comes to an end, whatever clients do: what is left after the grace period is cut off. Health checks are
 * answered until the port is closed.
 */
import type { Clock } from '../../api/clock.ts';
import type { Connections } from './connection/connections.ts';
import type { Listener } from './connection/listener.ts';
import type { HttpRequestContext } from './http-request-context.ts';

export type ShutdownOptions = {
  /** New requests are told to come again, and the port stays open until those under way are answered: false. */
  readonly sendsRetryAfter?: boolean;
  /** Over how long watches end; 0: all at once. */
  readonly watchGraceMs?: number;
};

type Ending = {
  readonly open: Iterable<HttpRequestContext>;
  readonly listener: Listener;
  readonly connections: Connections;
  readonly options: ShutdownOptions;
  /** How long requests under way are waited for. */
  readonly graceMs: number;
  readonly clock: Clock;
};

const STREAMS_PER_TURN = 200;
const LEAST_WATCHES_PER_SECOND = 200;
const STEP_MS = 100;
/** Once all is answered that is going to be. */
const CLOSE_MS = 2000;

/** From here on the server is draining: whoever calls it has said so to the handler chain. */
export async function shutDown({ open, listener, connections, options, graceMs, clock }: Ending): Promise<void> {
  const { sendsRetryAfter = false, watchGraceMs = 0 } = options;
  const grace = setTimeout(() => connections.destroyAll(), graceMs + watchGraceMs);
  const stopListening = () => new Promise<void>((resolve) => void listener.close(() => resolve()));
  let closed: Promise<void> | undefined;
  if (!sendsRetryAfter) {
    closed = stopListening();
    if (watchGraceMs === 0) connections.sayGoAway();
  }
  const short = [...open].filter(({ isLive }) => !isLive);
  await Promise.all([untilClosed(short), endWatches(open, watchGraceMs, clock)]);
  if (sendsRetryAfter) setTimeout(() => connections.destroyAll(), CLOSE_MS).unref();
  closed ??= stopListening();
  connections.sayGoAway();
  for (const context of open) context.endStream(STOPPING); // of requests that began before, and became watches since
  await untilClosed([...open]);
  listener.closeIdleConnections();
  await closed;
  clearTimeout(grace);
}

const STOPPING = new Error('the server is stopping');

async function untilClosed(contexts: readonly HttpRequestContext[]): Promise<void> {
  await Promise.all(
    contexts.map((context) => new Promise<void>((resolve) => context.onClose({ wireClosed: resolve as () => void }))),
  );
}

/** So that not all who watch come back to another server in the same moment. */
async function endWatches(open: Iterable<HttpRequestContext>, graceMs: number, clock: Clock): Promise<void> {
  const watches = [...open].filter(({ isLive }) => isLive);
  const perSecond = Math.max(LEAST_WATCHES_PER_SECOND, (watches.length * 1000) / graceMs);
  const perStep = graceMs === 0 ? watches.length : Math.ceil((perSecond * STEP_MS) / 1000);
  for (let from = 0; from < watches.length; from += perStep) {
    for (let i = from; i < Math.min(from + perStep, watches.length); i++) {
      watches[i]!.endStream(STOPPING);
      if (i % STREAMS_PER_TURN === STREAMS_PER_TURN - 1) await new Promise((resolve) => setImmediate(resolve));
    }
    if (from + perStep < watches.length) await clock.sleep(STEP_MS);
  }
}
