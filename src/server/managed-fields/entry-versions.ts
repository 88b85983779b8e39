/**
 * Entries in a version that their kind does not have, or has no more: nothing can be compared there.
 *
 * Of a built-in kind such an entry goes with the next write. Of a custom kind an apply is refused until somebody has taken
 * the entry away, and any other write leaves all entries as they are.
 *
 * What a write changes, everybody is told in the version of their entry: fields may have other names there.
 */
import { plainError } from '../../api/errors/status-error.ts';
import type { JsonObject } from '../../api/json.ts';
import { withNullsForAbsent } from '../codec/written-nulls.ts';
import type { Schema } from '../schema/schema.ts';
import { compareObjects } from './compare.ts';
import { emptySet, type FieldSet, union } from './field-sets/field-set.ts';
import { KeylessElementError } from './field-sets/field-shape.ts';
import type { Manager } from './managers.ts';

export type EntryVersions = {
  /** As entries write them: `v1` or `group/version`. */
  readonly known: ReadonlySet<string>;
  readonly isCustom: boolean;
  /** Another version, where objects do not look the same in it. */
  readonly otherForm?: (apiVersion: string) => OtherForm | undefined;
};

export type OtherForm = { readonly schema: Schema; readonly convert: (object: JsonObject) => JsonObject };

/** What a write changed or added, and that with what it removed. */
export type Change = { readonly changed: FieldSet; readonly touched: FieldSet };

/** The change as the versions of entries see it, each found when it is first asked for; `counted`: what of it counts. */
export function changeByVersion(
  own: Change,
  before: JsonObject,
  after: JsonObject,
  versions: EntryVersions | undefined,
  counted: (set: FieldSet) => FieldSet,
): (manager: Manager) => Change {
  const otherForm = versions?.otherForm;
  if (!otherForm) return () => own;
  const known = new Map<string, Change>();
  return ({ id: { apiVersion } }) => {
    let change = known.get(apiVersion);
    if (!change) {
      const form = otherForm(apiVersion);
      change = form ? changeIn(form, before, after, counted) : own;
      known.set(apiVersion, change);
    }
    return change;
  };
}

const NOTHING: Change = { changed: emptySet, touched: emptySet };

function changeIn(
  { schema, convert }: OtherForm,
  before: JsonObject,
  after: JsonObject,
  counted: (set: FieldSet) => FieldSet,
): Change {
  const inIt = (object: JsonObject) => withNullsForAbsent(convert(object), schema);
  try {
    const { added, modified, removed } = compareObjects(inIt(before), inIt(after), schema);
    const changed = counted(union(added, modified));
    return { changed, touched: union(changed, counted(removed)) };
  } catch (err) {
    if (err instanceof KeylessElementError) return NOTHING;
    throw err;
  }
}

export function isStale({ id }: Manager, versions: EntryVersions | undefined): boolean {
  return versions !== undefined && !versions.known.has(id.apiVersion);
}

/** Those that an apply goes by. */
export function withoutStale(managers: readonly Manager[], versions: EntryVersions | undefined): readonly Manager[] {
  const stale = managers.find((manager) => isStale(manager, versions));
  if (!stale) return managers;
  if (versions?.isCustom) throw plainError(`request to convert CR to an invalid group/version: ${stale.id.apiVersion}`);
  return managers.filter((manager) => !isStale(manager, versions));
}
