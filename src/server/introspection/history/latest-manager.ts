/** Who made the last change of an object, as far as its managed fields tell: the manager whose entry is new or moved. */
import type { JsonObject } from '../../../api/index.ts';

export type ManagerFacts = {
  readonly manager: string;
  readonly operation: string;
  readonly time?: string;
  readonly subresource?: string;
};

/** `before`: as it was, if it was. */
export function latestManager(before: JsonObject | undefined, now: JsonObject): ManagerFacts | undefined {
  const known = new Set(entriesOf(before).map((entry) => JSON.stringify(entry)));
  let latest: ManagerFacts | undefined;
  for (const entry of entriesOf(now)) {
    if (known.has(JSON.stringify(entry))) continue;
    const { manager = '', operation = '', time, subresource } = entry as Partial<ManagerFacts>;
    if (latest && (time ?? '') < (latest.time ?? '')) continue;
    latest = { manager, operation, ...(time && { time }), ...(subresource && { subresource }) };
  }
  return latest;
}

function entriesOf(object: JsonObject | undefined): readonly JsonObject[] {
  const { managedFields } = (object?.metadata ?? {}) as { managedFields?: unknown };
  return Array.isArray(managedFields) ? (managedFields as JsonObject[]) : [];
}
