/** For tests: runs the strategy of a kind over a body, as the write path does on create. */
import { fieldErrorText, type JsonObject, type KubeObject } from '../../api/index.ts';
import { builtInResources } from '../registry/built-in-resources.ts';
import { qualifiedName, type Resource } from '../registry/resource.ts';
import type { Strategy, StrategyContext } from '../strategy/strategy.ts';
import { strategyOf } from './strategy-of.ts';

/** By `qualifiedName`, in its preferred version. */
export function find(name: string): Resource {
  return builtInResources().find((resource) => qualifiedName(resource) === name)!;
}

export type Run = {
  readonly created: KubeObject;
  /** As text, with their paths. */
  readonly errors: string[];
  readonly strategy: Strategy;
  readonly context: StrategyContext;
};

/** What is refused when `next` takes the place of what was created, as text; a status if it is one that is written. */
export async function refusals(run: Run, next: KubeObject, subresource = ''): Promise<string[]> {
  const { created, strategy } = run;
  const context = { ...run.context, subresource };
  const object = structuredClone(next);
  strategy.keepOther?.(object, created, subresource);
  strategy.setDefaults?.(object);
  await strategy.prepareUpdate?.(object, created, context);
  const faults = (await strategy.validate?.(object, created, context)) ?? [];
  return [...faults, ...(strategy.validateUpdate?.(object, created, context) ?? [])].map(fieldErrorText);
}

/** What is told about what was created. */
export function warningsOf({ created, strategy, context }: Run): readonly string[] {
  return strategy.warnings?.(created, undefined, context) ?? [];
}

/** `others` are the objects there are already, by `group/plural`. */
export async function apply(
  resource: Resource,
  body: JsonObject,
  others: Readonly<Record<string, readonly KubeObject[]>> = {},
  warn: (text: string) => void = () => {},
): Promise<Run> {
  const context: StrategyContext = {
    now: '2024-01-01T00:00:00Z',
    subresource: '',
    list: async (group, plural) => others[`${group}/${plural}`] ?? [],
    listHeld: async (group, plural) => others[`${group}/${plural}`] ?? [],
    listKnown: async (group, plural) => others[`${group}/${plural}`] ?? [],
    known: () => undefined,
    remembered: () => undefined,
    walk: async () => ({ total: 0, objects: [] }),
    warn,
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
  const strategy = strategyOf(resource);
  strategy.setDefaults?.(created);
  await strategy.prepareCreate?.(created, context);
  return { created, errors: ((await strategy.validate?.(created)) ?? []).map(fieldErrorText), strategy, context };
}
