/**
 * Who owns the count of an object, seen through its `scale` subresource: entries of the object become entries of the
 * Scale while that is written, and come back as entries of the object. Pure.
 *
 * Only the count goes this way; whatever else a manager owns of the object stays with it. An applier that still owns the
 * count keeps its entry as it is. Everybody else comes back with an entry for the count alone, which has no time: an
 * updater is known by its version too, and that of a Scale is another one.
 */
import type { ManagedFieldsEntry } from '../../api/objects.ts';
import { difference, type FieldSet, intersection, setOfPaths } from './field-sets/field-set.ts';
import { findManager, Manager, readManagers, writeManagers } from './managers.ts';

const SCALE_VERSION = 'autoscaling/v1';
const countOfScale = setOfPaths([['f:spec', 'f:replicas']]);

/** `count` is the path of the count in the object, as its definition writes it: `.spec.replicas`. */
export function entriesOfScale(
  entries: readonly ManagedFieldsEntry[] | undefined,
  count: string,
): ManagedFieldsEntry[] {
  const owned = countAt(count);
  const owners = readManagers(entries).filter((manager) => owns(manager, owned));
  return writeManagers(
    owners.map(({ id, time }) => {
      const owner = new Manager({ ...id, apiVersion: SCALE_VERSION }, time);
      owner.set = countOfScale;
      return owner;
    }),
  );
}

/** The entries of the object after its Scale was written, whose entries are `ofScale`. */
export function withScaleEntries(
  entries: readonly ManagedFieldsEntry[] | undefined,
  ofScale: readonly ManagedFieldsEntry[] | undefined,
  { count, apiVersion }: { readonly count: string; readonly apiVersion: string },
): ManagedFieldsEntry[] {
  const owned = countAt(count);
  const managers = readManagers(entries);
  const scalers = readManagers(ofScale).filter((manager) => owns(manager, countOfScale));
  const arrived = new Set(scalers);
  for (const manager of managers) {
    if (!owns(manager, owned)) continue;
    const still = findManager(scalers, manager.id);
    if (still) arrived.delete(still);
    else manager.set = difference(manager.set, owned);
  }
  for (const { id } of arrived) {
    const owner = new Manager({ ...id, apiVersion });
    owner.set = owned;
    managers.push(owner);
  }
  return writeManagers(managers);
}

function countAt(path: string): FieldSet {
  const [, ...names] = path.split('.');
  return setOfPaths([names.map((name) => `f:${name}`)]);
}

function owns(manager: Manager, fields: FieldSet): boolean {
  return manager.mayTouch(fields) && intersection(manager.set, fields).size > 0;
}
