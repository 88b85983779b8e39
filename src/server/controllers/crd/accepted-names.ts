/**
 * Which names a definition gets. Within a group no two resources share a plural, singular or short name, and no two
 * kinds a name; who was first keeps it. Pure: the state of one definition and the names of the others go in, its names
 * and conditions come out.
 */
import { type Condition, conditionOf, type Definition, type DefinitionNames } from '../../apiextensions/definition.ts';

/** What others of the group already go by. */
export type NamesInUse = { readonly resources: ReadonlySet<string>; readonly kinds: ReadonlySet<string> };

export type NamesVerdict = {
  readonly acceptedNames: DefinitionNames;
  readonly namesAccepted: Condition;
  readonly established: Condition;
};

export function namesInUse(others: Iterable<DefinitionNames>): NamesInUse {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { plural, singular, shortNames = [], kind, listKind } of others) {
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}

export function judgeNames(definition: Definition, inUse: NamesInUse): NamesVerdict {
  const wanted = definition.spec.names;
  const accepted: DefinitionNames = { ...definition.status.acceptedNames };
  let conflict: Condition | undefined;
  const refuse = (reason: string, message: string) => {
    conflict = { type: 'NamesAccepted', status: 'False', reason, message };
  };
  const take = (field: 'plural' | 'singular' | 'kind' | 'listKind', used: ReadonlySet<string>, reason: string) => {
    const name = wanted[field];
    if (name === accepted[field]) return;
    if (name && used.has(name)) refuse(reason, inUseText(name));
    else if (name !== undefined) accepted[field] = name;
  };
  take('plural', inUse.resources, 'PluralConflict');
  take('singular', inUse.resources, 'SingularConflict');
  const owned = new Set(accepted.shortNames);
  const taken = (wanted.shortNames ?? []).filter((name) => !owned.has(name) && inUse.resources.has(name));
  if (taken.length === 0) setList(accepted, 'shortNames', wanted.shortNames);
  else refuse('ShortNamesConflict', taken.length === 1 ? inUseText(taken[0]!) : `[${taken.map(inUseText).join(', ')}]`);
  take('kind', inUse.kinds, 'KindConflict');
  take('listKind', inUse.kinds, 'ListKindConflict');
  setList(accepted, 'categories', wanted.categories);
  const namesAccepted: Condition = conflict ?? {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  };
  return { acceptedNames: accepted, namesAccepted, established: nextEstablished(definition, namesAccepted) };
}

/** Once established it stays so, whatever becomes of its names. */
function nextEstablished(definition: Definition, { status }: Condition): Condition {
  const old = conditionOf(definition, 'Established');
  if (old?.status === 'True') return old;
  return status === 'True'
    ? {
        type: 'Established',
        status: 'False',
        reason: 'Installing',
        message: 'the initial names have been accepted',
      }
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

function inUseText(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

function setList(names: DefinitionNames, field: 'shortNames' | 'categories', list: string[] | undefined): void {
  if (list && list.length > 0) names[field] = [...list];
  else delete names[field];
}
