/** What a client says on a watch stream, from its bytes. It fails with a ProtobufError. */
import { Reader } from '../../../api/protobuf.ts';
import { asBuffer, readKey } from '../../key-value-record.ts';
import { prefixEnd } from '../../keys.ts';
import type { Key, KeyRange, Revision } from '../../kv.ts';
import { readEnum, readNumber, within } from '../messages/front-requests.ts';
import { rangeOf } from './range-reader.ts';

export type WatchCreate = {
  /** Undefined: it can hold no key. */
  readonly range: KeyRange | undefined;
  readonly startRevision: Revision;
  readonly wantsProgress: boolean;
  readonly noPut: boolean;
  readonly noDelete: boolean;
  readonly prevKv: boolean;
  readonly watchId: number;
  readonly fragment: boolean;
};

export type WatchRequest =
  | ({ readonly kind: 'create' } & WatchCreate)
  | { readonly kind: 'cancel'; readonly watchId: number }
  | { readonly kind: 'progress' | 'none' };

export function decodeWatchRequest(bytes: Uint8Array): WatchRequest {
  const reader = new Reader(asBuffer(bytes));
  let request: WatchRequest = { kind: 'none' };
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) request = { kind: 'create', ...within(reader, readCreate) };
    else if (tag === 18) request = { kind: 'cancel', watchId: within(reader, readWatchId) };
    else {
      if (tag === 26) request = { kind: 'progress' };
      reader.skip(tag);
    }
  }
  return request;
}

function readWatchId(reader: Reader): number {
  let id = 0;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) id = readNumber(reader);
    else reader.skip(tag);
  }
  return id;
}

function readCreate(reader: Reader): WatchCreate {
  let key = '';
  let end: string | undefined;
  let startRevision = 0;
  let watchId = 0;
  const flags = { wantsProgress: false, prevKv: false, fragment: false };
  const filters = new Set<number>();
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 10) key = readKey(reader);
    else if (tag === 18)
      end = readKey(reader) || undefined; // here, unlike in a Range, nothing in it means none
    else if (tag === 24) startRevision = readNumber(reader);
    else if (tag === 32) flags.wantsProgress = reader.bool();
    else if (tag === 40) filters.add(readEnum(reader));
    else if (tag === 42) within(reader, (packed) => readPacked(packed, filters));
    else if (tag === 48) flags.prevKv = reader.bool();
    else if (tag === 56) watchId = readNumber(reader);
    else if (tag === 64) flags.fragment = reader.bool();
    else reader.skip(tag);
  }
  const range = watchedRange(key || '\0', end); // without a key it is the lowest, says etcd
  return { range, startRevision, watchId, noPut: filters.has(0), noDelete: filters.has(1), ...flags };
}

/** Only two of them mean anything: the others are not kept, however many there are. */
function readPacked(reader: Reader, filters: Set<number>): void {
  while (reader.hasMore) {
    const filter = readEnum(reader);
    if (filter === 0 || filter === 1) filters.add(filter);
  }
}

/** What is a prefix in all but its words is told to the store as one: there it is found by a look-up. */
function watchedRange(key: Key, end: Key | undefined): KeyRange | undefined {
  return end !== undefined && end === prefixEnd(key) ? { prefix: key } : rangeOf({ key, end });
}
