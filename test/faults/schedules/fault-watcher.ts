/**
 * One informer under faults, with a client and handlers of its own: what it holds, what it should hold, and how often it
 * had reason to fetch the whole state. Its name is the user agent, by which the proxy's records tell whom a fault struck.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CallbackError } from '../../../src/api/index.ts';
import { Informer } from '../../../src/client/advanced.ts';
import { CheckpointFile } from '../../../src/client/checkpoint/checkpoint-file.ts';
import {
  type AnyObject,
  CheckpointError,
  type InformerEvent,
  type InformerOptions,
  type KubeClient,
  keyOf,
  metadataOf,
  type Subscription,
} from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import type { ApiClient, ProxiedRequest } from '../../../src/testing/index.ts';
import { Believer } from '../../support/client/believer.ts';
import type { Grounds, Truth } from './fault-grounds.ts';
import { identityOf } from './fault-operator.ts';
import { NAMESPACES } from './fault-writes.ts';

export type Kind = {
  readonly name: string;
  /** Undefined: all of them. */
  readonly namespaces?: readonly string[];
  readonly labelSelector?: string;
  readonly isPaged?: boolean;
  readonly isMetadata?: boolean;
  /** Of its streams; others have ten to thirty. */
  readonly lifetimeSeconds?: readonly [number, number];
};

export const kinds: readonly Kind[] = [
  { name: 'everywhere', lifetimeSeconds: [4, 8] }, // one stream takes the place of another all the time
  { name: 'selected', namespaces: ['red'], labelSelector: 'tier=gold' },
  { name: 'two', namespaces: ['red', 'blue'] },
  { name: 'paged', isPaged: true },
  { name: 'metadata', namespaces: ['blue'], isMetadata: true },
];

type Opening = {
  readonly kind: Kind;
  readonly number: number;
  readonly grounds: Grounds;
  readonly signal: AbortSignal;
  readonly log: (text: string) => void;
  /** Of its checkpoint, if it has one. */
  readonly file?: string | undefined;
};

type Handler = {
  /** It never ends what it is at. */
  readonly isHung: boolean;
  readonly subscription: Subscription<AnyObject>;
  readonly believer: Believer<AnyObject>;
  readonly order: VersionOrder;
};

export class Watcher implements AsyncDisposable {
  readonly informer: Informer<AnyObject>;
  readonly #name: string;
  readonly #kind: Kind;
  readonly #client: KubeClient;
  readonly #handlers: Handler[] = [];
  readonly #synced: Promise<unknown>;
  #allowedFills: number;
  /** How often its server has begun a new history. */
  #turns = 0;
  #isLoose = false;
  readonly #errors: string[] = [];
  readonly #grounds: Grounds;
  readonly #file: string | undefined;
  /** Its disk was full when it began, and so it has none. */
  #isWithoutFile = false;
  #isOver = false;
  /** What it shows though the server has something else, and since when. */
  #staleSince: number | undefined;
  #staleMs: number;

  static async open(opening: Opening): Promise<Watcher> {
    const { grounds, kind, number } = opening;
    const userAgent = `${kind.name}-${number}`;
    return new Watcher(await grounds.connect(userAgent), userAgent, opening);
  }

  constructor(client: KubeClient, name: string, { kind, grounds, signal, log, file }: Opening) {
    this.#client = client;
    this.#name = name;
    this.#kind = kind;
    this.#grounds = grounds;
    this.#file = file;
    this.#allowedFills = this.sources;
    const { namespaces, labelSelector, isPaged, isMetadata, lifetimeSeconds: [min, max] = [10, 30] } = kind;
    const { patience, auditMs } = grounds;
    this.#staleMs = max * patience * 1000 + STALE_MS;
    const options: InformerOptions<AnyObject> = {
      ...(namespaces ? { namespace: namespaces } : { allNamespaces: true }),
      ...(labelSelector && { labelSelector }),
      ...(file && { checkpoint: { file, flushMs: FLUSH_MS } }),
      auditMs,
      reflector: {
        idleTimeoutMs: 5_000 * patience,
        lifetimeSeconds: [min * patience, max * patience],
        backoff: { minMs: 50 * patience, maxMs: 5_000 * patience },
        ...(isPaged && { useWatchList: false, pageItems: 3 }),
      },
      onFreshness: ({ state, resourceVersion, error }) =>
        log(`  ${name}: ${state} at ${resourceVersion}${error ? ` (${(error as Error).message})` : ''}`),
      onError: (error) => this.#onError(error),
    };
    this.informer = new Informer<AnyObject>(client, isMetadata ? metadataOf(configMaps) : configMaps, options);
    this.#synced = this.informer.synced(signal).catch(() => {}); // whoever waits leaves no listener behind
    this.#subscribe((event, believer) => believer.take(event), 1e6);
    this.addHandler('slow');
  }

  /** How many watches it has. */
  get sources(): number {
    return this.#paths.length;
  }

