/**
 * What an etcd client is answered, as bytes. Every response has a header: Go's client reads it without looking.
 */
import { Writer } from '../../api/protobuf.ts';
import { encodeKeyValue } from '../key-value-record.ts';
import type { KeyValue, OpResult, RangeResult, Revision, WatchEvent } from '../kv.ts';

/** One member, and so one term. What they are does not matter, as long as they stay. */
export const CLUSTER_ID = 0x6c6f6e67n;
export const MEMBER_ID = 0x7761746368n;
export const TERM = 1;

export function response(
  revision: Revision,
  write: (writer: Writer) => void = () => {},
  initialBytes = 128,
): Uint8Array {
  const writer = new Writer(initialBytes).message(1, (header) => {
    header.int64(1, CLUSTER_ID).int64(2, MEMBER_ID).int(3, revision).int(4, TERM);
  });
  write(writer);
  return writer.finish();
}

export function writeRangeResult(writer: Writer, { kvs, more, count }: Omit<RangeResult, 'revision'>): void {
  for (const kv of kvs) writer.bytes(2, encodeKeyValue(kv));
  if (more) writer.bool(3, true);
  if (count > 0) writer.int(4, count);
}

export function writePutResult(writer: Writer, prevKv: KeyValue | undefined): void {
  if (prevKv) writer.bytes(2, encodeKeyValue(prevKv));
}

export function writeDeleteResult(writer: Writer, deleted: number, prevKvs: readonly KeyValue[]): void {
  if (deleted > 0) writer.int(2, deleted);
  for (const kv of prevKvs) writer.bytes(3, encodeKeyValue(kv));
}

/** The answers of a transaction: their headers hold the revision alone, from the first change on the new one. */
export function writeOpResults(writer: Writer, results: readonly OpResult[], revision: Revision): void {
  const isChange = (result: OpResult) => result.kind === 'put' || (result.kind === 'delete' && result.deleted > 0);
  let at = results.some(isChange) ? revision - 1 : revision;
  for (const result of results) {
    if (isChange(result)) at = revision;
    writer.message(3, (outer) => writeOpResult(outer, result, at));
  }
}

function writeOpResult(writer: Writer, result: OpResult, revision: Revision): void {
  const header = (part: Writer) => part.message(1, (inner) => inner.int(3, revision));
  switch (result.kind) {
    case 'range':
      writer.message(1, (part) => writeRangeResult(header(part), result));
      break;
    case 'put':
      writer.message(2, (part) => writePutResult(header(part), result.prevKv));
      break;
    case 'delete':
      writer.message(3, (part) => writeDeleteResult(header(part), result.deleted, result.prevKvs));
  }
}

export type WatchAnswer = {
  readonly revision: Revision;
  /** -1: of the whole stream, or of a watch that was not made. */
  readonly watchId: number;
  readonly created?: boolean;
  readonly canceled?: boolean;
  readonly compactRevision?: Revision;
  readonly cancelReason?: string;
  /** More of it follows. */
  readonly fragment?: boolean;
  readonly events?: readonly WatchEvent[];
};

export function encodeWatchAnswer(answer: WatchAnswer): Uint8Array {
  const { events = [] } = answer;
  return response(
    answer.revision,
    (writer) => {
      if (answer.watchId !== 0) writer.int(2, answer.watchId);
      if (answer.created) writer.bool(3, true);
      if (answer.canceled) writer.bool(4, true);
      if (answer.compactRevision) writer.int(5, answer.compactRevision);
      if (answer.cancelReason) writer.string(6, answer.cancelReason);
      if (answer.fragment) writer.bool(7, true);
      for (const event of events) writer.message(11, (part) => writeEvent(part, event));
    },
    events.length > 0 ? 64 * 1024 : 64,
  );
}

/** About how many bytes an event takes. */
export function sizeOfEvent({ kv, prevKv }: WatchEvent): number {
  return 64 + kv.key.length + kv.value.length + (prevKv ? prevKv.key.length + prevKv.value.length : 0);
}

function writeEvent(writer: Writer, { type, kv, prevKv }: WatchEvent): void {
  if (type === 'delete') writer.int(1, 1);
  writer.bytes(2, encodeKeyValue(kv));
  if (prevKv) writer.bytes(3, encodeKeyValue(prevKv));
}
