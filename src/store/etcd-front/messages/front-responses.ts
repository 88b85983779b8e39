/**
 * What an etcd client is answered. Every response has a header: Go's client reads it without looking. What may hold many
 * pairs is a LongMessage, written as it is sent.
 */
import { Writer } from '../../../api/protobuf.ts';
import { encodeKeyValue } from '../../key-value-record.ts';
import type { KeyValue, OpResult, RangeResult, Revision, WatchEvent } from '../../kv.ts';
import { LongMessage } from './long-message.ts';

/** One member, and so one term. What they are does not matter, as long as they stay. */
export const CLUSTER_ID = 0x6c6f6e67n;
export const MEMBER_ID = 0x7761746368n;
export const TERM = 1;

export function response(
  revision: Revision,
  write: (writer: Writer) => void = () => {},
  initialBytes = 128,
): Uint8Array {
  const writer = new Writer(initialBytes).message(1, (header) => writeHeader(header, revision));
  write(writer);
  return writer.finish();
}

function writeHeader(header: Writer, revision: Revision): void {
  header.int64(1, CLUSTER_ID).int64(2, MEMBER_ID).int(3, revision).int(4, TERM);
}

function longResponse(revision: Revision): LongMessage {
  return new LongMessage().write((writer) => writer.message(1, (header) => writeHeader(header, revision)));
}

export function rangeResponse(result: RangeResult): Promise<LongMessage> {
  return addRange(longResponse(result.revision), result);
}

export function deleteResponse(revision: Revision, result: OpResult & { kind: 'delete' }): Promise<LongMessage> {
  return addDelete(longResponse(revision), result);
}

export function putResponse(revision: Revision, prevKv: KeyValue | undefined): Uint8Array {
  return response(revision, (writer) => writePrevKv(writer, prevKv));
}

type TxnAnswer = { readonly succeeded: boolean; readonly results: readonly OpResult[] };

/** The answers of a transaction: their headers hold the revision alone, from the first change on the new one. */
export async function txnResponse(revision: Revision, answer: TxnAnswer): Promise<LongMessage> {
  const before = answer.results.some(isChange) ? revision - 1 : revision;
  return addTxn(longResponse(revision), answer, { before, after: revision });
}

function isChange(result: OpResult): boolean {
  if (result.kind === 'txn') return result.results.some(isChange);
  return result.kind === 'put' || (result.kind === 'delete' && result.deleted > 0);
}

/** The revision before and after the first change; `before` moves when it has come. */
type Place = { before: Revision; readonly after: Revision };

async function addTxn(message: LongMessage, { succeeded, results }: TxnAnswer, place: Place): Promise<LongMessage> {
  if (succeeded) message.write((writer) => writer.bool(2, true));
  for (const result of results) message.message(3, await opMessage(result, place));
  return message;
}

async function opMessage(result: OpResult, place: Place): Promise<LongMessage> {
  if (result.kind !== 'txn' && isChange(result)) place.before = place.after;
  const inner = new LongMessage();
  const header = () => inner.write((writer) => writer.message(1, (part) => part.int(3, place.before)));
  switch (result.kind) {
    case 'range':
      return new LongMessage().message(1, await addRange(header(), result));
    case 'put':
      return new LongMessage().message(
        2,
        header().write((writer) => writePrevKv(writer, result.prevKv)),
      );
    case 'delete':
      return new LongMessage().message(3, await addDelete(header(), result));
    case 'txn':
      inner.write((writer) => writer.message(1, () => {})); // a header, and nothing in it
      return new LongMessage().message(4, await addTxn(inner, result, place));
  }
}

async function addRange(
  message: LongMessage,
  { kvs, more, count }: Omit<RangeResult, 'revision'>,
): Promise<LongMessage> {
  await message.pairs(2, kvs);
  return message.write((writer) => {
    if (more) writer.bool(3, true);
    if (count > 0) writer.int(4, count);
  });
}

async function addDelete(
  message: LongMessage,
  { deleted, prevKvs }: OpResult & { kind: 'delete' },
): Promise<LongMessage> {
  if (deleted > 0) message.write((writer) => writer.int(2, deleted));
  return message.pairs(3, prevKvs);
}

function writePrevKv(writer: Writer, prevKv: KeyValue | undefined): void {
  if (prevKv) writer.bytes(2, encodeKeyValue(prevKv));
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
    events.length > 0 ? 1024 : 64,
  );
}

/** Events alone, to be put behind an answer that has none. */
export function encodeWatchEvents(events: readonly WatchEvent[]): Uint8Array {
  const writer = new Writer(64 * 1024);
  for (const event of events) writer.message(11, (part) => writeEvent(part, event));
  return writer.finish();
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
