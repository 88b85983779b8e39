/**
 * The API of a simulated server, as far as the client uses it: lists in pages, watches with bookmarks and initial events,
 * reads and writes. What servers do differently is in its traits: whether they name their history, stream initial states,
 * say that a version is too large, send bookmarks, and how they say that history is gone.
 */
import type { Clock } from '../../../../src/api/index.ts';
import type { SimAnswer, SimExchange, SimHead } from './sim-line.ts';
import { simStatus } from './sim-line.ts';
import { type SimChange, type SimObject, SimRefusal, type SimStore } from './sim-store.ts';

export type SimTraits = {
  readonly namesHistory: boolean;
  readonly streamsInitialState: boolean;
  /** A watch from a version that is not there yet: refused, or silent. */
  readonly refusesFuture: boolean;
  readonly sendsBookmarks: boolean;
  /** Of a watch whose history is gone: a status, or an event. */
  readonly saysGoneBy: 'status' | 'event';
};

const HISTORY = 'longwatch-history';
const PATH = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/;
const BOOKMARK_MS = 60_000;
const PATIENCE_MS = 3_000;

type Place = { readonly plural: string; readonly namespace: string | undefined; readonly name: string | undefined };
type Selected = { readonly fits: (object: SimObject) => boolean; readonly shown: (object: SimObject) => object };
type Page = { readonly items: readonly SimObject[]; readonly version: string };

export class SimApi {
  readonly #store: SimStore;
  readonly #clock: Clock;
  readonly #traits: SimTraits;
  readonly #pages = new Map<string, Page>();
  #pageCount = 0;

  constructor(store: SimStore, clock: Clock, traits: SimTraits) {
    this.#store = store;
    this.#clock = clock;
    this.#traits = traits;
  }

  async handle(head: SimHead, exchange: SimExchange): Promise<SimAnswer> {
    const headers = this.#traits.namesHistory ? { [HISTORY]: this.#store.name } : {};
    try {
      return { headers, ...(await this.#answer(head, exchange)) };
    } catch (error) {
      if (!(error instanceof SimRefusal)) throw error;
      return { code: error.code, headers, body: error.status };
    }
  }

  async #answer(head: SimHead, exchange: SimExchange): Promise<SimAnswer> {
    const { method, body } = head;
    const place = placeOf(head.path);
    const { plural, namespace, name } = place;
    const store = this.#store;
    const at = `${plural}/${namespace ?? ''}/${name ?? ''}`;
    switch (method) {
      case 'GET':
        if (name !== undefined) return { code: 200, body: store.get(at) };
        if (head.query.get('watch') === 'true') return this.#watch(head, place, exchange);
        return this.#list(head, place, exchange);
      case 'POST':
        return { code: 201, body: store.create(plural, namespace, body as SimObject) };
      case 'PUT':
        return { code: 200, body: store.replace(at, body as SimObject) };
      case 'PATCH':
        return { code: 200, body: store.patch(at, body as object) };
      default:
        return { code: 200, body: store.remove(at) };
    }
  }

  async #list(head: SimHead, place: Place, exchange: SimExchange): Promise<SimAnswer> {
    const { query } = head;
    const limit = Number(query.get('limit') ?? 0);
    const token = query.get('continue');
    await this.#waitFor(query.get('resourceVersion'), exchange);
    const { fits, shown } = selectedBy(head);
    const page = token === null ? this.#whole(place, fits) : this.#pages.get(token);
    if (!page) throw new SimRefusal(410);
    const items = limit > 0 ? page.items.slice(0, limit) : page.items;
    const rest = page.items.slice(items.length);
    const next = `page-${++this.#pageCount}`;
    if (rest.length > 0) this.#pages.set(next, { ...page, items: rest });
    const metadata = { resourceVersion: page.version, ...(rest.length > 0 && { continue: next }) };
    const body = { kind: 'List', apiVersion: 'v1', metadata, items: items.map((item) => withoutKind(shown(item))) };
    return { code: 200, body };
  }

  #whole({ plural, namespace }: Place, fits: Selected['fits']): Page {
    return { items: this.#store.list(plural, namespace).filter(fits), version: String(this.#store.revision) };
  }

