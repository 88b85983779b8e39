/**
 * API Priority and Fairness: puts every request into the priority level of the first FlowSchema that matches it, and
 * divides the seats of the server among the levels.
 *
 *   schemas, levels ─► digest ─► matchers in order, a LevelState per level
 *   request ─► match ─► estimate ─► the level's queues ─► FlowTicket
 *
 * Always true: there is a place for every request (`exempt` and `catch-all` are imagined where they are missing); a level
 * that is removed lives on until nobody is in it; the seats of all levels are looked at anew after every change of
 * configuration and every ten seconds.
 */
import type { Attributes } from '../auth/authorizer.ts';
import { CpuAccount } from '../event-loop/run-queue.ts';
import { requestKind } from '../request/request-kind.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { SeatCounter } from '../workers/seat-table.ts';
import type { FlowSchema, PriorityLevel } from './configuration/flow-objects.ts';
import {
  CATCH_ALL,
  catchAllLevel,
  catchAllSchema,
  EXEMPT,
  exemptLevel,
  exemptSchema,
} from './configuration/mandatory.ts';
import { compileSchema, inOrder, type SchemaMatcher } from './configuration/schema-matcher.ts';
import { type SeatTimer, systemTimer } from './fair-queuing/seat-timer.ts';
import type { FlowGate, FlowTicket, FlowUids, GatedRequest, SeatObserver } from './flow-gate.ts';
import type { FlowObserver } from './flow-observer.ts';
import { LevelState, sharesOf } from './priority-level/level-state.ts';
import { allocateSeats, levelLimits } from './priority-level/seat-limits.ts';
import { SeatTicket } from './seat-ticket.ts';
import { type WatchedPlace, type WatcherCount, WatcherCounts } from './watcher-counts.ts';
import { estimateWork, type ResourceSize } from './work-estimate.ts';

export type FlowControllerOptions = {
  /** Of all levels together. */
  readonly totalSeats: number;
  /** Where the seats of a level are counted, if other threads have them too. */
  readonly seatsOf?: (level: string) => SeatCounter | undefined;
  readonly sizeOf?: (group: string, version: string, resource: string) => ResourceSize | undefined;
  readonly onSeat?: SeatObserver;
  readonly observer?: FlowObserver;
  readonly timer?: SeatTimer;
  /** In seconds, of the wall clock. */
  readonly wallClock?: () => number;
};

/** A schema with its level, ready to be asked. */
export type Placement = {
  readonly schema: FlowSchema;
  readonly matches: SchemaMatcher;
  readonly level: LevelState;
  readonly uids: FlowUids;
};

const ADJUST_SECONDS = 10;
/** All but watches run outside of flow control. */
const LONG_SUBRESOURCES = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

export class FlowController implements FlowGate {
  readonly watchers: WatcherCounts = new WatcherCounts();
  fairFraction = 0;
  readonly #options: FlowControllerOptions;
  readonly #timer: SeatTimer;
  readonly #levels = new Map<string, LevelState>();
  /** Of the flows that were there since the last look at the seats. */
  #accounts = new Map<string, CpuAccount>();
  #accountsBefore = this.#accounts;
  #placements: readonly Placement[] = [];
  #catchAll!: Placement;
  #stopAdjusting: () => void = () => {};

  constructor(options: FlowControllerOptions) {
    this.#options = options;
    this.#timer = options.timer ?? systemTimer;
    this.digest([], []);
  }

  /** Also those that are leaving. */
  get levels(): ReadonlyMap<string, LevelState> {
    return this.#levels;
  }

  get timer(): SeatTimer {
    return this.#timer;
  }

  get totalSeats(): number {
    return this.#options.totalSeats;
  }

