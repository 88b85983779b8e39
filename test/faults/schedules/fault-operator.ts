/**
 * One process of an operator under faults: a manager that campaigns, and a controller that notes what it has reconciled.
 * Functions of the user's misbehave when they are told to.
 *
 * It is judged by what others know of it: whoever is not told of a change for longer than a bound, cannot reach its lease,
 * or has a reconcile that does not end, must say so in its health; and when all is well, that.
 */

import { type KubeClient, keyOf } from '../../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { defineController, Manager, type ReconcileContext } from '../../../src/controller/index.ts';
import type { Grounds } from './fault-grounds.ts';

export const CALLBACKS = ['where', 'map', 'reconcile', 'transform', 'index', 'tracer', 'logger'] as const;
export type Callback = (typeof CALLBACKS)[number];
export const MISBEHAVIOURS = ['throws', 'rejects', 'hangs', 'gives nonsense'] as const;
export type Misbehaviour = (typeof MISBEHAVIOURS)[number];

type Hung = { readonly key: string; readonly since: number; readonly end: () => void };

/** By the manager's own limits, and a little more for whoever looks only now and then. */
const LOOK_MS = 10_000;
const TIMEOUT_MS = 30_000;
const ABORT_GRACE_MS = 5_000;
const MAX_LAG_MS = 180_000;
/** Longer than usual: an hour with nothing but renewals should not be most of the work. */
const ELECTION = { leaseDurationMs: 60_000, renewDeadlineMs: 40_000, retryMs: 10_000 };
/** Silence is noticed, a stream is taken up again, a state is fetched: then what is behind must be named. */
const STALE_MS = MAX_LAG_MS + 120_000;
/** Of a server that was set back and does not say so, only an audit tells; one may fail while faults strike. */
const HIDDEN_AUDITS = 1.4;
const USUAL_AUDIT_MS = 3_600_000;

export class Operator implements AsyncDisposable {
  readonly name: string;
  readonly manager: Manager;
  readonly #grounds: Grounds;
  readonly #client: KubeClient;
  readonly #mischief = new Map<Callback, { readonly how: Misbehaviour; left: number }>();
  readonly #reconciled = new Map<string, { readonly identity: string; readonly term: AbortSignal | undefined }>();
  readonly #hung = new Set<Hung>();
  /** What it shows of an object though the server has something else, and since when. */
  readonly #stale = new Map<string, { readonly shown: string | undefined; readonly since: number }>();
  readonly #startedAt: number;
  #wallOffsetMs = 0;
  #staleMs = STALE_MS;

  static async start(name: string, grounds: Grounds): Promise<Operator> {
    let operator: Operator | undefined; // the client has something to say before there is one
    const logger = { level: 2, log: () => operator?.misbehave('logger', () => {}) };
    operator = new Operator(name, grounds, await grounds.connect(name, { logger }));
    return operator;
  }

  private constructor(name: string, grounds: Grounds, client: KubeClient) {
    const { clock, random } = grounds;
    this.name = name;
    this.#grounds = grounds;
    this.#client = client;
    this.#startedAt = grounds.truth?.awake() ?? clock.now();
    const wallNow = () => 1_700_000_000_000 + clock.now() + this.#wallOffsetMs;
    this.manager = new Manager({
      ...{ client, clock, wallNow, graceMs: 2_000, abortGraceMs: ABORT_GRACE_MS },
      election: { name: 'boss', namespace: 'default', identity: name, random, ...ELECTION },
      informers: { reflector: { lifetimeSeconds: [60, 300] }, auditMs: grounds.auditMs },
      health: { maxLagMs: MAX_LAG_MS },
      logger: { level: 1, log: () => this.misbehave('logger', () => {}) },
      tracer: {
        startSpan: () => this.misbehave('tracer', () => SPAN),
        startActiveSpan: (_name, _options, work) => this.misbehave('tracer', () => work(SPAN)),
      },
      onError: () => {},
    });
    const transform = (object: ConfigMap) => this.misbehave('transform', () => object);
    this.manager.add(
      defineController({
        name: 'mirror',
        for: {
          resource: configMaps,
          where: () => this.misbehave('where', () => true),
          transform,
          indexers: { byTier: ({ metadata }) => this.misbehave('index', () => [metadata.labels?.tier]) },
        },
        watches: [{ resource: configMaps, transform, map: (object) => this.misbehave('map', () => [keyOf(object)]) }],
        timeoutMs: TIMEOUT_MS,
        reconcile: (object, context) => this.#reconcile(object, context),
      }),
    );
    this.manager.start();
  }

  get isLeading(): boolean {
    return this.manager.elector?.isLeading() === true;
  }

  /** For some calls, from now on. */
  setMischief(callback: Callback, how: Misbehaviour, times: number): void {
    this.#mischief.set(callback, { how, left: times });
  }