  async #watch(head: SimHead, place: Place, exchange: SimExchange): Promise<SimAnswer> {
    const { query } = head;
    const store = this.#store;
    const isInitial = query.get('sendInitialEvents') === 'true';
    const selected = selectedBy(head);
    const named = head.headers[HISTORY];
    if (this.#traits.namesHistory && named !== undefined && named !== store.name)
      throw new SimRefusal(410, 'OtherHistory');
    if (isInitial && !this.#traits.streamsInitialState) throw new SimRefusal(422);
    if (isInitial || this.#traits.refusesFuture) await this.#waitFor(query.get('resourceVersion'), exchange);
    const from = isInitial ? store.revision : Number(query.get('resourceVersion'));
    if (!isInitial && from < store.compacted) {
      if (this.#traits.saysGoneBy === 'status') throw new SimRefusal(410);
      exchange.send(line('ERROR', simStatus(410)));
      exchange.end();
      return { code: 200 };
    }
    if (isInitial) this.#sendInitial(place, selected, exchange);
    const tell = (change: SimChange) => {
      if (change.revision > from && isIn(change.at, place)) sendChange(change, selected, exchange);
    };
    for (const change of store.log) tell(change);
    store.follow(tell, exchange.over.signal);
    void this.#keepWatch(Number(query.get('timeoutSeconds') ?? 1800) * 1000, from, exchange);
    return { code: 200 };
  }

  #sendInitial({ plural, namespace }: Place, { fits, shown }: Selected, exchange: SimExchange): void {
    for (const object of this.#store.list(plural, namespace).filter(fits)) exchange.send(line('ADDED', shown(object)));
    exchange.send(this.#bookmark({ 'k8s.io/initial-events-end': 'true' }));
  }

  /** Bookmarks while it lives, and its end. */
  async #keepWatch(lifeMs: number, from: number, exchange: SimExchange): Promise<void> {
    const { signal } = exchange.over;
    try {
      for (let leftMs = lifeMs; leftMs > 0; leftMs -= BOOKMARK_MS) {
        await this.#clock.sleep(Math.min(leftMs, BOOKMARK_MS), signal);
        if (this.#traits.sendsBookmarks && this.#store.revision >= from) exchange.send(this.#bookmark());
      }
      exchange.end();
    } catch {
      // It is over.
    }
  }

  #bookmark(annotations?: Record<string, string>): string {
    const metadata = { resourceVersion: String(this.#store.revision), ...(annotations && { annotations }) };
    return line('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata });
  }

  /** A state that is not older than this version. */
  async #waitFor(version: string | null, exchange: SimExchange): Promise<void> {
    if (Number(version ?? 0) <= this.#store.revision) return;
    await this.#clock.sleep(PATIENCE_MS, exchange.over.signal);
    if (Number(version) > this.#store.revision) throw new SimRefusal(504, 'ResourceVersionTooLarge');
  }
}

function placeOf(path: string): Place {
  const [, namespace, plural, name] = PATH.exec(path) ?? [];
  if (plural === undefined) throw new SimRefusal(404);
  return { plural, namespace, name };
}

function isIn(at: string, { plural, namespace }: Place): boolean {
  return at.startsWith(namespace === undefined ? `${plural}/` : `${plural}/${namespace}/`);
}

function selectedBy({ query, headers }: SimHead): Selected {
  const [label, value] = (query.get('labelSelector') ?? '').split('=');
  const name = /^metadata\.name=(.+)$/.exec(query.get('fieldSelector') ?? '')?.[1];
  const isMetadata = (headers.accept ?? '').includes('PartialObjectMetadata');
  return {
    fits: ({ metadata }) =>
      (!label || metadata.labels?.[label] === value) && (name === undefined || metadata.name === name),
    shown: (object) => (isMetadata ? { ...PARTIAL, metadata: object.metadata } : object),
  };
}

const PARTIAL = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' };

function sendChange({ revision, old, now }: SimChange, { fits, shown }: Selected, exchange: SimExchange): void {
  const [was, is] = [old !== undefined && fits(old), now !== undefined && fits(now)];
  if (now && is) exchange.send(line(was ? 'MODIFIED' : 'ADDED', shown(now)));
  if (is || !old || !was) return;
  const last = { ...old, metadata: { ...old.metadata, resourceVersion: String(revision) } };
  exchange.send(line('DELETED', shown(last)));
}

function line(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function withoutKind(object: object): object {
  const { kind: _kind, apiVersion: _version, ...rest } = object as Record<string, unknown>;
  return rest;
}
