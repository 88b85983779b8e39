/**
 * The messages of etcd's Watch service, for streams that carry one watch each.
 *
 * Always true: a create asks for `fragment`, so a response never outgrows what etcd takes as one request, and for
 * progress notices. Decoding fails with a ProtobufError.
 */
import { Reader, Writer } from '../../../api/protobuf.ts';
import { asBuffer } from '../../key-value-record.ts';
import type { KeyRange, KeyValue, Revision, WatchEvent } from '../../kv.ts';
import { readEmbeddedKeyValue, readHeader, wireRange } from './messages.ts';

export type WatchResponse = {
  readonly revision: Revision;
  readonly created: boolean;
  readonly canceled: boolean;
  /** Above 0 when the watch was cancelled because its history is gone. */
  readonly compactRevision: Revision;
  readonly cancelReason: string;
  /** More of this response follows. */
  readonly fragment: boolean;
  readonly events: WatchEvent[];
};

export type WatchCreate = {
  readonly range: KeyRange;
  /** 0: after the current revision. */
  readonly startRevision: Revision;
  readonly prevKv: boolean;
};

export function encodeWatchCreate({ range, startRevision, prevKv }: WatchCreate): Uint8Array {
  const { key, end } = wireRange(range);
  return new Writer()
    .message(1, (writer) => {
      writer.binary(1, key);
      if (end !== undefined) writer.binary(2, end);
      if (startRevision > 0) writer.int(3, startRevision);
      writer.bool(4, true);
      if (prevKv) writer.bool(6, true);
      writer.bool(8, true);
    })
    .finish();
}

export const watchProgressRequest: Uint8Array = new Writer().message(3, () => {}).finish();

export function decodeWatchResponse(bytes: Uint8Array): WatchResponse {
  const reader = new Reader(asBuffer(bytes));
  let revision = 0;
  let created = false;
  let canceled = false;
  let compactRevision = 0;
  let cancelReason = '';
  let fragment = false;
  const events: WatchEvent[] = [];
  while (reader.hasMore) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        revision = readHeader(reader);
        break;
      case 24:
        created = reader.bool();
        break;
      case 32:
        canceled = reader.bool();
        break;
      case 40:
        compactRevision = reader.int();
        break;
      case 50:
        cancelReason = reader.string();
        break;
      case 56:
        fragment = reader.bool();
        break;
      case 90:
        events.push(readEvent(reader));
        break;
      default: // the watch id, too: there is one watch per stream
        reader.skip(tag);
    }
  }
  return { revision, created, canceled, compactRevision, cancelReason, fragment, events };
}

const noKeyValue: KeyValue = {
  ...{ key: '', value: new Uint8Array(0), createRevision: 0, modRevision: 0, version: 0 },
  lease: 0n,
};

function readEvent(reader: Reader): WatchEvent {
  const outer = reader.enter();
  let type: 'put' | 'delete' = 'put';
  let kv = noKeyValue;
  let prevKv: KeyValue | undefined;
  while (reader.hasMore) {
    const tag = reader.tag();
    if (tag === 8) type = reader.int() === 1 ? 'delete' : 'put';
    else if (tag === 18) kv = readEmbeddedKeyValue(reader);
    else if (tag === 26) prevKv = readEmbeddedKeyValue(reader);
    else reader.skip(tag);
  }
  reader.leave(outer);
  return { type, kv, prevKv };
}
