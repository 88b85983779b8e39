/** For tests: runs the rules of a kind over a body, as the write path does on create. */
import { fieldErrorText, type JsonObject, type KubeObject } from '../../api/index.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import type { KindRules, RuleContext } from '../strategy/strategy.ts';
import { rulesOf } from './rules-of.ts';

/** By `qualifiedName`, in its preferred version. */
export function find(name: string): Resource {
  return builtInResources().find((resource) => qualifiedName(resource) === name)!;
}

export type Run = {
  readonly created: KubeObject;
  /** As text, with their paths. */
  readonly errors: string[];
  readonly rules: KindRules;
  readonly context: RuleContext;
};

/** What is refused when `next` takes the place of what was created, as text; a status if it is one that is written. */
export async function refusals(run: Run, next: KubeObject, subresource = ''): Promise<string[]> {
  const { created, rules } = run;
  const context = { ...run.context, subresource };
  const object = structuredClone(next);
  rules.setDefaults?.(object);
  await rules.prepareUpdate?.(object, created, context);
  const faults = (await rules.validate?.(object, created, context)) ?? [];
  return [...faults, ...(rules.validateUpdate?.(object, created, context) ?? [])].map(fieldErrorText);
}

/** What is told about what was created. */
export function warningsOf({ created, rules, context }: Run): readonly string[] {
  return rules.warnings?.(created, undefined, context) ?? [];
}

/** `others` are the objects there are already, by `group/plural`. */
export async function apply(
  resource: Resource,
  body: JsonObject,
  others: Readonly<Record<string, readonly KubeObject[]>> = {},
): Promise<Run> {
  const context: RuleContext = {
    now: '2024-01-01T00:00:00Z',
    subresource: '',
    list: async (group, plural) => others[`${group}/${plural}`] ?? [],
    listKnown: async (group, plural) => others[`${group}/${plural}`] ?? [],
    known: () => undefined,
    walk: async () => ({ total: 0, objects: [] }),
    warn: () => {},
  };
  const created: KubeObject = {
    kind: resource.kind,
    apiVersion: resource.groupVersion,
    ...structuredClone(body),
    metadata: {
      name: 'a',
      ...(resource.isNamespaced && { namespace: 'ns' }),
      uid: 'u1',
      ...(body.metadata as JsonObject),
    },
  };
  const rules = rulesOf(resource);
  rules.setDefaults?.(created);
  await rules.prepareCreate?.(created, context);
  return { created, errors: ((await rules.validate?.(created)) ?? []).map(fieldErrorText), rules, context };
}
