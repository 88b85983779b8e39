/**
 * Events: short notes for people, kept by the server beside the object they are about, shown by `kubectl describe`.
 *
 * Written as v1 Events with a count: that form is read by everything that shows events, and a repetition is a patch of
 * two fields. The newer form (events.k8s.io/v1) is the same object in the store and adds nothing that is shown.
 *
 * Recording never waits, never throws and never fails a reconcile. Equal notes about one object are one Event whose
 * count goes up; while one waits to be written, repetitions are added to it. An object has a budget (`event-budget`),
 * at most `limit` Events wait, and what is beyond either is dropped and counted, as is what the server refuses.
 * Disposing writes what waits, for no longer than `flushMs`.
 */
import { randomBytes } from 'node:crypto';
import {
  type Clock,
  checkDnsSubdomain,
  closeOnce,
  rfc3339,
  systemClock,
  tellSafely,
  wallNow,
} from '../../api/index.ts';
import { type AnyObject, corev1, type Draft, isApiError, type KubeClient, mergePatch } from '../../client/index.ts';
import { DEFAULT_BUDGET, EventBudget, type EventBudgetOptions } from './event-budget.ts';
import { RecentMap } from './recent-map.ts';

/** What an event is about: an object, or what is left to say of one that is gone. */
export type EventSubject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
};

export type EventNote = {
  readonly type: 'Normal' | 'Warning';
  /** One word in upper camel case, such as `Scaled`: for machines. */
  readonly reason: string;
  /** A sentence: for people. */
  readonly message: string;
};

/** For one controller, about the object it reconciles unless another is named. */
export interface BoundRecorder {
  normal(reason: string, message: string, about?: AnyObject): void;
  warning(reason: string, message: string, about?: AnyObject): void;
}

export type EventRecorderOptions = {
  /** Which process; the host name is usual. */
  readonly instance?: string | undefined;
  /** How many different Events may wait to be written: 1000. */
  readonly limit?: number | undefined;
  readonly budget?: Partial<EventBudgetOptions> | undefined;
  /** How long disposing waits for what is to be written: 5 s. */
  readonly flushMs?: number | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly wallNow?: (() => number) | undefined;
};

export type EventRecorderMetrics = {
  readonly recorded: number;
  /** Requests that succeeded. */
  readonly written: number;
  /** For want of budget or room. */
  readonly dropped: number;
  /** Requests that failed. */
  readonly failed: number;
  readonly waiting: number;
};

/** All equal notes about one object. */
type Series = {
  readonly component: string;
  readonly about: EventSubject;
  readonly note: EventNote;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** Of the Event, once there is one. */
  name: string | undefined;
  isWaiting: boolean;
};

const SERIES = 4096;
/** An Event that was quiet for so long is not taken up again: readers look at recent ones. */
const SERIES_MS = 10 * 60_000;
const MESSAGE_CHARACTERS = 1024;
const NAME_CHARACTERS = 253;

export class EventRecorder implements AsyncDisposable {
  readonly #client: Pick<KubeClient, 'resource'>;
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #wallNow: () => number;
  readonly #budget: EventBudget;
  readonly #series = new RecentMap<string, Series>(SERIES);
  readonly #waiting: Series[] = [];
  readonly #counts = { recorded: 0, written: 0, dropped: 0, failed: 0 };
  readonly #stop = new AbortController();
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(client: Pick<KubeClient, 'resource'>, options: EventRecorderOptions = {}) {
    this.#client = client;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#wallNow = options.wallNow ?? wallNow;
    this.#budget = new EventBudget({ ...DEFAULT_BUDGET, ...options.budget }, this.#clock);
  }

