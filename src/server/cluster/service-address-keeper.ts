/**
 * Every address of a service is an object, too: an IPAddress that names the service it belongs to. They are made when a
 * service gets an address, and go when it does.
 *
 * Always true: only what this keeper made (by its label) is taken away. It follows the services, so an IPAddress comes a
 * moment after its service; after a restart it catches up with what it missed. What fails is tried again, later each
 * time. Without a watch cache there is nothing to follow, and no IPAddress is made.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject, KubeObject } from '../../api/index.ts';
import type { Rest } from '../rest/rest.ts';
import { createAsServer } from '../rest/writing/create-as-server.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { objectAt, textAt, textsAt } from '../strategy/validation/fields.ts';

const FAMILY = 'ipaddress.kubernetes.io/ip-family';
const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by';
const KEEPER = 'ipallocator.k8s.io';
const RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;

export class ServiceAddressKeeper {
  readonly #rest: Rest;
  readonly #services: ResourceStorage<Cacher>;
  readonly #addresses: ResourceStorage<Cacher>;
  readonly #log: (line: string) => void;
  readonly #stop = new AbortController();
  /** Services to look at, by key, with what they were. */
  #due = new Map<string, StoredObject | undefined>();
  #running: Promise<void> | undefined;

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
    this.#log = log;
    services.objects.follow((current, previous) => this.#wake((current ?? previous)!.key, previous));
    addresses.objects.follow((address, previous) => {
      if (address && !previous) this.#wakeParent(address);
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** An address whose service is gone: its end was missed. */
  #wakeParent(address: StoredObject): void {
    const key = parentOf(this.#addresses.toObject(address));
    if (key !== undefined && !this.#services.objects.objects.get(key)) this.#wake(key, undefined);
  }

  #wake(key: string, previous: StoredObject | undefined): void {
    if (!this.#due.get(key)) this.#due.set(key, previous);
    if (!this.#stop.signal.aborted) this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const wait = (ms: number) => delay(ms, undefined, { signal, ref: false }).catch(() => {});
    let retryMs = RETRY_MS;
    await wait(0); // what comes in this turn is answered together
    while (this.#due.size > 0 && !signal.aborted) {
      const [key, previous] = this.#due.entries().next().value!;
      this.#due.delete(key);
      try {
        await this.#settle(key, previous);
        retryMs = RETRY_MS;
      } catch (err) {
        if (signal.aborted) break;
        this.#log(`cannot keep the addresses of the service ${key}: ${(err as Error).message}; trying again`);
        if (!this.#due.get(key)) this.#due.set(key, previous);
        await wait(retryMs);
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
      }
    }
    this.#running = undefined;
  }

  async #settle(key: string, previous: StoredObject | undefined): Promise<void> {
    const { objects } = this.#addresses.objects;
    const current = this.#services.objects.objects.get(key);
    const wanted = addressesOf(current && this.#services.toObject(current));
    const had = previous ? addressesOf(this.#services.toObject(previous)) : this.#heldBy(current ? undefined : key);
    for (const address of had) {
      const found = wanted.includes(address) ? undefined : objects.get(address);
      if (found && parentOf(this.#addresses.toObject(found)) === key) await this.#addresses.delete(found);
    }
    for (const address of wanted) {
      const found = objects.get(address);
      if (!found) await createAsServer(this.#rest, this.#addresses, addressObject(address, key));
    }
  }

  /** What a service holds that nothing else is known of; rare, so all are looked at. */
  #heldBy(key: string | undefined): string[] {
    if (key === undefined) return [];
    const all = this.#addresses.objects.objects.values();
    return all.filter((one) => parentOf(this.#addresses.toObject(one)) === key).map(({ name }) => name);
  }
}

function addressesOf(service: KubeObject | undefined): string[] {
  const spec = objectAt(service as JsonObject | undefined, 'spec');
  return textsAt(spec, 'clusterIPs').filter((address) => address !== '' && address !== 'None');
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
