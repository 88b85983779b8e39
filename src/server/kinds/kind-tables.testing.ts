/** For tests of rules as tables: a good object of a kind, what is changed of it, and what is said of that. */
import { fieldErrorText, type JsonObject, type JsonValue, type KubeObject } from '../../api/index.ts';
import { checkObject, cloneJson } from '../codec/index.ts';
import { apply, find } from './strategy-run.testing.ts';

/** A path of field names and indexes to a new value; undefined takes the field away. */
export type Change = readonly [path: string, value: JsonValue | undefined];

/** What is wrong with the object once it is changed so, as text. */
export async function faultsOf(kind: string, good: JsonObject, ...changes: Change[]): Promise<string[]> {
  return (await created(kind, good, ...changes)).errors;
}

/** What the server makes of it. */
export async function created(kind: string, good: JsonObject, ...changes: Change[]): ReturnType<typeof apply> {
  const resource = find(kind);
  const body = { kind: resource.kind, apiVersion: resource.groupVersion, ...changed(good, changes) };
  return apply(resource, checkObject(body, resource.schema).object);
}

/** What is wrong with an update of the good object that changes it so. */
export async function updateFaultsOf(kind: string, good: JsonObject, ...changes: Change[]): Promise<string[]> {
  const { created: old, strategy, context } = await created(kind, good);
  const next = changed(old as unknown as JsonObject, changes) as unknown as KubeObject;
  strategy.setDefaults?.(next);
  await strategy.prepareUpdate?.(next, old, context);
  const faults = [
    ...((await strategy.validate?.(next, old, context)) ?? []),
    ...(strategy.validateUpdate?.(next, old) ?? []),
  ];
  return faults.map(fieldErrorText);
}

function changed(good: JsonObject, changes: readonly Change[]): JsonObject {
  const object = cloneJson(good) as JsonObject;
  for (const [path, value] of changes) {
    const steps = path.split('.');
    const last = steps.pop()!;
    let owner = object;
    for (const step of steps) owner = owner[step] as JsonObject;
    if (value === undefined) delete owner[last];
    else owner[last] = value;
  }
  return object;
}
