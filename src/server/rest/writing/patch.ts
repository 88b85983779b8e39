/**
 * PATCH: the patch is applied to what is there, and the result goes the way of an update. Without a resourceVersion in
 * the patch it is applied again and again until it fits, so a race never shows to the client. Apply, which says what
 * a manager wants instead of what to change, also creates.
 */

import {
  conflict,
  invalid,
  invalidValue,
  isStatusError,
  type JsonObject,
  type KubeObject,
  notFound,
  plainError,
} from '../../../api/index.ts';
import { type BodyType, checkDecoded, cloneJson, goJson, otherCustomType, typeFault } from '../../codec/index.ts';
import { negotiate } from '../../encodings/negotiation.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { applySteps, readApplyBody } from '../../managed-fields/index.ts';
import { patchObject, patchTypeOf } from '../../patch/index.ts';
import type { RequestContext } from '../../request/request-context.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import { readBody } from '../input/read-body.ts';
import { writeOptions } from '../input/write-options.ts';
import { nowInSeconds, type Rest } from '../rest.ts';
import { checkNames, entryVersions, ignoredFields, ownableFields } from './prepare.ts';
import { answer, createObject, type Place, updateObject, type WriteRequest } from './write.ts';

export async function handlePatch(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const { resource } = storage;
  const type = patchTypeOf(context.headers['content-type'], resource.isCustom);
  const options = writeOptions(context, 'PatchOptions', type === 'apply');
  const bytes = await readBody(context);
  const write = { rest, context, storage, place, options };
  if (type === 'apply') return handleApply(write, bytes);
  const first = await storage.read(place.namespace, place.name);
  if (!first) throw notFound(resource, place.name);
  const warnings = new Set<string>();
  const change = (old: KubeObject) => {
    const { fieldValidation } = options;
    const patched = patchObject({ type, bytes, object: old as unknown as JsonObject, resource, fieldValidation });
    for (const text of patched.warnings) warnings.add(text);
    // What the patch does not touch is shared with the stored object, and preparing changes what it is given.
    const metadata = { ...(patched.object.metadata as KubeObject['metadata'] | undefined) };
    const object = { ...patched.object, metadata } as unknown as KubeObject;
    checkKind(rest, resource, object as unknown as JsonObject);
    checkNames(storage, object, place.namespace, place.name);
    return object;
  };
  const updated = await updateObject(write, { current: first, change });
  for (const text of warnings) context.warn(text);
  answer(context, 200, format, storage, updated);
}

/** A patch cannot make one kind of another: the result is taken for what it says it is, and then does not fit. */
export function checkKind({ storages }: Rest, resource: BodyType, object: JsonObject): void {
  const kind = wordAt(object, 'kind') || (resource.isCustom ? '' : resource.kind);
  const apiVersion = wordAt(object, 'apiVersion') || (resource.isCustom ? '' : resource.groupVersion);
  if (kind === resource.kind && apiVersion === resource.groupVersion) {
    Object.assign(object, { kind, apiVersion }); // what does not say its type any more is still of it
    return;
  }
  const refuse = (why: string) => invalid({ kind: '', group: '' }, '', [invalidValue('patch', goJson(object), why)]);
  if (resource.isCustom) {
    if (kind === '') throw refuse(`Object 'Kind' is missing in '${goJson(object)}'`);
    throw otherCustomType(object, { kind, apiVersion }, resource);
  }
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const other = storages.registry.findByKind(group, version, kind);
  if (!other) {
    const { isKnown, why } = typeFault({ kind, apiVersion }, resource);
    if (!isKnown) throw refuse(why);
  } else checkDecoded(object, other, 'Ignore', refuse);
  throw refuse(`${kind} in version ${JSON.stringify(apiVersion)} cannot be handled as a ${resource.kind}`);
}

function wordAt(object: JsonObject, field: 'kind' | 'apiVersion'): string {
  const word = object[field];
  return typeof word === 'string' ? word : '';
}

async function handleApply(write: WriteRequest, bytes: Buffer): Promise<void> {
  const { context, storage, place, options } = write;
  const format = negotiate(context.headers, storage.resource);
  const { resource } = storage;
  const slices = new WorkSlices(context);
  const body = readApplyBody(bytes, resource, options.fieldValidation);
  const named = body.metadata as KubeObject['metadata'] | undefined;
  const apply = async (live?: KubeObject): Promise<KubeObject> => {
    if (slices.isOver) await slices.pause();
    const { schema, groupVersion } = resource;
    const ownable = ownableFields(storage, place.subresource);
    const steps = applySteps({
      body: cloneJson(body), // the answer shares it, preparing changes the answer, and there may be another attempt
      schema,
      manager: options.manager,
      apiVersion: groupVersion,
      subresource: place.subresource,
      versions: entryVersions(storage),
      force: options.force,
      now: nowInSeconds(),
      ignored: ignoredFields(storage, place.subresource),
      ...(ownable && { ownable }),
      ...(live && { live: live as unknown as JsonObject }),
    });
    const applied = await slices.run(steps);
    if (slices.isOver) await slices.pause();
    const { object } = checkDecoded(applied, resource, 'Ignore', (why) => plainError(why));
    checkNames(storage, object as unknown as KubeObject, place.namespace, place.name);
    return object as unknown as KubeObject;
  };
  const tracked = { ...write, options: { isTracked: true, ...options } };
  for (;;) {
    const current = await storage.read(place.namespace, place.name);
    if (current) {
      const change = async (old: KubeObject) => {
        const seen = named?.resourceVersion;
        const object = await apply(old);
        // Applied to what is there: for kinds that insist on a version, that one was seen.
        object.metadata.resourceVersion = seen || old.metadata.resourceVersion!;
        return object;
      };
      answer(context, 200, format, storage, await updateObject(tracked, { current, change }));
      return;
    }
    if (place.subresource !== '') throw notFound(resource, place.name);
    if (named?.uid) {
      const why = `uid mismatch: the provided object specified uid ${named.uid}, and no existing object was found`;
      throw conflict(resource, place.name, why);
    }
    const object = await apply();
    delete object.metadata.resourceVersion;
    const created = await createObject(tracked, object).catch((err: unknown) => {
      if (isStatusError(err, 'AlreadyExists')) return undefined; // somebody was faster: then it is an update
      throw err;
    });
    if (!created) continue;
    answer(context, 201, format, storage, created);
    return;
  }
}
