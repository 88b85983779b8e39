/**
 * Whether the server behind an APIService can be used: its Service is there, listens, has somebody behind it, and
 * answers for the group. Asked when one of these changes, and every half minute. The verdict is the condition
 * `Available` of the APIService, which is also what requests go by.
 *
 * Always true: at most `WORKERS` servers are asked at a time, each bounded in time; a verdict is written by
 * compare-and-swap on what it was made from, so of several servers on one store none overwrites another's. Whatever
 * fails is asked again with the next round.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { trackUpdate } from '../managed-fields/track-update.ts';
import { nowInSeconds } from '../rest/rest.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import type { ResourceStorages } from '../storage/resource-storages.ts';
import { type ApiService, type ApiServiceCondition, asApiService, withAvailable } from './api-service.ts';
import type { RemoteServer } from './remote-server.ts';
import { findNow, slicesOf } from './service-lookup.ts';

const WORKERS = 5;
const TRIES = 5;
const ASK_MS = 5000;
const ROUND_MS = 30_000;
const LIMIT_BYTES = 4 * 1024 * 1024;
const DEFAULT_PORT = 443;

export type AvailabilityParts = {
  readonly storages: ResourceStorages;
  readonly storage: ResourceStorage<Cacher>;
  /** Undefined for one that this server answers itself, or that is gone. */
  readonly serverOf: (name: string) => RemoteServer | undefined;
  readonly names: () => Iterable<string>;
  readonly onChecked: (name: string, isAvailable: boolean, reason: string) => void;
  readonly log: (line: string) => void;
};

export class ApiAvailability {
  readonly #parts: AvailabilityParts;
  readonly #services: ResourceStorage;
  readonly #slices: ResourceStorage;
  readonly #stop = new AbortController();
  readonly #due = new Set<string>();
  readonly #busy = new Set<string>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #round: NodeJS.Timeout;

