/**
 * etcd's Maintenance and Cluster services: one member, which leads. Moving space together (`Defragment`) is nothing to
 * do here. Snapshots are in snapshot-service.ts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { everyKey, keyToBytes } from '../../keys.ts';
import type { Store } from '../../kv.ts';
import { CLUSTER_ID, MEMBER_ID, response, TERM } from '../messages/front-responses.ts';
import { PAIRS_PER_TURN } from '../messages/long-message.ts';
import { readFields } from '../messages/small-message.ts';
import type { Unary } from './kv-service.ts';
import { type Call, PAIR_BYTES } from './range-reader.ts';

/** What the answers here conform to; clients allow themselves features by it. */
export const ETCD_VERSION = '3.6.8';
const NO_SPACE = 1;

export function maintenanceService(store: Store, urls: () => readonly string[]): Record<string, Unary> {
  return {
    'Maintenance/Status': async (_bytes, { signal }) => {
      const { revision, sizeBytes, sizeInUseBytes, problems } = await store.status({ signal });
      return response(revision, (w) => {
        w.string(2, ETCD_VERSION).int(3, sizeBytes).int64(4, MEMBER_ID).int(5, revision).int(6, TERM).int(7, revision);
        for (const problem of problems) w.string(8, problem);
        w.int(9, sizeInUseBytes).string(11, '3.6.0');
      });
    },
    'Maintenance/Alarm': async (bytes, { signal }) => {
      const { action } = readFields(bytes, { action: 1 });
      const { revision, problems } = await store.status({ signal });
      return response(revision, (w) => {
        // The store judges anew with every write, so there is nothing to be disarmed.
        if (action === 0n && problems.length > 0) w.message(2, (alarm) => alarm.int64(1, MEMBER_ID).int(2, NO_SPACE));
      });
    },
    'Maintenance/Defragment': async (_bytes, { signal }) => response(await store.revision({ signal })),
    'Maintenance/HashKV': async (bytes, call) => {
      const { signal } = call;
      const asked = Number(readFields(bytes, { revision: 1 }).revision);
      const { revision, compaction } = await store.status({ signal });
      const at = asked > 0 ? asked : revision;
      const hash = await hashAt(store, at, call);
      return response(revision, (w) =>
        w
          .int(2, hash)
          .int(3, compaction?.revision ?? 0)
          .int(4, at),
      );
    },
    'Cluster/MemberList': async (_bytes, { signal }) =>
      response(await store.revision({ signal }), (w) => {
        w.message(2, (member) => {
          member.int64(1, MEMBER_ID).string(2, 'longwatch');
          for (const url of urls()) member.string(4, url);
        });
      }),
  };
}

/**
 * Of all keys at a revision, with the revisions that made them what they are: equal for equal content of one history,
 * and that is all clients ask of it.
 */
async function hashAt(store: Store, revision: number, { signal, memory }: Call): Promise<number> {
  const { count } = await store.range(everyKey, { countOnly: true, signal });
  memory.add(count * PAIR_BYTES);
  const { kvs } = await store.range(everyKey, { revision, keysOnly: true, signal });
  let hash = Number(CLUSTER_ID);
  for (const [at, { key, createRevision, modRevision, version }] of kvs.entries()) {
    if (at > 0 && at % PAIRS_PER_TURN === 0) await nextTurn();
    hash = crc32(Buffer.from(`${createRevision} ${modRevision} ${version}`), crc32(keyToBytes(key), hash));
  }
  return hash;
}
