/**
 * Lays an applied object over a live one: members are merged, keyed elements by their keys, sets are united, everything
 * else is taken from the applied side. Pure; what does not change is shared with the live object.
 *
 * Order of keyed elements and sets: applied elements keep the order in which they were applied, live ones stay where
 * they are between them.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { isObject, jsonEqual, ownValue, setKey } from '../codec/json/json-objects.ts';
import type { Schema } from '../schema/schema.ts';
import {
  elementStep,
  isEmptyAs,
  listOrEmpty,
  memberSchema,
  objectOrEmpty,
  shapeOfValue,
} from './field-sets/field-shape.ts';

export function mergeTyped(live: JsonObject, applied: JsonObject, schema: Schema): JsonObject {
  const result: JsonObject = {};
  let isSame = true;
  for (const key of Object.keys(live)) setKey(result, key, live[key]!);
  for (const key of Object.keys(applied)) {
    const before = ownValue(live, key);
    const member = memberSchema(schema, key);
    const after = member ? mergeValue(before, applied[key]!, member) : applied[key]!;
    if (after === before) continue;
    isSame = false;
    setKey(result, key, after);
  }
  return isSame ? live : result;
}

function mergeValue(live: JsonValue | undefined, applied: JsonValue, schema: Schema): JsonValue {
  if (live === undefined) return applied;
  const shape = shapeOfValue(schema, applied);
  if (shape === 'leaf' || isEmptyAs(shape, live)) return jsonEqual(live, applied) ? live : applied;
  // Null and empty ask for nothing in it, so all that others have there stays.
  if (isEmptyAs(shape, applied)) return live;
  if (shape === 'members') return mergeTyped(objectOrEmpty(live), objectOrEmpty(applied), schema);
  const merged = mergeElements(listOrEmpty(live), listOrEmpty(applied), schema);
  return jsonEqual(merged, live) ? live : merged;
}

/** Of the applied list each element has a step of its own. Live elements that cannot be told apart stay as they are. */
function mergeElements(live: readonly JsonValue[], applied: readonly JsonValue[], schema: Schema): JsonValue[] {
  const old = new Map<string, JsonValue | undefined>();
  const steps = live.map((item) => elementStep(item, schema));
  steps.forEach((step, i) => {
    if (step !== undefined) old.set(step, old.has(step) ? undefined : live[i]); // of duplicates none is merged
  });
  const now = applied.map((item) => ({ step: elementStep(item, schema)!, item }));
  const nowSteps = new Set(now.map(({ step }) => step));
  const shared = now.filter(({ step }) => old.has(step));
  const result: JsonValue[] = [];
  let nextShared = 0;
  let taken = 0;
  const take = (): string => {
    const { step, item } = now[taken++]!;
    const before = old.get(step);
    const isMerged = isObject(before) && isObject(item) && schema.items !== undefined;
    result.push(isMerged ? mergeTyped(before, item, schema.items!) : item);
    return step;
  };
  for (const [i, item] of live.entries()) {
    const step = steps[i];
    if (step === undefined || !nowSteps.has(step)) {
      result.push(item);
      continue;
    }
    // Applied in another order: its turn comes with the applied list.
    if (step !== shared[nextShared]?.step) continue;
    while (take() !== step);
    nextShared++;
  }
  while (taken < now.length) take();
  return result;
}
