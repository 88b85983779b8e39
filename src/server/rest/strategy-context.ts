/**
 * What the strategy of a kind and the plugins of admission may know while one write is under way.
 *
 * Nearly every write asks for little of it: the means to ask are made when they are first asked for, and may be taken out of
 * the context and called by themselves.
 */
import type { KubeObject } from '../../api/index.ts';
import type { Authorizer } from '../auth/authorizer.ts';
import { whenThere } from '../event-loop/when-there.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { WriteGuard } from '../storage/object-storage.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import type { ResourceStorages } from '../storage/resource-storages.ts';
import type { PortRange, Reading, StrategyContext } from '../strategy/strategy.ts';

/** Whose write it is. */
export type Asking = Pick<RequestContext, 'signal' | 'warn'> & { readonly user?: UserInfo };

/** What the contexts of all writes share. */
export type Surroundings = {
  readonly storages: ResourceStorages;
  readonly authorizer: Authorizer;
  readonly allowsPrivileged: boolean;
  readonly nodePorts?: PortRange | undefined;
  /** Objects that every write of some kind asks for, parsed; gone with the version they were made from. */
  readonly parsed: WeakMap<StoredObject, KubeObject>;
};

const AT_HAND = { resourceVersion: '0' };

export class WriteContext implements StrategyContext {
  readonly now: string;
  readonly subresource: string;
  readonly isDryRun: boolean;
  readonly allowsPrivileged: boolean;
  readonly user?: UserInfo;
  #guard: WriteGuard | undefined;
  /** What it is about. */
  #held: ResourceStorage | undefined;
  readonly #asking: Asking;
  readonly #around: Surroundings;

  constructor(around: Surroundings, asking: Asking, now: string, subresource: string, isDryRun: boolean) {
    this.now = now;
    this.subresource = subresource;
    this.isDryRun = isDryRun;
    this.allowsPrivileged = around.allowsPrivileged;
    this.#asking = asking;
    this.#around = around;
    if (asking.user) this.user = asking.user;
  }

  /** What must hold for the write, by what was asked for while it was prepared. */
  get guard(): WriteGuard | undefined {
    return this.#guard;
  }

  get nodePorts(): PortRange | undefined {
    return this.#around.nodePorts;
  }

  get warn(): StrategyContext['warn'] {
    return (text) => this.#asking.warn(text);
  }

  get signal(): AbortSignal {
    return this.#asking.signal; // made when somebody asks
  }

  get mayRead(): NonNullable<StrategyContext['mayRead']> {
    return (reading) => this.#mayRead(reading);
  }

  get list(): StrategyContext['list'] {
    return async (group, plural, namespace) => {
      const storage = this.#around.storages.storageOf(group, plural);
      const { objects } = await this.#listAt(storage, namespace ? `${namespace}/` : '', '');
      return objects.map((cached) => storage.toObject(cached));
    };
  }

  get listHeld(): StrategyContext['listHeld'] {
    return (group, plural) => this.#hold(this.#around.storages.storageOf(group, plural));
  }

  /** What is held as it is now, from when on it must not change instead. */
  async holdAnew(): Promise<readonly KubeObject[]> {
    return this.#held ? this.#hold(this.#held) : [];
  }

  async #hold(storage: ResourceStorage): Promise<readonly KubeObject[]> {
    const { objects, revision } = await this.#listAt(storage, '', '');
    this.#held = storage;
    this.#guard = { unchanged: storage.objects.keys, since: revision };
    return objects.map((cached) => this.#known(storage, cached));
  }

  get listKnown(): StrategyContext['listKnown'] {
    return (group, plural, namespace) => {
      const storage = this.#around.storages.storageOf(group, plural);
      const scope = namespace ? `${namespace}/` : '';
      const found = storage.objects.peekList({ scope, start: scope, at: AT_HAND });
      return whenThere(found ?? this.#listAt(storage, scope, AT_HAND.resourceVersion), ({ objects }) =>
        objects.map((cached) => this.#known(storage, cached)),
      );
    };
  }

  get known(): StrategyContext['known'] {
    return (group, plural, namespace, name) => {
      const storage = this.#around.storages.storageOf(group, plural);
      const cached = storage.objects.peek(namespace, name);
      if (cached) return this.#known(storage, cached);
      return storage.read(namespace, name).then((found) => found && storage.toObject(found));
    };
  }

  get remembered(): StrategyContext['remembered'] {
    return (group, plural, namespace, name) => {
      const { objects } = this.#around.storages.storageOf(group, plural);
      const isAbsent = typeof objects.stats === 'object' && !objects.peek(namespace, name);
      return isAbsent ? undefined : this.known(group, plural, namespace, name);
    };
  }

  get walk(): StrategyContext['walk'] {
    return async (group, plural, namespace) => {
      const storage = this.#around.storages.storageOf(group, plural);
      const { objects, count } = await this.#listAt(storage, `${namespace}/`, '');
      return { total: count, objects: readEach(storage, objects) };
    };
  }

  /** Of a kind that nobody serves, one must be allowed to read everything in its group. */
  async #mayRead({ verb, apiVersion, kind, namespace, name }: Reading): Promise<boolean> {
    const { storages, authorizer } = this.#around;
    if (!this.user) return true;
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const resource = storages.registry.findByKind(group, version, kind)?.plural ?? '*';
    const what = { group, version, resource, subresource: '', namespace, name };
    return (await authorizer.authorize(this.user, { kind: 'resource', verb, ...what })).allowed;
  }

  #listAt(storage: ResourceStorage, scope: string, resourceVersion: string) {
    const asking = this.#asking;
    return storage.objects.list({
      scope,
      start: scope,
      at: { resourceVersion },
      get signal() {
        return asking.signal; // only who has to wait asks
      },
    });
  }

  #known(storage: ResourceStorage, cached: StoredObject): KubeObject {
    const { parsed } = this.#around;
    let object = parsed.get(cached);
    if (!object) {
      object = storage.toObject(cached);
      parsed.set(cached, object);
    }
    return object;
  }
}

function* readEach(storage: ResourceStorage, stored: readonly StoredObject[]): Generator<KubeObject> {
  for (const object of stored) yield storage.toObject(object);
}