  jumpWallClock(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  /** It may have been set back to something that nobody can tell from what was. */
  mayBeMisled(): void {
    this.#staleMs = Math.max(STALE_MS, (this.#grounds.auditMs ?? USUAL_AUDIT_MS) * HIDDEN_AUDITS);
  }

  /** Everybody behaves again, and what hung ends. */
  behave(): void {
    this.#mischief.clear();
    for (const hung of this.#hung) hung.end();
  }

  /** The time in which anybody could have done something: what the machine slept through does not count. */
  #awake(): number {
    const { truth, clock } = this.#grounds;
    return truth?.awake() ?? clock.now();
  }

  /** What is wrong with what it says of itself, at this moment. */
  lies(): string[] {
    const now = this.#awake();
    const { problems, controllers, informers } = this.manager.health();
    const lies: string[] = [];
    for (const { key, since } of this.#hung) {
      const isNamed = controllers.some(({ stuck }) => stuck.some((one) => one.key === key));
      if (now - since > TIMEOUT_MS + ABORT_GRACE_MS + LOOK_MS && !isNamed)
        lies.push(`does not say that the reconcile of "${key}" hangs since ${now - since} ms`);
    }
    const { truth } = this.#grounds;
    if (!truth) return lies;
    const awake = truth.awake();
    const unseenMs = awake - (truth.leaseSeenAt(this.name) ?? this.#startedAt);
    if (unseenMs > ELECTION.leaseDurationMs + LOOK_MS && !problems.some((text) => text.startsWith('election "boss"')))
      lies.push(`does not say that it has not seen its lease for ${unseenMs} ms`);
    for (const [key, { since }] of this.#lookForStale(truth.objects(), awake))
      if (awake - since > this.#staleMs && informers.every(({ isReady }) => isReady))
        lies.push(`calls itself ready, with a "${key}" that was something else ${awake - since} ms ago`);
    return lies;
  }

  /** What keeps it from being all well, with nothing left that could. */
  complaints(): string[] {
    const { isLive, isReady, problems } = this.manager.health();
    return isLive && isReady ? [] : [`${this.name} is not well: ${problems.join('; ')}`];
  }

  /** Of the objects that there are, by uid and version, those that its controller has not reconciled as they are. */
  notReconciled(objects: ReadonlyMap<string, string>): string[] {
    const behind = [...objects].filter(([key, identity]) => this.#reconciled.get(key)?.identity !== identity);
    // What went while nobody led, the next leader never knew of.
    const gone = [...this.#reconciled].filter(
      ([key, { term, identity }]) => term?.aborted === false && identity !== GONE && !objects.has(key),
    );
    return [...behind, ...gone].map(([key]) => `${this.name} has not reconciled ${key}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.behave();
    await this.manager.stop();
    await this.#client.close();
  }

  /** The work of a function of the user's, unless it is to misbehave. */
  misbehave<T>(callback: Callback, work: () => T): T {
    const mischief = this.#mischief.get(callback);
    if (!mischief || mischief.left === 0) return work();
    mischief.left--;
    return misbehaviours[mischief.how]() as T;
  }

  #reconcile(object: ConfigMap | undefined, context: ReconcileContext): Promise<undefined> | undefined {
    const { key } = context;
    const mischief = this.#mischief.get('reconcile');
    if (mischief?.how === 'hangs' && mischief.left > 0) {
      mischief.left--;
      return new Promise<void>((resolve) => {
        const hung: Hung = {
          key,
          since: this.#awake(),
          end: () => {
            this.#hung.delete(hung);
            resolve();
          },
        };
        this.#hung.add(hung);
      }).then(() => this.#note(context, object));
    }
    if (mischief?.how === 'gives nonsense') this.#note(context, object); // it has done its work
    return this.misbehave('reconcile', () => this.#note(context, object));
  }

  #note({ key, leadership }: ReconcileContext, object: ConfigMap | undefined): undefined {
    this.#reconciled.set(key, { identity: identityOf(object) ?? GONE, term: leadership?.signal });
  }

  #lookForStale(objects: ReadonlyMap<string, string>, now: number): ReadonlyMap<string, { readonly since: number }> {
    const [informer] = this.manager.informers;
    const keys = new Set([...objects.keys(), ...(informer?.list().map(keyOf) ?? []), ...this.#stale.keys()]);
    for (const key of keys) {
      const shown = identityOf(informer?.get(key) as ConfigMap | undefined);
      const known = this.#stale.get(key);
      if (shown === objects.get(key)) this.#stale.delete(key);
      else if (!known || known.shown !== shown) this.#stale.set(key, { shown, since: now });
    }
    return this.#stale;
  }
}

const GONE = 'gone';
const SPAN = { setAttribute() {}, setStatus() {}, recordException() {}, end() {} };

const misbehaviours: Readonly<Record<Misbehaviour, () => unknown>> = {
  throws: () => {
    throw new Error('misbehaves');
  },
  rejects: () => Promise.reject(new Error('misbehaves')),
  hangs: () => new Promise(() => {}),
  'gives nonsense': () => ({ nonsense: true }),
};

export function identityOf(
  object: { metadata: { uid: string; resourceVersion: string } } | undefined,
): string | undefined {
  return object && `${object.metadata.uid} ${object.metadata.resourceVersion}`;
}
