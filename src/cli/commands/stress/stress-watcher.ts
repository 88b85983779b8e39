/**
 * One of many who watch while objects come and go: lists, watches, and lists again when the history is gone, as every
 * client does. It keeps account of every object by its number, so that at the end what it was not told is known.
 *
 * Always true: a change counts as told by an event, or by a list whose version is not older. What is neither is a gap. An
 * object that is older than a list and not in it was deleted before it.
 */
import { compareVersions, corev1, isExpired, type KubeClient } from '../../../client/index.ts';

export type Account = {
  /** When a write was sent, by number; undefined before that. */
  readonly createdAt: readonly (number | undefined)[];
  readonly deletedAt: readonly (number | undefined)[];
  /** The version it was made with, once that is acknowledged. */
  readonly versions: readonly (string | undefined)[];
  /** Whether it was acknowledged. */
  readonly isCreated: Uint8Array;
  readonly isDeleted: Uint8Array;
};

const ADDED = 1;
const DELETED = 2;
/** More samples tell no more. */
const MAX_SAMPLES = 20_000;

export class StressWatcher {
  events = 0;
  expired = 0;
  relists = 0;
  reconnects = 0;
  bookmarks = 0;
  readonly latencies: number[] = [];
  readonly #told: Uint8Array;
  readonly #lists: { readonly version: string; readonly there: ReadonlySet<number> }[] = [];
  readonly #client: KubeClient;
  readonly #selector: string;
  readonly #account: Account;

  constructor(client: KubeClient, selector: string, account: Account) {
    this.#client = client;
    this.#selector = selector;
    this.#account = account;
    this.#told = new Uint8Array(account.isCreated.length);
  }

  /** Until the signal; `onReady` once, when it watches. */
  async run(signal: AbortSignal, onReady: () => void): Promise<void> {
    const where = { labelSelector: this.#selector, signal };
    while (!signal.aborted) {
      try {
        const version = await this.#list(signal);
        const options = {
          ...where,
          resourceVersion: version,
          onOpen: onReady,
          onInterruption: () => void this.reconnects++,
        };
        for await (const event of this.#client.watchResuming(corev1.configMaps, options)) {
          if (event.type === 'BOOKMARK') this.bookmarks++;
          else this.#note(event.type, event.object.metadata.name ?? '');
        }
      } catch (err) {
        if (signal.aborted) return;
        if (!isExpired(err)) throw err;
        this.expired++;
        this.relists++;
      }
    }
  }

  /** How many changes that were acknowledged it does not know of. */
  get gaps(): number {
    const { isCreated, isDeleted } = this.#account;
    let gaps = 0;
    for (let n = 0; n < this.#told.length; n++) {
      if (!isCreated[n]) continue;
      const wanted = isDeleted[n] ? ADDED | DELETED : ADDED;
      if ((this.#told[n]! & wanted) !== wanted) this.#told[n]! |= this.#listed(n);
      const missing = wanted & ~this.#told[n]!;
      gaps += (missing & ADDED ? 1 : 0) + (missing & DELETED ? 1 : 0);
    }
    return gaps;
  }

  /** What lists have told of an object. */
  #listed(n: number): number {
    const version = this.#account.versions[n];
    let told = 0;
    for (const list of this.#lists) {
      const isCovered = version !== undefined && Number(compareVersions(list.version, version)) >= 0;
      if (isCovered) told |= list.there.has(n) ? ADDED : ADDED | DELETED;
    }
    return told;
  }

  async #list(signal: AbortSignal): Promise<string> {
    const list = await this.#client.resource(corev1.configMaps).list({ labelSelector: this.#selector, signal });
    const version = list.metadata.resourceVersion ?? '';
    this.#lists.push({ version, there: new Set(list.items.map(({ metadata }) => numberOf(metadata.name ?? ''))) });
    return version;
  }

  #note(type: string, name: string): void {
    const now = performance.now();
    const n = numberOf(name);
    this.events++;
    if (!(n >= 0 && n < this.#told.length)) return;
    if (type !== 'ADDED' && type !== 'DELETED') return;
    this.#told[n]! |= type === 'ADDED' ? ADDED : DELETED;
    const sent = (type === 'ADDED' ? this.#account.createdAt : this.#account.deletedAt)[n];
    if (sent !== undefined && this.latencies.length < MAX_SAMPLES) this.latencies.push(now - sent);
  }
}

/** Of `PREFIX-NUMBER`; NaN of anything else. */
function numberOf(name: string): number {
  return Number(/-(\d+)$/.exec(name)?.[1]);
}
