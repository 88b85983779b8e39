/** One resource of the API: what discovery says of it, where it is stored, and which type its objects have. */
import type { JsonObject } from '../../api/json.ts';
import type { Schema } from '../schema/schema.ts';
import type { CustomKind } from './custom-kind.ts';

export type Subresource = {
  readonly name: string;
  readonly verbs: readonly string[];
  /** What it takes and answers, where that differs from the parent. */
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
};

export interface Resource {
  /** `''` is the core group. */
  readonly group: string;
  readonly version: string;
  /** `v1` or `group/version`. */
  readonly groupVersion: string;
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  /** Answered too, but discovery does not tell: garbage collectors follow all that can be listed, watched and deleted. */
  readonly untoldVerbs?: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  readonly schema: Schema;
  readonly isCustom: boolean;
  /** Made by the server itself, of its own state: no definition takes its place. */
  readonly isLive?: boolean;
  /** Custom kinds: the version objects are stored in, where it is not this one. */
  readonly storageVersion?: string;
  /** Custom kinds: all versions that the definition has, served or not, as `group/version`. */
  readonly definedVersions?: ReadonlySet<string>;
  /** Custom kinds: what a field selector may name, as paths without a leading dot: `spec.color`. */
  readonly selectableFields?: readonly string[];
  /** Custom kinds: the same of all versions, whose selectors are held against the same stored objects. */
  readonly selectableInAny?: readonly string[];
  /** Custom kinds: the schema as it was given, to be published; absent: any object. */
  readonly openApi?: JsonObject;
  /** Custom kinds: everything else that the definition says of this version. */
  readonly custom?: CustomKind;
}

/** `configmaps`, or `deployments.apps`: how messages name a resource. */
export function qualifiedName({ plural, group }: Pick<Resource, 'plural' | 'group'>): string {
  return group === '' ? plural : `${plural}.${group}`;
}
