/**
 * Every address of a service is an object, too: an IPAddress that names the service it belongs to. They are made when a
 * service gets an address, and go when it does.
 *
 * Always true: only what this keeper made (by its label) is taken away. It follows the services, so an IPAddress comes a
 * moment after its service; after a restart it catches up with what it missed. What fails is tried again, later each
 * time. Without a watch cache there is nothing to follow, and no IPAddress is made.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { SyncQueue } from '../event-loop/sync-queue.ts';
import type { Rest } from '../rest/rest.ts';
import { createAsServer } from '../rest/writing/create-as-server.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { objectAt, textAt, textsAt } from '../strategy/validation/fields.ts';
import { canonicalAddress } from '../strategy/validation/ip-address.ts';

const FAMILY = 'ipaddress.kubernetes.io/ip-family';
const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by';
const KEEPER = 'ipallocator.k8s.io';

export class ServiceAddressKeeper {
  readonly #rest: Rest;
  readonly #services: ResourceStorage<Cacher>;
  readonly #addresses: ResourceStorage<Cacher>;
  readonly #queue: SyncQueue;
  /** Addresses that those services had that are to be looked at, where that is known. */
  readonly #had = new Map<string, readonly string[]>();
  /** Addresses that are still written down as another's, and the services that have them now. */
  readonly #waiting = new Map<string, string>();

  /** Undefined where one of them has no watch cache. */
  static start(rest: Rest, log: (line: string) => void): ServiceAddressKeeper | undefined {
    const services = rest.storages.cachedStorageOf('', 'services');
    const addresses = rest.storages.cachedStorageOf('networking.k8s.io', 'ipaddresses');
    return services && addresses && new ServiceAddressKeeper(rest, services, addresses, log);
  }

  private constructor(
    rest: Rest,
    services: ResourceStorage<Cacher>,
    addresses: ResourceStorage<Cacher>,
    log: (line: string) => void,
  ) {
    this.#rest = rest;
    this.#services = services;
    this.#addresses = addresses;
    this.#queue = new SyncQueue({
      sync: (key) => this.#settle(key),
      onFailure: (key, { message }) => log(`cannot keep the addresses of the service ${key}: ${message}; trying again`),
    });
    services.objects.follow((current, previous) => this.#wake((current ?? previous)!.key, previous));
    addresses.objects.follow((address, previous) => {
      if (!address) this.#wakeNext(previous!.name);
      else if (!previous) this.#wakeParent(address);
    });
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  /** An address whose service is gone: its end was missed. */
  #wakeParent(address: StoredObject): void {
    const key = parentOf(this.#addresses.toObject(address));
    if (key !== undefined && !this.#services.objects.objects.get(key)) this.#wake(key, undefined);
  }

  /** What another service had is gone: whose it is now can be written down. */
  #wakeNext(address: string): void {
    const key = this.#waiting.get(address);
    if (key !== undefined) this.#wake(key, undefined);
  }

  #wake(key: string, previous: StoredObject | undefined): void {
    if (previous && !this.#had.has(key)) this.#had.set(key, addressesOf(this.#services.toObject(previous)));
    this.#queue.add(key);
  }

  async #settle(key: string): Promise<void> {
    const current = this.#services.objects.objects.get(key);
    const wanted = addressesOf(current && this.#services.toObject(current));
    const had = this.#had.get(key) ?? (current ? [] : this.#heldBy(key));
    this.#had.delete(key);
    for (const [address, waiting] of this.#waiting) if (waiting === key) this.#waiting.delete(address);
    try {
      await this.#replace(key, had, wanted);
    } catch (err) {
      // Any of them may be there now, whatever the service has become meanwhile.
      this.#had.set(key, [...new Set([...had, ...wanted, ...(this.#had.get(key) ?? [])])]);
      throw err;
    }
  }

  async #replace(key: string, had: readonly string[], wanted: readonly string[]): Promise<void> {
    const { objects } = this.#addresses.objects;
    for (const address of had) {
      const found = wanted.includes(address) ? undefined : objects.get(address);
      if (found && parentOf(this.#addresses.toObject(found)) === key) await this.#addresses.delete(found);
    }
    for (const address of wanted) {
      const found = objects.get(address);
      if (!found) await createAsServer(this.#rest, this.#addresses, addressObject(address, key));
      else if (parentOf(this.#addresses.toObject(found)) !== key) this.#waiting.set(address, key);
    }
  }

  /** What a service holds that nothing else is known of; rare, so all are looked at. */
  #heldBy(key: string): string[] {
    const all = this.#addresses.objects.objects.values();
    return all.filter((one) => parentOf(this.#addresses.toObject(one)) === key).map(({ name }) => name);
  }
}

function addressesOf(service: KubeObject | undefined): string[] {
  const spec = objectAt(service as JsonObject | undefined, 'spec');
  return textsAt(spec, 'clusterIPs')
    .filter((address) => address !== '' && address !== 'None')
    .map(canonicalAddress);
}

/** The key of the service that an address of ours belongs to. */
function parentOf({ metadata, spec }: KubeObject): string | undefined {
  if (metadata.labels?.[MANAGED_BY] !== KEEPER) return undefined;
  const parent = objectAt(spec as JsonObject | undefined, 'parentRef');
  return textAt(parent, 'resource') === 'services'
    ? `${textAt(parent, 'namespace')}/${textAt(parent, 'name')}`
    : undefined;
}

function addressObject(address: string, key: string): KubeObject {
  const at = key.indexOf('/');
  return {
    kind: 'IPAddress',
    apiVersion: 'networking.k8s.io/v1',
    metadata: {
      name: address,
      labels: { [FAMILY]: address.includes(':') ? 'IPv6' : 'IPv4', [MANAGED_BY]: KEEPER },
    },
    spec: {
      parentRef: { group: '', resource: 'services', namespace: key.slice(0, at), name: key.slice(at + 1) },
    },
  };
}
