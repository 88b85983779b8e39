/**
 * A server of a simulated world, with what may happen to servers: it goes away and comes back, forgets its past, loses
 * everything, is set back to a backup, has another of a different history take its address, or takes no old tokens.
 */
import type { ApiClient } from '../../../../src/testing/index.ts';
import type { FaultServer } from '../fault-servers.ts';
import { SimApi, type SimTraits } from './sim-api.ts';
import type { SimClock } from './sim-clock.ts';
import { type SimAnswer, type SimEndpoint, type SimExchange, type SimHead, SimLine, simStatus } from './sim-line.ts';
import { type SimCopy, type SimObject, SimStore } from './sim-store.ts';

export class SimServer implements SimEndpoint, FaultServer {
  readonly url = '';
  readonly dataDir = '';
  readonly abilities = { loses: true, isSetBack: true, isSimulated: true } as const;
  readonly line: SimLine;
  readonly traits: SimTraits;
  readonly client: ApiClient;
  readonly #clock: SimClock;
  readonly #random: () => number;
  readonly #servedBy = new WeakMap<SimExchange, SimStore>();
  #store: SimStore;
  #api: SimApi;
  #other: SimStore | undefined;
  #backup: SimCopy | undefined;
  #tokens = 1;
  #ids = 0;
  isAway = false;

  constructor(clock: SimClock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
    const coin = (share = 0.5) => random() < share;
    this.traits = {
      namesHistory: coin(),
      streamsInitialState: coin(0.7),
      refusesFuture: coin(),
      sendsBookmarks: coin(0.9),
      saysGoneBy: coin() ? 'event' : 'status',
    };
    this.line = new SimLine(clock, random, this);
    this.#store = this.#newStore({ revision: 100 });
    this.#api = new SimApi(this.#store, clock, this.traits);
    this.client = this.#admin();
  }

  /** What a request has to carry. */
  get token(): string {
    return `token-${this.#tokens}`;
  }

  /** As it is at this moment. */
  objects(): readonly SimObject[] {
    return this.#store.list('configmaps', undefined);
  }

  /** Whether the client can find out by the server's word or the uid of its kube-system that it was set back. */
  get isSetBackVisible(): boolean {
    return this.traits.namesHistory;
  }

  async handle(head: SimHead, exchange: SimExchange): Promise<SimAnswer> {
    if (head.headers.authorization !== `Bearer ${this.token}`) return { code: 401, body: simStatus(401) };
    this.#servedBy.set(exchange, this.#store);
    return this.#api.handle(head, exchange);
  }

  async restart(): Promise<void> {
    await this.#while(() => {});
  }

  async compact(whileDown: (oldest: string) => void): Promise<void> {
    await this.#while(() => {
      this.#store.forgetPast();
      whileDown(String(this.#store.revision));
    });
  }

  /** Its new history may be ahead of the old one before anybody looks. */
  async lose(isOvertaking: boolean): Promise<void> {
    const { revision } = this.#store;
    await this.#while(() => this.#become(this.#newStore({ revision: isOvertaking ? revision + 20 : 1 })));
  }

  async backUp(): Promise<void> {
    this.#backup = this.#store.copy();
  }

  async setBack(bump: number): Promise<void> {
    await this.#while(() => {
      const copy = this.#backup!;
      const revision = copy.revision + bump;
      this.#become(this.#newStore({ ...copy, revision, ...(bump > 0 && { compacted: revision }) }));
    });
  }

  /** Another server answers from now on; those who are connected may stay where they are. */
  async flip(isCut: boolean): Promise<void> {
    const store =
      this.#other ?? this.#newStore({ revision: this.#store.revision + Math.floor(this.#random() * 60) - 30 });
    this.#other = this.#store;
    this.#become(store);
    if (isCut) this.line.drop();
  }

  /** One address is one server again: nobody is served by another. */
  settle(): void {
    this.line.drop((exchange) => {
      const store = this.#servedBy.get(exchange);
      return store !== undefined && store !== this.#store;
    });
  }

  /** Old tokens are refused from now on; whoever is connected stays. */
  rotateToken(): void {
    this.#tokens++;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #newStore(from: ConstructorParameters<typeof SimStore>[0]): SimStore {
    return new SimStore(from, () => ++this.#ids);
  }

  #become(store: SimStore): void {
    this.#store = store;
    this.#api = new SimApi(store, this.#clock, this.traits);
  }

  async #while(change: () => void): Promise<void> {
    this.isAway = true;
    this.line.drop();
    change();
    await this.#clock.sleep(Math.floor(this.#random() * 5_000));
    this.isAway = false;
  }

  /** Past the line; three may write at a time, and who is first is the seed's to say. */
  #admin(): ApiClient {
    const act = async <T>(
      work: (place: { plural: string; namespace: string | undefined; at: string }) => T,
      path: string,
    ) => {
      await this.#clock.sleep(1 + Math.floor(this.#random() * 50));
      const [, namespace, plural = '', name = ''] =
        /^\/api\/v1(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
      return work({ plural, namespace, at: `${plural}/${namespace ?? ''}/${name}` });
    };
    const admin = {
      create: (path: string, draft: SimObject) =>
        act(({ plural, namespace }) => this.#store.create(plural, namespace, draft), path),
      patch: (path: string, patch: object) => act(({ at }) => this.#store.patch(at, patch), path),
      delete: (path: string) => act(({ at }) => this.#store.remove(at), path),
      list: (path: string, query: Record<string, string> = {}) =>
        act(({ plural, namespace }) => {
          const [label, value] = (query.labelSelector ?? '').split('=');
          const fits = ({ metadata }: SimObject) => !label || metadata.labels?.[label] === value;
          const items = this.#store.list(plural, namespace).filter(fits);
          return { items, metadata: { resourceVersion: String(this.#store.revision) } };
        }, path),
    };
    return admin as unknown as ApiClient;
  }
}
