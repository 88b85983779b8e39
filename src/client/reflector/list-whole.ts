/**
 * The whole state, listed in pages that belong to one snapshot.
 *
 * A page that fails is asked for again, since the ones before it are worth some patience; the first is not, since then
 * nothing is lost. If the snapshot is compacted between two pages, the state is listed in one piece: in that it cannot be.
 */
import type { Clock } from '../../api/index.ts';
import { isApiError, isExpired, isTransportError } from '../errors.ts';
import type { ObjectList } from '../objects/objects.ts';
import { listPages } from '../resources/list-pages.ts';
import type { ListOptions } from '../resources/options.ts';
import { notBefore } from '../transport/retry-policy.ts';
import { isClosed } from '../transport/transport.ts';
import { isTooLarge } from './reflector-state.ts';

type ListWholeOptions = {
  readonly clock: Clock;
  readonly random: () => number;
  /** Of the pause before a page is asked for again. */
  readonly minMs: number;
  readonly maxMs: number;
  readonly pageItems: number;
  readonly signal: AbortSignal;
  readonly onPage: () => void;
};

type List<T> = (options: ListOptions) => Promise<ObjectList<T>>;

const PAGE_TRIES = 4;

export async function listWhole<T>(
  list: List<T>,
  selection: ListOptions,
  options: ListWholeOptions,
): Promise<{ items: T[]; version: string }> {
  const items: T[] = [];
  let version = '';
  try {
    const patient = (page: ListOptions) => listPage(list, page, options);
    for await (const page of listPages(patient, { ...selection, limit: options.pageItems, onExpired: 'throw' })) {
      options.onPage();
      for (const item of page.items) items.push(item);
      version = page.metadata.resourceVersion;
    }
    return { items, version };
  } catch (error) {
    if (!isExpired(error)) throw error;
    const whole = await list(selection);
    return { items: whole.items, version: whole.metadata.resourceVersion };
  }
}

async function listPage<T>(
  list: List<T>,
  page: ListOptions,
  { clock, random, minMs, maxMs, signal }: ListWholeOptions,
): Promise<ObjectList<T>> {
  for (let tries = 1; ; tries++) {
    try {
      return await list(page);
    } catch (error) {
      if (page.continue === undefined || tries === PAGE_TRIES || !mayPass(error)) throw error;
      const asked = isApiError(error) ? (error.retryAfterMs ?? 0) : 0;
      const pauseMs = random() * Math.min(minMs * 2 ** tries, maxMs);
      await clock.sleep(Math.max(notBefore(asked, random()), pauseMs), signal);
    }
  }
}

/** A connection that broke, or a server that could not just now. One that was set back will never have that snapshot. */
function mayPass(error: unknown): boolean {
  if (isTooLarge(error)) return false;
  return isTransportError(error) ? !isClosed(error) : isApiError(error) && (error.code >= 500 || error.code === 429);
}
