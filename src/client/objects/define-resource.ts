/**
 * Resource tokens: one value that knows the path of a resource and carries the type of its objects. Reads, writes and
 * watches take the same token, so they cannot disagree.
 *
 *     const crons = defineResource<CronSpec>({ group: 'ex.io', version: 'v1', plural: 'crons', kind: 'Cron', isNamespaced: true });
 *     for (const { spec } of (await client.resource(crons).list()).items) ...
 */
import { CallbackError, type ObjectMeta } from '../../api/index.ts';
import { keyOf } from './object-key.ts';
import type { AnyObject, ApiObject, PartialObjectMetadata, UnknownFields } from './objects.ts';
import { issueText, type SchemaIssue, type StandardSchemaV1 } from './standard-schema.ts';

/** Exists in types only. */
declare const objectType: unique symbol;

export type Resource<T extends AnyObject = AnyObject> = {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** Describes `spec`. */
  readonly validate?: StandardSchemaV1;
  /** The server is asked for nothing else: see `metadataOf`. */
  readonly isMetadataOnly?: boolean;
  /** Objects are decoded when they are asked to be: see `lazyOf`. */
  readonly isLazy?: boolean;
  readonly [objectType]?: T;
};

/** The type of a token's objects. */
export type ObjectOf<R> = R extends Resource<infer T> ? T : never;

export type ResourceDefinition<Spec = unknown> = {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** What is written is checked against it before it is sent; what is read is not: see `checkSpec`. */
  readonly validate?: StandardSchemaV1<unknown, Spec> | undefined;
};

/** With a validator the type of `spec` is the validator's. */
export function defineResource<Spec = UnknownFields, Status = UnknownFields>(
  definition: ResourceDefinition<Spec>,
): Resource<ApiObject<Spec, Status>> {
  return defineResourceOf<ApiObject<Spec, Status>>(definition as ResourceDefinition);
}

/** The same for objects of any shape, such as those without a spec. */
export function defineResourceOf<T extends AnyObject>(definition: ResourceDefinition): Resource<T> {
  const { group, version, plural, kind } = definition;
  if (!version || !plural || !kind)
    throw new TypeError(
      `Cannot define a resource: version "${version}", plural "${plural}" and kind "${kind}" must be set`,
    );
  return Object.freeze({ ...definition, apiVersion: group === '' ? version : `${group}/${version}` }) as Resource<T>;
}

/**
 * The same objects without all but their metadata: a fraction of the bytes, for those who need names, labels and owners.
 * It is the server that leaves the rest out. Lists, watches, informers and patches take it as any other token.
 *
 *     await using informer = client.informer(metadataOf(corev1.secrets), { allNamespaces: true });
 */
export function metadataOf(resource: Resource): Resource<PartialObjectMetadata> {
  const { validate: _, ...rest } = resource;
  return Object.freeze({ ...rest, isMetadataOnly: true }) as Resource<PartialObjectMetadata>;
}

/** The same objects, of which nothing is checked before it is sent: what is wrong is the server's to say. */
export function withoutValidator<T extends AnyObject>(resource: Resource<T>): Resource<T> {
  const { validate: _, ...rest } = resource;
  return Object.freeze(rest) as Resource<T>;
}

/** Asks for what the token stands for; undefined is JSON of the whole. */
export function acceptOf({ isMetadataOnly }: Resource, isList: boolean): string | undefined {
  if (!isMetadataOnly) return undefined;
  return `application/json;as=PartialObjectMetadata${isList ? 'List' : ''};g=meta.k8s.io;v=v1`;
}

export class InvalidObjectError extends Error {
  override readonly name = 'InvalidObjectError';
  readonly issues: readonly string[];

  constructor(kind: string, name: string, issues: readonly string[]) {
    super(`Cannot use ${kind} "${name}": ${issues.map((issue) => `spec.${issue}`).join('; ')}`);
    this.issues = issues;
  }
}

/** What the validator of the resource objects to in an object; nothing if there is none. Throws CallbackError if it fails. */
export async function checkSpec(resource: Resource, object: object): Promise<readonly string[]> {
  if (!resource.validate) return [];
  try {
    const result: unknown = await resource.validate['~standard'].validate((object as { spec?: unknown }).spec);
    const { issues } = (result ?? {}) as { issues?: unknown };
    if (typeof result !== 'object' || result === null || !('value' in result || Array.isArray(issues)))
      throw new TypeError('it gave neither a value nor issues');
    return ((issues ?? []) as SchemaIssue[]).map(issueText);
  } catch (error) {
    const { metadata = {} } = object as { metadata?: ObjectMeta };
    throw new CallbackError('validate', keyOf({ metadata }), `the resource ${resource.plural}`, error);
  }
}
