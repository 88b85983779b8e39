/**
 * Which events are worth a reconcile: pure functions from an event to yes or no.
 *
 * Additions and deletions pass all that are about a change: they come once, and nobody can say what changed. So
 * `not(labelsChanged)` holds back every addition; what is meant there is mostly a function of one's own.
 */
import type { AnyObject, InformerEvent } from '../../client/index.ts';

export type Predicate<T extends AnyObject> = (event: InformerEvent<T>) => boolean;

/**
 * Updates that changed what is wished for, as opposed to a status. Kinds that do not count generations (such as
 * ConfigMap) cannot tell, so there every update passes that changed anything.
 */
export function generationChanged(event: InformerEvent<AnyObject>): boolean {
  if (event.type !== 'updated') return true;
  const [before, after] = [event.old.metadata.generation, event.object.metadata.generation];
  return before === undefined && after === undefined ? versionChanged(event) : before !== after;
}

export function labelsChanged(event: InformerEvent<AnyObject>): boolean {
  return event.type !== 'updated' || !isSameRecord(event.old.metadata.labels, event.object.metadata.labels);
}

export function annotationsChanged(event: InformerEvent<AnyObject>): boolean {
  return event.type !== 'updated' || !isSameRecord(event.old.metadata.annotations, event.object.metadata.annotations);
}

/** Holds back what only comes again. */
export function versionChanged(event: InformerEvent<AnyObject>): boolean {
  return event.type !== 'updated' || event.old.metadata.resourceVersion !== event.object.metadata.resourceVersion;
}

/** By the object alone. An update passes if it matches before or after: what ceases to match is news, too. */
export function whereObject<T extends AnyObject>(matches: (object: T) => boolean): Predicate<T> {
  return (event) => matches(event.object) || (event.type === 'updated' && matches(event.old));
}

export function allOf<T extends AnyObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.every((passes) => passes(event));
}

export function anyOf<T extends AnyObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (event) => predicates.some((passes) => passes(event));
}

export function not<T extends AnyObject>(predicate: Predicate<T>): Predicate<T> {
  return (event) => !predicate(event);
}

type TextRecord = Readonly<Record<string, string>> | undefined;

function isSameRecord(a: TextRecord, b: TextRecord): boolean {
  if (a === b) return true;
  const entries = Object.entries(a ?? {});
  return entries.length === Object.keys(b ?? {}).length && entries.every(([name, value]) => b?.[name] === value);
}
