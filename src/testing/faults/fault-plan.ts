/**
 * Faults as a script: a list of rules, and a seed, so that a run can be repeated. A rule without a time strikes requests as
 * they come, by chance; one with `after` or `every` strikes what is open at that moment, or, for those that can only
 * strike what comes, requests during `for`.
 *
 * Always true: each rule draws its chances from a sequence of its own, so what one rule does is the same whatever
 * the others do, as long as the requests come in the same order.
 */
import { type Clock, parseGoDurationMs, systemClock } from '../../api/index.ts';
import type { ProxiedRequest } from './fault-exchange.ts';
import type { Fate, FaultProxy } from './fault-proxy.ts';

const KINDS = ['cut', 'stall', 'end', 'truncate', 'garble', 'delay', 'answer', 'error', 'compact', 'lose'] as const;
const FOR_REQUESTS = ['any', 'watch', 'list', 'read', 'write'] as const;
/** These strike requests to come; at a time they hold for a while. */
const LASTING: readonly string[] = ['delay', 'answer', 'lose'];
/** These have no meaning for a request that has just come. */
const OPEN_ONLY: readonly string[] = ['end', 'error', 'compact'];
const HOLDS_MS = 1000;

export type FaultRule = {
  readonly fault: (typeof KINDS)[number];
  readonly to: (typeof FOR_REQUESTS)[number];
  /** What their path begins with. */
  readonly path: string;
  readonly chance: number;
  readonly times: number;
  readonly afterMs: number | undefined;
  readonly everyMs: number | undefined;
  readonly forMs: number;
  readonly delayMs: number;
  readonly code: number;
  readonly retryAfterSeconds: number | undefined;
};

/** From what a file of YAML or JSON holds; throws a sentence that names the place. */
export function readFaults(document: unknown): { seed: number | undefined; rules: FaultRule[] } {
  const { seed, faults, ...others } = objectAt(document, 'the file');
  refuseOthers(others, 'the file');
  if (!Array.isArray(faults)) throw new Error('Cannot use the faults: faults must be a list');
  return { seed: seed === undefined ? undefined : numberAt(seed, 'seed', 0), rules: faults.map(readRule) };
}

function readRule(value: unknown, n: number): FaultRule {
  const place = `faults[${n}]`;
  const {
    fault,
    to = 'any',
    path = '/',
    chance = 1,
    times,
    after,
    every,
    delay,
    code,
    retryAfter,
    ...rest
  } = objectAt(value, place);
  const { for: lasts, ...others } = rest;
  refuseOthers(others, place);
  const rule: FaultRule = {
    fault: oneOf(fault, KINDS, `${place}.fault`),
    to: oneOf(to, FOR_REQUESTS, `${place}.to`),
    path: String(path),
    chance: numberAt(chance, `${place}.chance`, 0, 1),
    times: times === undefined ? Number.POSITIVE_INFINITY : numberAt(times, `${place}.times`, 1),
    afterMs: after === undefined ? undefined : durationAt(after, `${place}.after`),
    everyMs: every === undefined ? undefined : durationAt(every, `${place}.every`),
    forMs: lasts === undefined ? HOLDS_MS : durationAt(lasts, `${place}.for`),
    delayMs: delay === undefined ? 100 : durationAt(delay, `${place}.delay`),
    code: code === undefined ? (fault === 'error' ? 410 : 503) : numberAt(code, `${place}.code`, 400, 599),
    retryAfterSeconds: retryAfter === undefined ? undefined : durationAt(retryAfter, `${place}.retryAfter`) / 1000,
  };
  if (OPEN_ONLY.includes(rule.fault) && !isTimed(rule))
    throw new Error(`Cannot use the faults: ${place} needs after or every: "${rule.fault}" strikes what is open`);
  return rule;
}

type Standing = { readonly rule: FaultRule; readonly random: () => number; left: number; holdsUntil: number };

export class FaultPlan {
  readonly #standings: readonly Standing[];
  readonly #clock: Clock;
  readonly #onFault: (line: string) => void;
  /** Who has not the state of a path since its history went: a list, or a watch that begins with the state, makes it good. */
  readonly #behind = new Set<string>();

