/**
 * Changes to an object without sending the whole of it. Apply, the fourth kind, is a call of its own: it also creates.
 *
 *     await client.resource(corev1.pods).patch('a', mergePatch({ metadata: { labels: { done: 'yes', todo: null } } }));
 */
import type { AnyObject, Draft, MergePatch, UnknownFields } from '../objects/objects.ts';

export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string };

export type Patch<T extends AnyObject = AnyObject> = {
  readonly contentType: string;
  readonly body: unknown;
  /** Exists in types only: a patch for one kind is none for another. */
  readonly appliesTo?: (object: T) => void;
};

/** RFC 6902: operations, one after the other, all or none. */
export function jsonPatch(operations: readonly JsonPatchOperation[]): Patch {
  return { contentType: 'application/json-patch+json', body: operations };
}

/** RFC 7386: fields replace fields, lists replace lists, null removes. */
export function mergePatch<T extends AnyObject>(change: MergePatch<Draft<T>>): Patch<T> {
  return { contentType: 'application/merge-patch+json', body: change };
}

/** As a merge patch, but lists are merged by the keys of their items; built-in kinds only. */
export function strategicPatch<T extends AnyObject>(change: MergePatch<Draft<T>> | UnknownFields): Patch<T> {
  return { contentType: 'application/strategic-merge-patch+json', body: change };
}
