/**
 * The last answers "410 Gone": who asked for what, why it is gone, what helps. Each is an object, a line in the log and
 * a count.
 *
 * Always true: no more than the newest are kept, and no client fills the log: past a number of lines in a while it says
 * how many more there were.
 */
import { type JsonObject, rfc3339 } from '../../api/index.ts';
import type { Expiry } from '../rest/reading/expiry.ts';
import { resourceName } from '../rest/reading/request-facts.ts';
import type { LiveItem, LiveSource } from '../storage/live/live-storage.ts';
import { nameOn } from '../workers/place.ts';
import { column, count, flag, group, type LiveKind, text, time, wideColumn } from './live-kind.ts';
import { liveObject, uidOf } from './live-object.ts';
import { requestFields, requestSpec } from './request-fields.ts';

const UID_KIND = 3;
const KEPT = 1000;
const LOGGED = 20;
const LOGGED_MS = 10_000;

export const expirationKind: LiveKind = {
  kind: 'Expiration',
  plural: 'expirations',
  shortName: 'exp',
  verbs: ['get', 'list', 'watch'],
  description: 'An answer "410 Gone": a revision was asked for that is not kept any more.',
  fields: {
    spec: group('Who asked for what.', {
      ...requestFields,
      verb: text('watch or list.'),
      resourceName: text('The resource with its group: deployments.apps.'),
    }),
    status: group('Why it was refused, and what helps.', {
      askedRevision: count('The revision that was asked for, or that an open watch had got to.'),
      oldestRevision: count('The oldest that could be asked for at that moment; absent where nobody knows.'),
      currentRevision: count('The revision of the store at that moment; absent where nobody knows.'),
      reason: text(
        'Compaction: the store has forgotten it. History: the store was restored or replaced, and the revision is of another history. ' +
          'Window: the resource has no history but its window.',
      ),
      compactedAt: time('When the store was compacted last.'),
      wasOpen: flag('It was an open watch that had everything before, and was too slow.'),
      message: text('What the client was told.'),
      explanation: text('What happened.'),
      remedy: text('What to do about it.'),
    }),
  },
  columns: [
    column('User', '.spec.user'),
    column('Resource', '.spec.resourceName'),
    column('Verb', '.spec.verb'),
    column('Asked', '.status.askedRevision', 'integer'),
    column('Oldest', '.status.oldestRevision', 'integer'),
    column('Reason', '.status.reason'),
    column('Age', '.metadata.creationTimestamp', 'date'),
    wideColumn('Compacted', '.status.compactedAt', 'date'),
    wideColumn('Agent', '.spec.userAgent'),
    wideColumn('Address', '.spec.address'),
    wideColumn('Remedy', '.status.remedy'),
  ],
  selectable: ['spec.user', 'spec.resource', 'spec.resourceName', 'spec.verb', 'status.reason'],
};

/** What the store says of itself: where its history begins, and since when; each undefined where it does not tell. */
export type HistoryState = {
  readonly revision?: number | undefined;
  readonly oldest?: number | undefined;
  readonly compactedAt?: number | undefined;
};

export type ExpirationsOptions = {
  /** Never rejects. */
  readonly history: () => Promise<HistoryState>;
  /** Which thread of a server this is: 0. */
  readonly worker?: number;
  readonly log: (line: string) => void;
};

type Expiration = { readonly number: number; readonly at: number; readonly expiry: Expiry; history: HistoryState };

const REASONS = { compaction: 'Compaction', history: 'History', window: 'Window' } as const;

export class Expirations implements LiveSource {
  readonly #options: ExpirationsOptions;
  #kept: Expiration[] = [];
  #count = 0;
  #logged = 0;
  #silent = 0;
  #loggedSince = 0;
  /** By resource and reason. */
  readonly counts: Map<string, { readonly labels: Record<string, string>; count: number }> = new Map();

  constructor(options: ExpirationsOptions) {
    this.#options = options;
  }

