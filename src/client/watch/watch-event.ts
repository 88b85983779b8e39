/** Events of a watch, as types and from their text. */
import type { Status } from '../../api/index.ts';
import { ApiError, TransportError } from '../errors.ts';
import type { TextEncoding } from '../lazy/json-text.ts';
import { asPromised, lazyChange } from '../lazy/lazy-object.ts';
import { parseEventLine } from '../lazy/managed-fields.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { AnyObject, ChangeType } from '../objects/objects.ts';

export type WatchEvent<T extends AnyObject = AnyObject> = ChangeEvent<T> | BookmarkEvent;

export type ChangeEvent<T extends AnyObject = AnyObject> = {
  readonly type: ChangeType;
  /** Of a DELETED event: its last state, with the version of the deletion. */
  readonly object: T;
};

/** Everything up to this version has been sent. */
export type BookmarkEvent = {
  readonly type: 'BOOKMARK';
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> };
  };
  /** What came before was the initial state; it is complete now. */
  readonly isInitialEventsEnd: boolean;
};

/** What JSON.parse makes of a line, or its error. */
export type DecodeLine = (line: Buffer, encoding: TextEncoding) => unknown;

/** An event is about an object without a name: what it changes cannot be told. */
export const NO_NAME = 'NO_NAME';
const END_MARK = 'k8s.io/initial-events-end';

/** An ERROR event is thrown, as the refusal it is. */
export function parseEvent<T extends AnyObject>(
  resource: Resource<T>,
  line: Buffer,
  encoding: TextEncoding,
  request: string,
  decode: DecodeLine = parseEventLine,
): WatchEvent<T> {
  const change = resource.isLazy ? lazyChange(resource, line.toString(encoding)) : undefined;
  if (change) return change as WatchEvent as WatchEvent<T>;
  let parsed: { type?: unknown; object?: unknown };
  try {
    parsed = decode(line, encoding) as typeof parsed;
  } catch (cause) {
    throw new TransportError('body', `Cannot read an event of ${request}: ${(cause as Error).message}`, { cause });
  }
  const { type, object } = parsed ?? {};
  if (typeof object === 'object' && object !== null) {
    if (type === 'ERROR') throw new ApiError(object as Status, request);
    if (typeof (object as Partial<AnyObject>).metadata?.resourceVersion !== 'string')
      throw new TransportError('body', `Cannot read an event of ${request}: its object has no version`);
    if ((type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') && !(object as AnyObject).metadata.name)
      throw new TransportError('body', `Cannot read an event of ${request}: its object has no name`, { code: NO_NAME });
    if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
      return { type, object: asPromised(resource, object as T) };
    if (type === 'BOOKMARK') {
      const bookmark = object as BookmarkEvent['object'];
      return { type, object: bookmark, isInitialEventsEnd: bookmark.metadata.annotations?.[END_MARK] === 'true' };
    }
  }
  throw new TransportError('body', `Cannot read an event of ${request}: its type is ${JSON.stringify(type)}`);
}