  constructor(parts: AvailabilityParts) {
    this.#parts = parts;
    const { storages } = parts;
    this.#services = storages.storageOf('', 'services');
    this.#slices = storages.storageOf('discovery.k8s.io', 'endpointslices');
    storages
      .cachedStorageOf('', 'services')
      ?.objects.follow((current, previous) => this.#wakeFor((current ?? previous)!, (current ?? previous)!.name));
    storages.cachedStorageOf('discovery.k8s.io', 'endpointslices')?.objects.follow((current, previous) => {
      const slice = (current ?? previous)!;
      if (this.#hasNames()) this.#wakeFor(slice, slice.labels?.['kubernetes.io/service-name']);
    });
    this.#round = setInterval(() => {
      for (const name of parts.names()) this.wake(name);
    }, ROUND_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#round);
    this.#stop.abort(new Error('the server is stopping'));
    await Promise.all(this.#tasks);
  }

  wake(name: string): void {
    if (this.#stop.signal.aborted) return;
    this.#due.add(name);
    this.#next();
  }

  /** Most servers have none, and need not look into every slice. */
  #hasNames(): boolean {
    for (const _ of this.#parts.names()) return true;
    return false;
  }

  #wakeFor({ namespace }: { readonly namespace: string }, service: string | undefined): void {
    for (const one of this.#parts.names()) {
      const spec = this.#read(one)?.spec.service;
      if (spec?.namespace === namespace && spec.name === service) this.wake(one);
    }
  }

  #next(): void {
    for (const name of this.#due) {
      if (this.#busy.size >= WORKERS) return;
      if (this.#busy.has(name)) continue;
      this.#due.delete(name);
      this.#busy.add(name);
      const task: Promise<void> = this.#check(name)
        .catch((err: unknown) => {
          if (!this.#stop.signal.aborted) this.#parts.log(`cannot check APIService ${name}: ${(err as Error).message}`);
        })
        .finally(() => {
          this.#tasks.delete(task);
          this.#busy.delete(name);
          this.#next();
        });
      this.#tasks.add(task);
    }
  }

  #read(name: string): ApiService | undefined {
    const found = this.#parts.storage.objects.peek('', name);
    return found && asApiService(found.parse());
  }

  async #check(name: string): Promise<void> {
    const server = this.#parts.serverOf(name);
    const service = this.#read(name);
    if (!server || !service?.spec.service) return;
    await delay(0); // what happens in one turn is judged together
    const condition = (await this.#judgeService(service.spec)) ?? (await this.#judgeAnswers(server, service.spec));
    this.#parts.onChecked(name, condition.status === 'True', condition.reason ?? '');
    await this.#write(name, condition);
  }

  /** Undefined: nothing speaks against asking it. */
  async #judgeService({ service }: ApiService['spec']): Promise<ApiServiceCondition | undefined> {
    const { namespace, name, port = DEFAULT_PORT } = service!;
    const place = `service/${name} in ${JSON.stringify(namespace)}`;
    const found = await findNow(this.#services, namespace, name);
    if (!found) return no('ServiceNotFound', `${place} is not present`);
    const spec = (found.spec ?? {}) as { type?: string; ports?: { name?: string; port?: number }[] };
    if (spec.type !== undefined && spec.type !== 'ClusterIP') return undefined;
    const listening = spec.ports?.find((one) => one.port === port);
    if (!listening) return no('ServicePortError', `${place} is not listening on port ${port}`);
    const slices = await slicesOf(this.#slices, namespace, name, this.#stop.signal);
    const own = slices as unknown as readonly Slice[];
    if (own.length === 0) return no('EndpointsNotFound', `cannot find endpointslices for ${place}`);
    const portName = listening.name ?? '';
    const isServed = own.some(
      ({ endpoints, ports }) =>
        ports?.some((one) => (one.name ?? '') === portName) &&
        endpoints?.some(({ addresses, conditions }) => (addresses?.length ?? 0) > 0 && conditions?.ready !== false),
    );
    if (isServed) return undefined;
    const why = `endpointslices for ${place} have no addresses with port name ${JSON.stringify(portName)}`;
    return no('MissingEndpoints', why);
  }

  /** Several times at once: one good answer is enough. */
  async #judgeAnswers(server: RemoteServer, { group = '', version }: ApiService['spec']): Promise<ApiServiceCondition> {
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const { signal } = this.#stop;
    const ask = async () => {
      const address = await server.locate();
      const url = `https://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}${path}`;
      try {
        const { status } = await server.get(path, 'application/json', {
          timeoutMs: ASK_MS,
          limitBytes: LIMIT_BYTES,
          signal,
        });
        if (status >= 200 && status < 300) return;
        throw new Error(`bad status from ${url}: ${status}`);
      } catch (err) {
        signal.throwIfAborted();
        const { message } = err as Error;
        throw message.startsWith('bad status')
          ? err
          : new Error(`Get ${JSON.stringify(url)}: ${message}`, { cause: { url } });
      }
    };
    try {
      await Promise.any(Array.from({ length: TRIES }, ask));
      return { type: 'Available', status: 'True', reason: 'Passed', message: 'all checks passed' };
    } catch (err) {
      signal.throwIfAborted();
      const [first] = (err as AggregateError).errors as Error[];
      const text = first!.message;
      const url = /https:\/\/[^"\s]+/.exec(text)?.[0]?.replace(/:$/, '') ?? '';
      return no('FailedDiscoveryCheck', `failing or missing response from ${url}: ${text}`);
    }
  }

  async #write(name: string, condition: ApiServiceCondition): Promise<void> {
    const { storage } = this.#parts;
    for (let current = storage.objects.peek('', name); current; ) {
      const before = current.parse();
      const service = asApiService(before);
      if (!service.spec.service) return;
      const status = withAvailable(service, condition, nowInSeconds());
      if (isDeepStrictEqual(status, before.status)) return;
      const after: KubeObject = { ...before, metadata: { ...before.metadata }, status };
      delete after.metadata.resourceVersion;
      const managedFields = trackUpdate({
        before: before as unknown as JsonObject,
        after: after as unknown as JsonObject,
        schema: storage.resource.schema,
        manager: 'kube-apiserver',
        apiVersion: storage.resource.groupVersion,
        subresource: 'status',
        now: nowInSeconds(),
      });
      if (managedFields) after.metadata.managedFields = managedFields;
      const outcome = await storage.update(current, after);
      if ('stored' in outcome) return;
      current = outcome.instead;
    }
  }
}

function no(reason: string, message: string): ApiServiceCondition {
  return { type: 'Available', status: 'False', reason, message };
}

type Slice = {
  readonly endpoints?: readonly { addresses?: readonly string[]; conditions?: { ready?: boolean } }[] | null;
  readonly ports?: readonly { name?: string }[] | null;
};