  metrics(): EventRecorderMetrics {
    return { ...this.#counts, waiting: this.#waiting.length };
  }

  bind(component: string, subject: EventSubject): BoundRecorder {
    return {
      normal: (reason, message, about = subject as AnyObject) =>
        this.record(component, about, { type: 'Normal', reason, message }),
      warning: (reason, message, about = subject as AnyObject) =>
        this.record(component, about, { type: 'Warning', reason, message }),
    };
  }

  /** `component` says who noted it, such as the name of a controller. */
  record(component: string, about: EventSubject, note: EventNote): void {
    this.#counts.recorded++;
    const series = this.#seriesOf(component, about, { ...note, message: note.message.slice(0, MESSAGE_CHARACTERS) });
    series.count++;
    series.lastAt = this.#wallNow();
    if (series.isWaiting) return;
    const { limit = 1000 } = this.#options;
    if (this.#isClosed || !this.#budget.take(identityOf(about)) || this.#waiting.length >= limit) {
      this.#counts.dropped++;
      return;
    }
    series.isWaiting = true;
    this.#waiting.push(series);
    this.#writing ??= this.#write();
  }

  /** Resolves when nothing waits and nothing is being written. */
  async flushed(): Promise<void> {
    await this.#writing;
  }

  readonly #close = closeOnce(async () => {
    this.#isClosed = true;
    if (!this.#writing) return;
    const ended = new AbortController();
    const late = this.#clock.sleep(this.#options.flushMs ?? 5_000, ended.signal).then(
      () => this.#stop.abort(new Error('Cannot write more events: the recorder was closed')),
      () => {},
    );
    await this.#writing;
    ended.abort();
    await late;
  });

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }

  #seriesOf(component: string, about: EventSubject, note: EventNote): Series {
    const key = JSON.stringify([component, identityOf(about), note.type, note.reason, note.message]);
    const now = this.#wallNow();
    const known = this.#series.get(key);
    if (known && (known.isWaiting || now - known.lastAt < SERIES_MS)) return known;
    const fresh: Series = {
      ...{ component, about: referenceTo(about), note, firstAt: now, lastAt: now },
      ...{ count: 0, name: undefined, isWaiting: false },
    };
    this.#series.set(key, fresh);
    return fresh;
  }

  /** One at a time: events are never what is urgent. */
  async #write(): Promise<void> {
    await Promise.resolve(); // what is recorded in one breath is written together
    for (let series = this.#waiting.shift(); series; series = this.#waiting.shift()) {
      series.isWaiting = false;
      try {
        this.#stop.signal.throwIfAborted();
        await this.#send(series);
        this.#counts.written++;
      } catch (error) {
        this.#counts.failed++;
        if (!this.#stop.signal.aborted) this.#report(error);
      }
    }
    this.#writing = undefined;
  }

  async #send(series: Series): Promise<void> {
    const { signal } = this.#stop;
    const resource = this.#client.resource(corev1.events, series.about.metadata.namespace || 'default');
    const { name, count } = series;
    if (name !== undefined) {
      const change = mergePatch<corev1.Event>({ count, lastTimestamp: rfc3339(series.lastAt) });
      try {
        await resource.patch(name, change, { signal });
        return;
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error; // servers forget events after a while
      }
    }
    const created = await resource.create(this.#eventOf(series), { signal });
    series.name = created.metadata.name;
  }

  #eventOf({ component, about, note, firstAt, lastAt, count }: Series): Draft<corev1.Event> {
    const { apiVersion, kind, metadata } = about;
    const { name = '', namespace, uid, resourceVersion } = metadata;
    return {
      metadata: { name: eventName(name), namespace: namespace || 'default' },
      involvedObject: {
        ...{ apiVersion, kind, name },
        ...(namespace && { namespace }),
        ...(uid && { uid }),
        ...(resourceVersion && { resourceVersion }),
      },
      ...note,
      count,
      firstTimestamp: rfc3339(firstAt),
      lastTimestamp: rfc3339(lastAt),
      source: { component },
      reportingComponent: component,
      reportingInstance: this.#options.instance ?? '',
    };
  }

  #report(error: unknown): void {
    tellSafely(
      () => this.#options.onError?.(error),
      () => {}, // a callback for errors may not make more of them
    );
  }
}

/** Some kinds may be called what no Event may be (`system:node`): then it is a number alone. */
function eventName(about: string): string {
  const suffix = randomBytes(8).toString('hex');
  const name = `${about.slice(0, NAME_CHARACTERS - suffix.length - 1)}.${suffix}`;
  return checkDnsSubdomain(name).length === 0 ? name : suffix;
}

/** What an Event says of it: a series is remembered for long, and must not keep whole objects. */
function referenceTo({ apiVersion, kind, metadata }: EventSubject): EventSubject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    ...{ apiVersion, kind },
    metadata: {
      ...(name && { name }),
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
  };
}

function identityOf({ apiVersion, kind, metadata: { namespace = '', name = '', uid = '' } }: EventSubject): string {
  return [apiVersion, kind, namespace, name, uid].join(' ');
}