  tell(): string {
    const { state, resourceVersion } = this.informer.freshness;
    return `${this.#name} (${state} at ${resourceVersion})`;
  }

  get isKept(): boolean {
    return this.#file !== undefined;
  }

  /** Some of its versions may be lost: each watch may fetch the whole state once more. */
  mayFillAgainIf(isLost: (version: string) => boolean): boolean {
    const { resourceVersion } = this.informer;
    const isAllowed = resourceVersion === undefined || isLost(resourceVersion);
    if (isAllowed) this.#allowedFills += this.sources;
    return isAllowed;
  }

  /** Another history may have to be found out by more than one look: how often it fetches says nothing any more. */
  mayFillFreely(): void {
    this.#isLoose = true;
  }

  /** It may have been set back to something that nobody can tell from what was. */
  mayBeMisled(): void {
    this.#staleMs = Math.max(this.#staleMs, (this.#grounds.auditMs ?? USUAL_AUDIT_MS) * HIDDEN_AUDITS);
  }

  /** Versions may be given out anew from now on. */
  mayTurnBack(): void {
    this.#turns++;
  }

  addHandler(action: 'slow' | 'throwing' | 'hung'): void {
    if (action === 'hung') this.#subscribe(() => new Promise(() => {}), 100, true);
    else if (action === 'slow')
      this.#subscribe(async (event, believer) => {
        await new Promise((resolve) => setImmediate(resolve));
        believer.take(event);
      }, 2);
    else
      this.#subscribe((event, believer) => {
        believer.take(event);
        throw new HandlerBug();
      }, 100);
  }

  async removeHandler(): Promise<void> {
    await this.#handlers.splice(1, 1)[0]?.subscription[Symbol.asyncDispose]();
  }

  hasMark(mark: string): boolean {
    const namespaces = this.#kind.namespaces ?? NAMESPACES;
    return namespaces.every((namespace) => this.informer.get(`${namespace}/mark`)?.metadata.annotations?.mark === mark);
  }

  /** Whether it holds what the server has at this moment, by uid and version. */
  isTrueTo({ objects }: Truth): boolean {
    const spaces: readonly string[] = this.#kind.namespaces ?? NAMESPACES;
    const wanted = [...objects(this.#kind.labelSelector)].filter(([key]) => spaces.includes(key.split('/')[0]!));
    if (wanted.length !== this.informer.size) return false;
    return wanted.every(([key, identity]) => identityOf(this.informer.get(key)) === identity);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#handlers.map(({ isHung, subscription }) => !isHung && subscription.idle()));
  }

  objects(): Map<string, AnyObject> {
    return byKey(this.informer.list());
  }

  /** What it should hold, from the server itself. */
  async freshList(client: ApiClient): Promise<Map<string, AnyObject>> {
    const { labelSelector, isMetadata } = this.#kind;
    const query = labelSelector ? { labelSelector } : {};
    const lists = await Promise.all(this.#paths.map((path) => client.list(path, query)));
    const items = lists.flatMap((list) => list.items as unknown[] as AnyObject[]);
    if (isMetadata) return byKey(items.map(({ metadata }) => ({ ...METADATA_ONLY, metadata })));
    return byKey(items.map((item) => ({ ...item, kind: 'ConfigMap', apiVersion: 'v1' })));
  }

  /** What is wrong with what it says of itself, at this moment. */
  lies(): string[] {
    const { truth } = this.#grounds;
    if (!truth || this.#isOver) return [];
    const now = truth.awake();
    if (this.isTrueTo(truth)) this.#staleSince = undefined;
    else this.#staleSince ??= now;
    const { state, lagMs = Number.POSITIVE_INFINITY } = this.informer.freshness;
    const staleMs = now - (this.#staleSince ?? now);
    const isLie = state === 'current' && lagMs < STALE_MS && staleMs > this.#staleMs;
    return isLie ? [`${this.tell()} calls itself current, and was not what the server has for ${staleMs} ms`] : [];
  }

  /** In a quiet moment: what a process would begin with that starts now. A handler that hangs holds it up, as it should. */
  async expectSaved(): Promise<void> {
    if (!this.#file || this.#isWithoutFile || this.#handlers.some(({ isHung }) => isHung)) return;
    await this.informer.saved();
    const saved = await new CheckpointFile(this.#file).read();
    expectSame(`the checkpoint of ${this.tell()}`, new Map(saved?.objects), this.objects());
  }

  /** Everything but the store itself, in a quiet moment. */
  check(requests: readonly ProxiedRequest[]): void {
    for (const { isHung, believer, subscription, order } of this.#handlers) {
      const who = `handler ${subscription.name} of ${this.tell()}`;
      if (isHung) {
        this.#expectSaid(subscription);
        continue;
      }
      const complaints = [...believer.complaints, ...order.complaints];
      if (complaints.length > 0) throw new Error(`${who} was told ${complaints.join(', ')}`);
      expectSame(`what ${who} believes`, believer.believed, this.objects());
    }
    if (this.#errors.length > 0) throw new Error(`${this.tell()} reports ${this.#errors.join(', ')}`);
    if (this.#isLoose) return;
    const gone = requests.flatMap(({ userAgent, faults }) => (userAgent === this.#name ? faults : []));
    const expired = gone.filter((fault) => fault.includes('410')).length;
    const { lists, unknownHistories, audits } = this.informer.metrics;
    const late = this.#grounds.truth?.sendsBookmarks === false ? audits * this.sources : 0;
    const most = this.#allowedFills + expired + unknownHistories + late;
    // Where time is real, a machine that stands still for some seconds is one more reason, and nobody counts it.
    const isTooOften = this.#grounds.truth !== undefined && lists > most;
    if ((lists < this.sources && !this.isKept) || isTooOften)
      throw new Error(`${this.tell()} has fetched the whole state ${lists} times; it had reason for ${most}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.informer[Symbol.asyncDispose]();
    await this.#synced;
    await this.#client.close();
  }

  get #paths(): string[] {
    return this.#kind.namespaces?.map((name) => `/api/v1/namespaces/${name}/configmaps`) ?? ['/api/v1/configmaps'];
  }

  /** Of a handler that hangs, everybody can see how long it has been at it. */
  #expectSaid({ name, metrics: { busyMs, backlog, delivered } }: Subscription<AnyObject>): void {
    if (busyMs === 0 && backlog + delivered > 0)
      throw new Error(`handler ${name} of ${this.tell()} hangs, and its metrics do not say so`);
    if (this.informer.freshness.busyMs < busyMs) throw new Error(`${this.tell()} does not say that ${name} hangs`);
  }

  #onError(error: unknown): void {
    if (error instanceof CheckpointError && error.code === 'Disk' && this.#grounds.truth?.disk.wasFull) {
      this.#isWithoutFile ||= error.message.startsWith('Cannot open');
      return;
    }
    const { callback, cause } = error as Partial<CallbackError>;
    const isTheirs =
      cause instanceof HandlerBug || /has not ended within/.test((cause as Error | undefined)?.message ?? '');
    // An audit may tell that a server was set back which nobody could see otherwise.
    const isAudit = this.#isLoose && /Cannot trust the store/.test(String(error));
    if (!(callback?.startsWith('handler ') && isTheirs) && !isAudit) this.#errors.push(String(error));
  }

  #subscribe(
    handle: (event: InformerEvent<AnyObject>, believer: Believer<AnyObject>) => unknown,
    limit: number,
    isHung = false,
  ): void {
    const believer = new Believer<AnyObject>();
    const order = new VersionOrder();
    const handler = (event: InformerEvent<AnyObject>) => {
      order.take(event, this.#turns);
      return handle(event, believer);
    };
    this.#handlers.push({ isHung, believer, order, subscription: this.informer.subscribe(handler, { limit }) });
  }
}

/** Silence is noticed, a stream is taken up again, a state is fetched: then it must be true again, or say that it is not. */
const STALE_MS = 180_000;
/** Of a server that was set back and does not say so, only an audit tells; one may fail while faults strike. */
const HIDDEN_AUDITS = 1.4;
const USUAL_AUDIT_MS = 3_600_000;
const FLUSH_MS = 2_000;

/** Whatever is told of an object is newer than what was told before, but for once after each turn of the server's history. */
class VersionOrder {
  readonly complaints: string[] = [];
  readonly #last = new Map<string, { readonly version: bigint; readonly turns: number }>();

  take({ type, key, object }: InformerEvent<AnyObject>, turns: number): void {
    const version = BigInt(object.metadata.resourceVersion);
    const last = this.#last.get(key);
    // A deletion that is found by a fetch has no version of its own.
    const goesBack = last && (type === 'deleted' ? version < last.version : version <= last.version);
    if (goesBack && last.turns >= turns) this.complaints.push(`${type} ${key} at ${version} after ${last.version}`);
    this.#last.set(key, { version, turns: (last?.turns ?? 0) + (goesBack ? 1 : 0) });
  }
}

const METADATA_ONLY = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };

class HandlerBug extends Error {}

function byKey(objects: readonly AnyObject[]): Map<string, AnyObject> {
  return new Map(objects.map((object) => [keyOf(object), object]));
}

export function expectSame(
  what: string,
  got: ReadonlyMap<string, AnyObject>,
  want: ReadonlyMap<string, AnyObject>,
): void {
  const keys = new Set([...got.keys(), ...want.keys()]);
  const wrong = [...keys].filter((key) => !isDeepStrictEqual(got.get(key), want.get(key)));
  if (wrong.length === 0) return;
  const tell = (object: AnyObject | undefined) =>
    object ? `${object.metadata.uid.slice(0, 8)} ${object.metadata.resourceVersion}` : 'nothing';
  const lines = wrong.map((key) => `${key}: ${tell(got.get(key))}, and not ${tell(want.get(key))}`);
  throw new Error(`${what} is not what it should be:\n  ${lines.join('\n  ')}`);
}
