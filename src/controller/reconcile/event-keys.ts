/**
 * From an event to the keys it concerns, through code of the user's that may fail: `where`, then `map`.
 *
 * No event is lost by that. A `where` that throws, or gives a promise, counts as yes: a reconcile too many is harmless,
 * one too few is not. A `map` that throws is asked again later, and again, with what it was asked about joined by
 * object, until it answers. Each failure is reported once per object, and again only when it has worked in between.
 *
 * At most `LIMIT` objects wait to be asked about again; beyond that, failures are reported and given up.
 */
import { CallbackError, type Clock } from '../../api/index.ts';
import { resourceName } from '../../client/advanced.ts';
import type { AnyObject, InformerEvent } from '../../client/index.ts';
import { DelayLine } from '../queue/delay-line.ts';
import type { CacheReader } from './declared-cache.ts';
import type { MappedWatch, Watched } from './define-controller.ts';
import { keysOf } from './mappers.ts';

type Watch = Watched<AnyObject> & Partial<MappedWatch<AnyObject>>;
type Missed = { event: InformerEvent<AnyObject>; attempts: number };

export type EventKeysOptions = {
  readonly controller: string;
  readonly watch: Watch;
  readonly cache: CacheReader;
  readonly clock: Clock;
  readonly onError: (error: CallbackError) => void;
  /** Keys of an event whose `map` has failed before. */
  readonly onLateKeys: (event: InformerEvent<AnyObject>, keys: ReadonlySet<string>) => void;
};

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 60_000;
const LIMIT = 10_000;
const NO_KEYS: ReadonlySet<string> = new Set();

export class EventKeys {
  readonly #options: EventKeysOptions;
  readonly #missed: DelayLine<Missed>;
  /** Callback and object of failures that were reported. */
  readonly #reported = new Set<string>();

  constructor(options: EventKeysOptions) {
    this.#options = options;
    this.#missed = new DelayLine(options.clock, (missed) => this.#askAgain(missed));
  }

  of(event: InformerEvent<AnyObject>): ReadonlySet<string> {
    const { watch } = this.#options;
    if (!watch.map || !this.#passes(event)) return NO_KEYS;
    return this.#map(event, 0);
  }

  /** Nothing is asked again. */
  close(): void {
    this.#missed.clear();
  }

  #passes(event: InformerEvent<AnyObject>): boolean {
    const { where } = this.#options.watch;
    if (!where) return true;
    try {
      const answer: unknown = where(event);
      if (answer instanceof Promise) {
        answer.catch(() => {});
        throw new TypeError('it gave a promise, and it may not wait');
      }
      this.#reported.delete(`where ${event.key}`);
      return Boolean(answer);
    } catch (error) {
      this.#tell('where', event.key, error);
      return true;
    }
  }

  #map(event: InformerEvent<AnyObject>, attempts: number): ReadonlySet<string> {
    const { watch, cache } = this.#options;
    try {
      const keys = keysOf(watch.map!, { event, cache });
      this.#reported.delete(`map ${event.key}`);
      return keys;
    } catch (error) {
      this.#tell('map', event.key, error);
      this.#miss(event, attempts);
      return NO_KEYS;
    }
  }

  #miss(event: InformerEvent<AnyObject>, attempts: number): void {
    const { clock } = this.#options;
    const known = this.#missed.get(event.key);
    if (known) known.event = joined(known.event, event);
    else if (this.#missed.size < LIMIT) {
      const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts, 20));
      this.#missed.put(event.key, { event, attempts }, clock.now() + delayMs);
    }
  }

  #askAgain({ event, attempts }: Missed): void {
    const keys = this.#map(event, attempts + 1);
    if (keys.size > 0) this.#options.onLateKeys(event, keys);
  }

  #tell(callback: string, key: string, error: unknown): void {
    const id = `${callback} ${key}`;
    if (this.#reported.has(id)) return;
    if (this.#reported.size >= LIMIT) this.#reported.clear(); // better reported twice than remembered without end
    this.#reported.add(id);
    const { controller, watch, onError } = this.#options;
    const whose = `controller "${controller}" for ${resourceName(watch.resource)}`;
    onError(new CallbackError(callback, key, whose, error));
  }
}

/** What was, of the first, and what is, of the last: nobody between them is asked about. */
function joined(first: InformerEvent<AnyObject>, last: InformerEvent<AnyObject>): InformerEvent<AnyObject> {
  const old = first.type === 'updated' ? first.old : first.object;
  return { type: 'updated', key: last.key, old, object: last.object, isResync: false };
}