  constructor(rules: readonly FaultRule[], seed: number, options: { clock?: Clock; onFault?: (line: string) => void }) {
    this.#clock = options.clock ?? systemClock;
    this.#onFault = options.onFault ?? (() => {});
    this.#standings = rules.map((rule, n) => {
      return { rule, random: randomOf(seed + n * 7919), left: rule.times, holdsUntil: Number.NEGATIVE_INFINITY };
    });
  }

  /** What becomes of a request: for `FaultProxy.plan`. */
  decide(request: ProxiedRequest): Fate | undefined {
    const who = readerOf(request);
    const resumes = request.kind === 'watch' && !beginsWithState(request);
    if (resumes && this.#behind.has(who)) return this.#struck({ answer: { code: 410 } }, 'answer 410', request);
    const fate = this.#byRules(request);
    const isAnswered = fate === undefined || fate.delayMs !== undefined || fate.empty === true;
    if (isAnswered && (request.kind === 'list' || beginsWithState(request))) this.#behind.delete(who);
    return fate;
  }

  #byRules(request: ProxiedRequest): Fate | undefined {
    for (const standing of this.#standings) {
      const { rule } = standing;
      const isOn = isTimed(rule) ? this.#clock.now() < standing.holdsUntil : standing.left > 0;
      if (!isOn || !fits(rule, request)) continue;
      if (standing.random() >= rule.chance) continue;
      const fate = fateOf(rule, request);
      if (!fate) continue;
      if (!isTimed(rule)) standing.left--;
      return this.#struck(fate, rule.fault === 'answer' ? `answer ${rule.code}` : rule.fault, request);
    }
    return undefined;
  }

  /** Strikes by time until the signal fires. */
  async run(proxy: FaultProxy, signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#standings.filter(({ rule }) => isTimed(rule)).map((standing) => this.#repeat(standing, proxy, signal)),
    );
  }

  async #repeat(standing: Standing, proxy: FaultProxy, signal: AbortSignal): Promise<void> {
    const { rule, random } = standing;
    // Half as long up to half as long again, so that faults do not march in step.
    const pause = () => (rule.everyMs ?? 0) * (0.5 + random());
    for (let waitMs = rule.afterMs ?? pause(); standing.left > 0; waitMs = pause()) {
      await this.#clock.sleep(waitMs, signal).catch(() => {});
      if (signal.aborted) return;
      standing.left--;
      if (LASTING.includes(rule.fault)) {
        standing.holdsUntil = this.#clock.now() + rule.forMs;
        if (rule.fault === 'lose') proxy.cut((request) => request.kind === 'watch' && fits(rule, request));
        this.#onFault(`${rule.fault} for ${rule.forMs} ms`);
        await this.#clock.sleep(rule.forMs, signal).catch(() => {});
      } else this.#strike(rule, proxy, random);
      if (rule.everyMs === undefined) return;
    }
  }

  #strike(rule: FaultRule, proxy: FaultProxy, random: () => number): void {
    const which = (request: ProxiedRequest) => fits(rule, request) && random() < rule.chance;
    let struck = 0;
    if (rule.fault === 'error')
      struck = proxy.sendError((request) => request.kind === 'watch' && which(request), rule.code);
    else if (rule.fault === 'compact')
      struck = proxy.sendError((request) => {
        if (request.kind !== 'watch' || !which(request)) return false;
        this.#behind.add(readerOf(request));
        return true;
      }, 410);
    else struck = proxy[rule.fault as 'cut' | 'stall' | 'end' | 'truncate' | 'garble'](which);
    this.#onFault(`${rule.fault}: ${struck} open requests`);
  }

  #struck(fate: Fate, what: string, { method, path }: ProxiedRequest): Fate {
    this.#onFault(`${what}: ${method} ${path}`);
    return fate;
  }
}

/** Clients are told apart by how they call themselves. */
function readerOf({ path, userAgent }: ProxiedRequest): string {
  return `${path} ${userAgent}`;
}

/** A watch of no version, or one that sends the state first. */
function beginsWithState({ kind, query }: ProxiedRequest): boolean {
  return kind === 'watch' && (!query.get('resourceVersion') || query.get('sendInitialEvents') === 'true');
}

function fateOf(rule: FaultRule, request: ProxiedRequest): Fate | undefined {
  switch (rule.fault) {
    case 'cut':
    case 'stall':
    case 'truncate':
    case 'garble':
      return { [rule.fault]: true };
    case 'delay':
      return { delayMs: rule.delayMs };
    case 'answer': {
      const { code, retryAfterSeconds } = rule;
      return { answer: { code, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) } };
    }
    case 'lose':
      return lost(request);
    default:
      return undefined;
  }
}

/** As of a server that was started on an empty disk: nothing is there, and versions begin anew. */
function lost({ kind, path }: ProxiedRequest): Fate | undefined {
  if (kind === 'watch') return { answer: { code: 410 } };
  if (kind === 'list') return { empty: true };
  // An object has a name behind its kind; what is shorter is discovery, and stays.
  const parts = path.split('/').length;
  const isObject = path.startsWith('/apis/') ? parts > 5 : path.startsWith('/api/') && parts > 4;
  return kind === 'read' && isObject ? { answer: { code: 404 } } : undefined;
}

function fits({ to, path }: FaultRule, request: ProxiedRequest): boolean {
  return (to === 'any' || to === request.kind) && request.path.startsWith(path);
}

function isTimed({ afterMs, everyMs }: FaultRule): boolean {
  return afterMs !== undefined || everyMs !== undefined;
}

function objectAt(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`Cannot use the faults: ${place} must be an object`);
}

function refuseOthers(others: object, place: string): void {
  const [name] = Object.keys(others);
  if (name !== undefined) throw new Error(`Cannot use the faults: ${place} has "${name}", which means nothing here`);
}

function oneOf<T extends string>(value: unknown, names: readonly T[], place: string): T {
  if (names.includes(value as T)) return value as T;
  throw new Error(`Cannot use the faults: ${place} must be one of ${names.join(', ')}, not ${JSON.stringify(value)}`);
}

function numberAt(value: unknown, place: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw new Error(`Cannot use the faults: ${place} must be a number from ${least}, not ${JSON.stringify(value)}`);
}

function durationAt(value: unknown, place: string): number {
  try {
    return parseGoDurationMs(String(value));
  } catch {
    throw new Error(
      `Cannot use the faults: ${place} must be a duration such as 200ms or 1m, not ${JSON.stringify(value)}`,
    );
  }
}

/** mulberry32: small, and the same everywhere. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
