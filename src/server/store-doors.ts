/** What a server shows of its store itself: as an etcd to those who may do everything, and where its history begins. */
import { type EtcdFront, type Store, startEtcdFront } from '../store/index.ts';
import type { HistoryState } from './introspection/expirations.ts';
import { listenError } from './serving/listen-error.ts';
import type { TlsMaterial } from './serving/tls-material.ts';
import { settingsOf } from './tls-options.ts';
import { mayUse } from './workers/etcd-front-messages.ts';
import { startFrontInThread } from './workers/etcd-front-owner.ts';

/** How long an explanation of a 410 waits for the store: it is worth little more. */
const HISTORY_MS = 1000;

/** Where the history of the store begins, and since when; nothing, where it does not tell. */
export async function historyOf(store: Store): Promise<HistoryState> {
  try {
    const { revision, compaction } = await store.status({ signal: AbortSignal.timeout(HISTORY_MS) });
    if (!compaction) return { revision };
    const at = compaction.lastAtUnixSeconds;
    return { revision, oldest: compaction.revision, ...(at > 0 && { compactedAt: at * 1000 }) };
  } catch {
    return {};
  }
}

export type EtcdDoor = {
  readonly store: Store;
  readonly urls: readonly string[];
  readonly tls: TlsMaterial;
  /** Whether the store is an etcd already. */
  readonly isEtcd: boolean;
  /** Whether a thread of its own serves it. */
  readonly inThread: boolean;
  readonly log: (line: string) => void;
};

export async function serveAsEtcd({ store, urls, tls, isEtcd, inThread, log }: EtcdDoor): Promise<EtcdFront> {
  if (isEtcd) throw new Error('Cannot serve the store as etcd: it is one, let clients use it directly');
  const certificates = settingsOf(tls);
  try {
    if (inThread) return await startFrontInThread({ store, urls, tls: certificates, log });
    return await startEtcdFront(store, { urls, tls: { ...certificates, mayUse } });
  } catch (err) {
    const { cause } = err as { cause?: NodeJS.ErrnoException & { address?: string; port?: number } };
    if (cause?.syscall !== 'listen') throw err;
    throw listenError(cause, cause.address ?? '', cause.port ?? '', '--etcd-listen-client-urls');
  }
}