  /** From now on these count, and no others. */
  digest(schemas: readonly FlowSchema[], levels: readonly PriorityLevel[]): void {
    const wanted = new Map(levels.map((level) => [level.name, level]));
    if (wanted.get(EXEMPT)?.queuing.kind !== 'exempt') wanted.set(EXEMPT, exemptLevel);
    if ((wanted.get(CATCH_ALL)?.queuing.kind ?? 'exempt') === 'exempt') wanted.set(CATCH_ALL, catchAllLevel);
    for (const [name, state] of this.#levels) state.isQuiescing = !wanted.has(name);
    this.#dropIdle();
    const leaving = [...this.#levels.values()].filter(({ isQuiescing }) => isQuiescing);
    const configs = [...wanted.values(), ...leaving.map(({ config }) => config)];
    for (const config of wanted.values()) this.#levels.get(config.name)?.configure(config);
    this.#setLimits(configs);
    this.#place(schemas);
    this.adjust();
  }

  /** Looks at what every level was asked for, and gives out the seats anew. */
  adjust(): void {
    this.#stopAdjusting();
    this.#stopAdjusting = this.#timer.after(ADJUST_SECONDS, () => {
      this.#dropIdle();
      this.#accountsBefore = this.#accounts;
      this.#accounts = new Map();
      this.adjust();
    });
    const levels = [...this.#levels.values()];
    const { seats, targets, fairFraction } = allocateSeats(levels.map((level) => level.lookAtDemand()));
    this.fairFraction = fairFraction;
    levels.forEach((level, i) => {
      level.look.target = targets[i]!;
      if (seats) level.set.setLimit(seats[i]!);
    });
  }

  /** The schema that a request belongs to. */
  placementOf(user: UserInfo, attributes: Attributes): Placement {
    for (const placement of this.#placements) if (placement.matches(user, attributes)) return placement;
    return this.#catchAll;
  }

  ticketFor(request: GatedRequest, attributes: Attributes, waitSeconds: number): FlowTicket | undefined {
    const isResource = attributes.kind === 'resource';
    if (isResource ? LONG_SUBRESOURCES.has(attributes.subresource) : attributes.path.startsWith('/debug/pprof/'))
      return undefined;
    const { user, method, path } = request;
    const { schema, level, uids } = this.placementOf(user, attributes);
    const { queuing } = level.config;
    const isSpread = queuing.kind === 'queue' && queuing.queues > 1;
    const distinguisher = isSpread ? distinguisherOf(schema, user, attributes) : '';
    const estimate = isResource
      ? estimateWork({
          verb: attributes.verb,
          resource: attributes.resource,
          subresource: attributes.subresource,
          namesOne: attributes.name !== '',
          query: () => request.query,
          size: this.#sizeFor(attributes),
          watchers: () => this.#interested(attributes, schema, level),
          maxSeats: level.limits.maxSeats,
        })
      : undefined;
    return new SeatTicket({
      account: this.#accountOf(schema.name, distinguisher),
      level,
      schema,
      uids,
      distinguisher,
      estimate,
      waitSeconds,
      kind: requestKind(method),
      isWatch: isResource && attributes.verb === 'watch',
      about: { user, attributes, path },
      timer: this.#timer,
      onSeat: this.#options.onSeat,
      observer: this.#options.observer,
      second: this.#second,
      watch: () => this.#watch(attributes, request.query),
    });
  }

  close(): void {
    this.#stopAdjusting();
  }

  /** Whoever stays away for a while begins anew. */
  #accountOf(schemaName: string, distinguisher: string): CpuAccount {
    const flow = `${schemaName}/${distinguisher}`;
    let account = this.#accounts.get(flow);
    if (account) return account;
    account = this.#accountsBefore.get(flow) ?? new CpuAccount();
    this.#accounts.set(flow, account);
    return account;
  }

  readonly #second = (): number => Math.floor((this.#options.wallClock ?? wallSeconds)());

  #sizeFor({ verb, group, version, resource }: Extract<Attributes, { kind: 'resource' }>): ResourceSize | undefined {
    return verb === 'list' || verb === 'watch' ? this.#options.sizeOf?.(group, version, resource) : undefined;
  }

  #interested(place: WatchedPlace, schema: FlowSchema, level: LevelState): number {
    const count = this.watchers.interested(place);
    this.#options.observer?.watchersFound(level.config.name, schema.name, count);
    return count;
  }

  #watch(attributes: Attributes, query: URLSearchParams): WatcherCount | undefined {
    if (attributes.kind !== 'resource') return undefined;
    const { group, resource } = attributes;
    const isOfNode =
      group === '' && resource === 'pods' && /(^|,)spec\.nodeName==?[^,]/.test(query.get('fieldSelector') ?? '');
    return isOfNode ? undefined : this.watchers.add(attributes);
  }

  #dropIdle(): void {
    for (const [name, state] of this.#levels)
      if (state.isQuiescing && state.set.isIdle) {
        this.#levels.delete(name);
        this.#options.observer?.levelGone(name);
      }
  }

  #setLimits(configs: readonly PriorityLevel[]): void {
    const states = configs.map((config) => this.#levels.get(config.name));
    const shares = configs.map(sharesOf);
    levelLimits(this.#options.totalSeats, shares).forEach((limits, i) => {
      const state = states[i];
      if (state) state.limits = limits;
      else {
        const config = configs[i]!;
        const observer = this.#options.observer?.ofLevel(config.name);
        const shared = this.#options.seatsOf?.(config.name);
        this.#levels.set(config.name, new LevelState(config, limits, this.#timer, observer, shared));
      }
    });
  }

  #place(schemas: readonly FlowSchema[]): void {
    const isThere = ({ levelName }: FlowSchema) => this.#levels.get(levelName)?.isQuiescing === false;
    const usable = inOrder(schemas.filter(isThere));
    if (!usable.some(({ name }) => name === EXEMPT)) usable.unshift(exemptSchema);
    if (!usable.some(({ name }) => name === CATCH_ALL)) usable.push(catchAllSchema);
    this.#placements = usable.map((schema) => {
      const level = this.#levels.get(schema.levelName)!;
      const uids = { flowSchemaUid: schema.uid, priorityLevelUid: level.config.uid };
      return { schema, matches: compileSchema(schema), level, uids };
    });
    this.#catchAll = this.#placements.find(({ schema }) => schema.name === CATCH_ALL)!;
  }
}

function distinguisherOf({ distinguisher }: FlowSchema, user: UserInfo, attributes: Attributes): string {
  if (distinguisher === 'ByUser') return user.username;
  return distinguisher === 'ByNamespace' && attributes.kind === 'resource' ? attributes.namespace : '';
}

function wallSeconds(): number {
  return Date.now() / 1000;
}
