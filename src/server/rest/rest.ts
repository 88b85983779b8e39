/** What every handler of the resource API works with. */
import { isStatusError, rfc3339, wallNow } from '../../api/index.ts';
import type { AdmissionChain } from '../admission/admission-chain.ts';
import { type Attributes, type Authorizer, attributesOf } from '../auth/authorizer.ts';
import type { ReviewToken } from '../auth/token-review.ts';
import type { WriteGuard } from '../rbac/escalation.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { WatchExpiry, WatchKeeper } from '../storage/object-watch.ts';
import type { ResourceStorages } from '../storage/resource-storages.ts';
import { SetBackError } from '../storage/set-back-error.ts';
import type { PortRange, StrategyContext } from '../strategy/strategy.ts';
import type { ServiceAccountTokens } from '../tokens/service-account-tokens.ts';
import { ConflictLine } from './conflict-line.ts';
import type { OnExpiry } from './reading/expiry.ts';
import { OpenWatches } from './reading/open-watches.ts';
import { RecentWriters } from './reading/recent-writers.ts';
import { listedRevision, type RequestFacts, requestFacts } from './reading/request-facts.ts';
import type { WatchOpening, WatchTracking } from './reading/watch.ts';
import { type Asking, type Surroundings, WriteContext } from './strategy-context.ts';
import { UniqueWrites } from './unique-writes.ts';

export type RestParts = {
  readonly storages: ResourceStorages;
  readonly tracker: WatchTracking;
  readonly authorizer: Authorizer;
  readonly reviewToken: ReviewToken;
  readonly tokens: ServiceAccountTokens;
  /** What may still change or refuse a write. */
  readonly admission: AdmissionChain;
  /** Part of the strategy of roles and bindings: asked after admission could change them. */
  readonly guard: WriteGuard;
  readonly allowsPrivileged?: boolean;
  /** What services may have on every node. */
  readonly nodePorts?: PortRange | undefined;
  /** Told of every answer that history is gone. */
  readonly onExpiry?: OnExpiry;
  /** Which thread of a server this is; 0 without others. */
  readonly worker?: number;
};

const serverItself: Asking = { warn: () => {}, signal: new AbortController().signal };

export class Rest {
  readonly storages: ResourceStorages;
  readonly tracker: WatchTracking;
  readonly authorizer: Authorizer;
  readonly reviewToken: ReviewToken;
  readonly tokens: ServiceAccountTokens;
  readonly admission: AdmissionChain;
  readonly guard: WriteGuard;
  readonly openWatches: OpenWatches;
  readonly writers: RecentWriters = new RecentWriters();
  readonly conflicts: ConflictLine = new ConflictLine();
  readonly uniqueWrites: UniqueWrites = new UniqueWrites();
  readonly #around: Surroundings;
  readonly #onExpiry: OnExpiry;

  constructor(parts: RestParts) {
    const { storages, tracker, authorizer, reviewToken, tokens, admission, guard } = parts;
    this.openWatches = new OpenWatches(parts.worker);
    this.storages = storages;
    this.tracker = tracker;
    this.authorizer = authorizer;
    this.reviewToken = reviewToken;
    this.tokens = tokens;
    this.admission = admission;
    this.guard = guard;
    this.#around = {
      storages,
      authorizer,
      allowsPrivileged: parts.allowsPrivileged ?? false,
      nodePorts: parts.nodePorts,
      parsed: new WeakMap(),
    };
    this.#onExpiry = parts.onExpiry ?? (() => {});
  }

  /** Keeps a watch only as long as whoever asked for it may watch. */
  trackerFor(context: RequestContext): WatchOpening {
    const { method, path, requestInfo } = context;
    const attributes = attributesOf(method, path, requestInfo, () => context.query);
    const request = requestFacts(context); // its headers go when the stream begins
    return {
      minTimeoutMs: this.tracker.minTimeoutMs,
      add: (watch, timeoutMs) => {
        watch.keeper = new Keeper(this, attributes, request);
        this.openWatches.add(watch, request, timeoutMs);
        this.tracker.add(watch, timeoutMs);
      },
    };
  }

  /** Tells of a refusal before any stream has begun, if it is that history is gone. */
  noteRefusal(context: RequestContext, err: unknown): void {
    if (!isStatusError(err, 'Expired')) return;
    const { message, status } = err;
    const isOther = status.details?.causes?.some(({ reason }) => reason === 'OtherHistory') ?? false;
    const request = requestFacts(context);
    this.#onExpiry({
      request,
      askedRevision: listedRevision(context),
      wasOpen: false,
      oldestRevision: undefined,
      reason: isOther ? 'history' : this.#reasonOf(request),
      message,
    });
  }

  /** Of a watch that was open. */
  noteExpiry(request: RequestFacts, { asked, wasLive, oldest, cause, message }: WatchExpiry): void {
    this.#onExpiry({
      request,
      askedRevision: asked,
      wasOpen: wasLive,
      oldestRevision: oldest,
      reason: cause instanceof SetBackError ? 'history' : this.#reasonOf(request),
      message,
    });
  }

  /** What is not stored has no history but its window. */
  #reasonOf({ group, version, resource }: RequestFacts): 'compaction' | 'window' {
    return this.storages.isLive(group, version, resource) ? 'window' : 'compaction';
  }

  /** For what the server writes by itself: there is no one to warn, and nobody who could leave. */
  ownContext(subresource: string): StrategyContext {
    return this.strategyContext(serverItself, subresource);
  }

  strategyContext(asking: Asking, subresource: string, isDryRun = false): WriteContext {
    return new WriteContext(this.#around, asking, nowInSeconds(), subresource, isDryRun);
  }
}

let lastSecond = 0;
let lastText = '';

/** RFC 3339 in whole seconds, as all times of the API are. */
export function nowInSeconds(): string {
  const second = Math.floor(wallNow() / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = rfc3339(second * 1000);
  }
  return lastText;
}

/** Whoever asked for a watch may watch only as long as they have the right to. */
class Keeper implements WatchKeeper {
  readonly #rest: Rest;
  readonly #attributes: Attributes;
  readonly #request: RequestFacts;

  constructor(rest: Rest, attributes: Attributes, request: RequestFacts) {
    this.#rest = rest;
    this.#attributes = attributes;
    this.#request = request;
  }

  async mayGoOn(): Promise<boolean> {
    return (await this.#rest.authorizer.authorize(this.#request.user, this.#attributes)).allowed;
  }

  expired(expiry: WatchExpiry): void {
    this.#rest.noteExpiry(this.#request, expiry);
  }
}
