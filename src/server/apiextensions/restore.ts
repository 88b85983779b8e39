/**
 * A stored object as its definition wants it today: in the storage version of today, without fields that are no longer
 * known, with defaults that are new. What is in the store stays as it is until somebody writes the object again.
 */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { NoRoomError, setDefaults } from '../../schemas/structural/set-defaults.ts';
import { checkObject } from '../codec/check-object.ts';
import { kindOf } from '../registry/custom-kind.ts';
import type { Resource } from '../registry/resource.ts';

/** Whether what was written at that revision may differ from what the schema says now. */
export function mayBeOutdated({ custom }: Resource, revision: number): boolean {
  return custom !== undefined && revision <= custom.definedAt;
}

/** The object given is used up. */
export function restoreObject(object: KubeObject, resource: Resource): KubeObject {
  const { schema, groupVersion, kind } = resource;
  const typed = { ...object, kind, apiVersion: groupVersion } as unknown as JsonObject;
  const { object: pruned } = checkObject(typed, schema, { isCustom: true });
  try {
    setDefaults(pruned, kindOf(resource).structural);
  } catch (err) {
    // It has to be read all the same: it stays without the defaults that would make it too large.
    if (!(err instanceof NoRoomError)) throw err;
  }
  return pruned as unknown as KubeObject;
}
