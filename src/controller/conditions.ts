/**
 * Conditions in an object's status: one per type, and `lastTransitionTime` is when its status last changed.
 *
 * Nothing is changed in place. Where nothing would be different the same array comes back, so `===` tells a controller
 * whether there is anything to write.
 */
import { rfc3339, wallNow } from '../api/index.ts';
import type { metav1 } from '../client/index.ts';

export type Condition = Readonly<metav1.Condition>;
export type ConditionStatus = Condition['status'];

/** As kinds describe it: older writers left things out. */
type SomeCondition = Pick<Condition, 'type' | 'status' | 'observedGeneration'> &
  Partial<Pick<Condition, 'reason' | 'message' | 'lastTransitionTime'>>;

/** `lastTransitionTime` only where it is known better than "now". */
export type NewCondition = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'> & {
  readonly lastTransitionTime?: string | undefined;
  readonly observedGeneration?: number | undefined;
};

/**
 * Adds the condition, or updates the one of its type where it stands. The array can be put into a status or a patch as it
 * is; it may be the one that was given, so it is not to be changed.
 */
export function setCondition<C extends SomeCondition = Condition>(
  conditions: readonly C[] | undefined,
  wanted: NewCondition,
  now: Date = new Date(wallNow()),
): C[] {
  const before = (conditions ?? []) as C[];
  const index = before.findIndex(({ type }) => type === wanted.type);
  const known = before[index];
  const { observedGeneration, lastTransitionTime: time = rfc3339(now.getTime()), ...rest } = wanted;
  const said = { ...rest, ...(observedGeneration !== undefined && { observedGeneration }) };
  if (!known) return [...before, { ...said, lastTransitionTime: time } as unknown as C];
  const next: C = {
    ...known,
    ...said,
    lastTransitionTime: known.status === wanted.status ? (known.lastTransitionTime ?? time) : time,
  };
  return isSame(known, next) ? before : before.with(index, next);
}

export function removeCondition<C extends SomeCondition>(conditions: readonly C[] | undefined, type: string): C[] {
  const before = (conditions ?? []) as C[];
  const left = before.filter((condition) => condition.type !== type);
  return left.length === before.length ? before : left;
}

export function findCondition<C extends SomeCondition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(conditions: readonly SomeCondition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/** False says that the condition is there and False: one that is absent is unknown. */
export function isConditionFalse(conditions: readonly SomeCondition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'False';
}

function isSame(a: SomeCondition, b: SomeCondition): boolean {
  return (
    a.status === b.status &&
    // Built-in kinds leave out what is empty.
    (a.reason ?? '') === (b.reason ?? '') &&
    (a.message ?? '') === (b.message ?? '') &&
    a.observedGeneration === b.observedGeneration &&
    a.lastTransitionTime === b.lastTransitionTime
  );
}
