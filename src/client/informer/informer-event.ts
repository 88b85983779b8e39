/**
 * The events of an informer, and how they are found by comparing what was with what is.
 *
 * What is always true: to one handler a key is added, then updated any number of times, then deleted, and only then
 * added again. The same object again is no change. An object with another uid is another object: it becomes a deletion
 * and an addition. Of a whole state the deletions come first, so that what took the place of something finds it gone.
 */
import type { AnyObject } from '../objects/objects.ts';
import { Slices } from '../slices.ts';

export type InformerEvent<T extends AnyObject> = Added<T> | Updated<T> | Deleted<T>;

export type Added<T extends AnyObject> = {
  readonly type: 'added';
  readonly key: string;
  readonly object: T;
  /** It was there when the informer, or this handler, began. */
  readonly isInitial: boolean;
};

export type Updated<T extends AnyObject> = {
  readonly type: 'updated';
  readonly key: string;
  readonly object: T;
  /** The state this handler got before. */
  readonly old: T;
  /** Nothing has changed: a resync that the handler asked for. */
  readonly isResync: boolean;
};

export type Deleted<T extends AnyObject> = {
  readonly type: 'deleted';
  readonly key: string;
  /** The last that is known of it. */
  readonly object: T;
  /** The deletion itself was missed: there may have been changes after `object`. */
  readonly isTombstone: boolean;
};

/** What an object that is there now means, given what was there. */
export function afterUpsert<T extends AnyObject>(
  key: string,
  old: T | undefined,
  object: T,
  isInitial = false,
): InformerEvent<T>[] {
  if (old === undefined) return [{ type: 'added', key, object, isInitial }];
  if (old === object) return [];
  if (old.metadata.uid !== object.metadata.uid)
    return [
      { type: 'deleted', key, object: old, isTombstone: true },
      { type: 'added', key, object, isInitial: false },
    ];
  return [{ type: 'updated', key, object, old, isResync: false }];
}

export function afterRemove<T extends AnyObject>(key: string, old: T | undefined, last: T): InformerEvent<T>[] {
  if (old === undefined) return [];
  if (old.metadata.uid !== last.metadata.uid) return [{ type: 'deleted', key, object: old, isTombstone: true }];
  return [{ type: 'deleted', key, object: last, isTombstone: false }];
}

/** What a whole state means, given the one before it; in slices, so neither may change meanwhile. */
export async function afterReplace<T extends AnyObject>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
  isInitial: boolean,
  slices: Slices = new Slices(),
): Promise<InformerEvent<T>[]> {
  const gone: InformerEvent<T>[] = [];
  const rest: InformerEvent<T>[] = [];
  for (const [key, object] of before) {
    if (slices.isOver) await slices.pause();
    if (!after.has(key)) gone.push({ type: 'deleted', key, object, isTombstone: true });
  }
  for (const [key, object] of after) {
    if (slices.isOver) await slices.pause();
    for (const event of afterUpsert(key, before.get(key), object, isInitial))
      (event.type === 'deleted' ? gone : rest).push(event);
  }
  return gone.length === 0 ? rest : gone.concat(rest);
}
