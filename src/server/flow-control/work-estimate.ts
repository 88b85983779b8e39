/**
 * What a request will take, guessed from what it asks for before anything is done: lists by the bytes they read, writes
 * by the watchers that must be told, watches by their initial events, everything else one seat.
 *
 * Pure. Always true: at least one seat, at most what the level lets one request have.
 */
import { ONE_SEAT, type WorkEstimate } from './fair-queuing/flow-request.ts';

/** What is known of a resource, all namespaces together. */
export type ResourceSize = {
  readonly count: number;
  /** Of one object, on average; 0 or less: nobody knows. */
  readonly averageBytes: number;
};

/** Where a list is read from. */
type Source = 'cache' | 'store';

export type EstimateFacts = {
  readonly verb: string;
  /** Asked for only where it counts: it costs more than all the rest. */
  readonly query: () => URLSearchParams;
  readonly subresource: string;
  readonly resource: string;
  /** One object is asked for, by path or by a selector for its name. */
  readonly namesOne: boolean;
  /** Undefined: no such type, or nothing is known of it. */
  readonly size: ResourceSize | undefined;
  /** How many watches may hear of a write. */
  readonly watchers: () => number;
  /** Of the level; undefined: it has none. */
  readonly maxSeats: number | undefined;
};

const SEATS_LIMIT = 100;
const BYTES_PER_SEAT = 100_000;
/** A list from the cache is written as fast as the client reads: more does not make it dearer. */
const CACHED_BYTES_LIMIT = 1_000_000;
const UNKNOWN_BYTES = 1_500_000;
const WATCHERS_PER_SEAT = 10;
const EVENT_SECONDS = 0.005;
const FINAL_SEATS_LIMIT = 10;

export function estimateWork(facts: EstimateFacts): WorkEstimate {
  switch (facts.verb) {
    case 'list':
      return seats(listSeats(facts, facts.query(), sourceOf(facts.query())));
    case 'watch':
      return wantsInitialEvents(facts.query()) ? seats(listSeats(facts, facts.query(), 'cache')) : ONE_SEAT;
    case 'create':
    case 'update':
    case 'patch':
    case 'delete':
      return writeEstimate(facts);
    default:
      return ONE_SEAT;
  }
}

function listSeats({ namesOne, size, maxSeats }: EstimateFacts, query: URLSearchParams, source: Source): number {
  const cap = Math.min(maxSeats ?? SEATS_LIMIT, SEATS_LIMIT);
  const limitText = query.get('limit') ?? '';
  if (!/^$|^[+-]?[0-9]{1,19}$/.test(limitText)) return cap;
  if (!size) return 1;
  const { count } = size;
  const averageBytes = size.averageBytes <= 0 && count !== 0 ? UNKNOWN_BYTES : size.averageBytes;
  const limit = Number(limitText);
  const limited = limit > 0 && limit < count ? limit : count;
  const isSelecting = !!query.get('labelSelector') || !!query.get('fieldSelector');
  const isScanning = source === 'store' && isSelecting;
  const read = namesOne ? 1 : isScanning ? Math.max(limited, Math.floor(count / 2)) : limited;
  const bytes = read * averageBytes;
  const counted = source === 'cache' ? Math.min(bytes, CACHED_BYTES_LIMIT) : bytes;
  return Math.max(1, Math.min(cap, Math.ceil(counted / BYTES_PER_SEAT)));
}

/** By the query alone: whether the cache can answer is not known yet. */
function sourceOf(query: URLSearchParams): Source {
  const match = query.get('resourceVersionMatch') ?? '';
  if (match === 'NotOlderThan') return 'cache';
  if (match !== '' || query.get('continue')) return 'store';
  const version = query.get('resourceVersion') ?? '';
  const isPage = Number(query.get('limit') ?? '') > 0;
  return isPage && version !== '' && version !== '0' ? 'store' : 'cache';
}

function wantsInitialEvents(query: URLSearchParams): boolean {
  const version = query.get('resourceVersion') ?? '';
  const asked = query.get('sendInitialEvents');
  return version === '' || version === '0' || (asked !== null && asked !== 'false' && asked !== '0');
}

function writeEstimate({ resource, subresource, watchers, maxSeats }: EstimateFacts): WorkEstimate {
  if (resource === 'serviceaccounts' && subresource === 'token') return ONE_SEAT;
  const count = watchers();
  if (count < WATCHERS_PER_SEAT) return ONE_SEAT;
  const wanted = Math.ceil(count / WATCHERS_PER_SEAT);
  const finalSeats = Math.min(wanted, maxSeats ?? SEATS_LIMIT, FINAL_SEATS_LIMIT);
  return { initialSeats: 1, finalSeats, extraSeconds: (wanted * EVENT_SECONDS) / finalSeats };
}

function seats(initialSeats: number): WorkEstimate {
  return initialSeats === 1 ? ONE_SEAT : { initialSeats, finalSeats: 0, extraSeconds: 0 };
}