  note(expiry: Expiry): void {
    const one: Expiration = { number: ++this.#count, at: Date.now(), expiry, history: {} };
    this.#kept.push(one);
    if (this.#kept.length > 2 * KEPT) this.#kept = this.#kept.slice(-KEPT);
    this.#countIn(expiry);
    // The store is asked once for each that can still be told of: when it was compacted is not known to who refused.
    if (this.#mayLog()) void this.#explain(one);
  }

  *items(): Generator<LiveItem> {
    for (const one of this.#kept.slice(-KEPT)) yield itemOf(one, this.#options.worker ?? 0);
  }

  async #explain(one: Expiration): Promise<void> {
    one.history = await this.#options.history();
    const { request, askedRevision, message } = one.expiry;
    const who =
      JSON.stringify(request.user.username) + (request.userAgent ? ` with ${JSON.stringify(request.userAgent)}` : '');
    const where = request.namespace && ` in ${JSON.stringify(request.namespace)}`;
    const what = `${request.verb} of ${resourceName(request)}${where}`;
    this.#options.log(
      `410 Gone: ${what} by ${who} from revision ${askedRevision ?? '?'}: ${message.split('. ')[0]}; ${explanationOf(one)}`,
    );
  }

  #mayLog(): boolean {
    const now = performance.now();
    if (now - this.#loggedSince > LOGGED_MS) {
      if (this.#silent > 0) this.#options.log(`410 Gone: ${this.#silent} more that were not logged`);
      this.#loggedSince = now;
      this.#logged = 0;
      this.#silent = 0;
    }
    if (++this.#logged <= LOGGED) return true;
    this.#silent++;
    return false;
  }

  #countIn({ request, reason }: Expiry): void {
    const { group: apiGroup, resource, verb } = request;
    const labels = { group: apiGroup, resource, verb, reason };
    const id = Object.values(labels).join('/');
    const known = this.counts.get(id);
    if (known) known.count++;
    else this.counts.set(id, { labels, count: 1 });
  }
}

function itemOf(one: Expiration, worker: number): LiveItem {
  const { number, at, expiry, history } = one;
  const { request, askedRevision, wasOpen, message, reason } = expiry;
  const oldest = oldestOf(one);
  const status: JsonObject = {
    ...(askedRevision !== undefined && { askedRevision }),
    ...(oldest !== undefined && { oldestRevision: oldest }),
    ...(history.revision !== undefined && { currentRevision: history.revision }),
    reason: REASONS[reason],
    ...(history.compactedAt !== undefined && { compactedAt: rfc3339(history.compactedAt) }),
    ...(wasOpen && { wasOpen }),
    message,
    explanation: explanationOf(one),
    remedy: remedyOf(expiry),
  };
  const spec = { ...requestSpec(request), verb: request.verb, resourceName: resourceName(request) };
  const name = nameOn(worker, `exp-${String(number).padStart(6, '0')}`);
  return { object: liveObject('Expiration', { name, uid: uidOf(UID_KIND, number), createdAt: at }, { spec, status }) };
}

function oldestOf({ expiry, history }: Expiration): number | undefined {
  return expiry.oldestRevision ?? (expiry.reason === 'compaction' ? history.oldest : undefined);
}

function explanationOf(one: Expiration): string {
  const { expiry, history } = one;
  const oldest = oldestOf(one);
  switch (expiry.reason) {
    case 'history':
      return 'the store was restored from a backup, or replaced: the revision belongs to another history';
    case 'window':
      return 'this resource has no history but the window that is kept while somebody looks';
    case 'compaction': {
      const upTo = oldest === undefined ? 'the history it asked for' : `the history before revision ${oldest}`;
      const when = history.compactedAt === undefined ? '' : ` at ${rfc3339(history.compactedAt)}`;
      return `${upTo} was compacted${when}`;
    }
  }
}

function remedyOf({ reason, wasOpen, request }: Expiry): string {
  if (reason === 'history')
    return 'List again and watch from there. Nothing else can help: what was seen is not true any more.';
  if (reason === 'window') return 'List again and watch from there.';
  const keep = 'keep more history with --auto-compaction-retention';
  if (request.verb === 'list') return `Start the list again without its continue token; read pages faster, or ${keep}.`;
  if (wasOpen)
    return `List again and watch from there; read the stream faster (see "kubectl get watches"), or ${keep}.`;
  return `List again and watch from there; ask for bookmarks (allowWatchBookmarks=true) so that a quiet watch resumes from a recent revision, or ${keep}.`;
}
