/**
 * The quotas of a namespace for the ledger that charges them: read from what this server remembers, and from what it wrote
 * itself where that is newer; written as an update of the status, compare-and-swap.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import type { QuotaStore } from '../../admission/quota/quota-ledger.ts';
import { cloneJson } from '../../codec/index.ts';
import { whenThere } from '../../event-loop/when-there.ts';
import type { Rest } from '../rest.ts';
import { prepareUpdate } from './prepare.ts';

const MANAGER = 'longwatch';
/** Of quotas whose last write the cache has not seen yet. */
const LIMIT_OWN_WRITES = 1000;

export function quotaStore(restOf: () => Rest): QuotaStore {
  const ownWrites = new Map<string, KubeObject>();

  /** What was written last, until the cache has it or something later. */
  const newest = (known: KubeObject): KubeObject => {
    const key = keyOf(known);
    const own = ownWrites.get(key);
    if (!own) return known;
    if (own.metadata.uid === known.metadata.uid && versionOf(own) > versionOf(known)) return own;
    ownWrites.delete(key);
    return known;
  };

  return {
    list: (namespace) =>
      whenThere(restOf().ownContext('').listKnown('', 'resourcequotas', namespace), (known) => known.map(newest)),
    writeUsed: async (quota, used) => {
      const rest = restOf();
      const storage = rest.storages.storageOf('', 'resourcequotas');
      const { namespace = '', name = '' } = quota.metadata;
      const current = await storage.read(namespace, name);
      if (!current || current.revision !== versionOf(quota)) return { instead: current && storage.toObject(current) };
      const old = storage.toObject(current);
      const object = cloneJson(old);
      object.status = { ...(object.status as JsonObject | undefined), used };
      delete object.metadata.resourceVersion;
      const context = rest.ownContext('status');
      const prepared = await prepareUpdate(storage, old, object, { manager: MANAGER }, context);
      const outcome = await storage.update(current, prepared);
      if (!('stored' in outcome)) return { instead: outcome.instead && storage.toObject(outcome.instead) };
      if (ownWrites.size >= LIMIT_OWN_WRITES) ownWrites.clear();
      const stored = storage.toObject(outcome.stored);
      ownWrites.set(keyOf(stored), stored);
      return 'written';
    },
  };
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function versionOf({ metadata }: KubeObject): number {
  return Number(metadata.resourceVersion);
}
