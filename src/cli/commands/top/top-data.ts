/** One look at a server: everything the screen shows, with rates told from the look before. */
import { greatestOf } from '../../../api/index.ts';
import type { FlowLevelInfo, Introspection, WatchCacheInfo, WatchInfo } from '../../cluster/introspection.ts';

export type TopData = {
  readonly at: number;
  readonly watches: readonly WatchInfo[];
  readonly caches: readonly WatchCacheInfo[];
  readonly levels: readonly FlowLevelInfo[];
  readonly revision: number;
  /** The last 410s the server remembers. */
  readonly expired: number;
  /** A second, since the look before; undefined at the first. */
  readonly rates: Rates | undefined;
};

export type Rates = {
  readonly revisions: number;
  readonly received: number;
  readonly dispatched: number;
  readonly bytes: number;
};

export async function look(inside: Introspection, before: TopData | undefined): Promise<TopData> {
  const [watches, caches, levels, expirations] = await Promise.all([
    inside.list('watches'),
    inside.list('watchcaches'),
    inside.list('flowlevels'),
    inside.list('expirations'),
  ]);
  const at = Date.now();
  const revision = Math.max(0, greatestOf(caches.map(({ status }) => status.revision)));
  const now = { at, watches, caches, levels, revision, expired: expirations.length, rates: undefined };
  return { ...now, rates: before && ratesOf(before, now) };
}

export function ratesOf(before: TopData, now: TopData): Rates {
  const seconds = Math.max(0.001, (now.at - before.at) / 1000);
  const sum = ({ caches }: TopData, what: 'eventsReceived' | 'eventsDispatched') =>
    caches.reduce((total, { status }) => total + status[what], 0);
  // A watch that has ended takes its bytes with it: only those that are in both looks are compared.
  const sent = new Map(before.watches.map(({ metadata, status }) => [metadata.name, status.bytesSent]));
  const bytes = now.watches.reduce(
    (total, { metadata, status }) =>
      total + Math.max(0, status.bytesSent - (sent.get(metadata.name) ?? status.bytesSent)),
    0,
  );
  const rate = (change: number) => Math.max(0, change) / seconds;
  return {
    revisions: rate(now.revision - before.revision),
    received: rate(sum(now, 'eventsReceived') - sum(before, 'eventsReceived')),
    dispatched: rate(sum(now, 'eventsDispatched') - sum(before, 'eventsDispatched')),
    bytes: rate(bytes),
  };
}
