/**
 * The `scale` subresource: a small object of its own, read from the object that has a count and written into it.
 *
 * A write is one of the Scale in all but where it is kept: its names are checked, its fields validated, their owners
 * tracked and conflicts of apply found on the Scale. Only the count goes into the object, with whoever owns it.
 */
import {
  conflict,
  type FieldError,
  invalid,
  type JsonObject,
  type KubeObject,
  type ManagedFieldsEntry,
  plainError,
} from '../../api/index.ts';
import { mustSayCount, toCustomScale, toScaleOf, toScaleToChange } from '../apiextensions/custom-scale.ts';
import { type BodyType, checkDecoded, cloneJson, decodeBody } from '../codec/index.ts';
import { negotiate } from '../encodings/negotiation.ts';
import { applyPatch, entriesOfScale, readApplyBody, trackUpdate, withScaleEntries } from '../managed-fields/index.ts';
import { patchObject, patchTypeOf } from '../patch/index.ts';
import type { RequestContext } from '../request/request-context.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { applyScale, countPath, toScale, validateScale } from '../strategy/scale.ts';
import { numberAt, objectAt } from '../strategy/validation/fields.ts';
import { readBody } from './input/read-body.ts';
import { type WriteOptions, writeOptions } from './input/write-options.ts';
import { sendScale } from './output/answer.ts';
import { nowInSeconds, type Rest } from './rest.ts';
import { checkKind } from './writing/patch.ts';
import { checkNames } from './writing/prepare.ts';
import { mustRead, type Place, type UpdateAdmission, uidMismatch, updateObject } from './writing/write.ts';
import { admissionOf } from './writing/write-admission.ts';

/** What a request makes of the Scale that is there. */
type ScaleWrite = {
  readonly options: WriteOptions;
  readonly change: (before: KubeObject) => KubeObject;
};

export async function handleScale(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
  verb: string,
): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const paths = storage.resource.custom?.scale;
  if (verb === 'get') {
    const object = storage.toObject(await mustRead(storage, place));
    sendScale(context, format, storage, paths ? toCustomScale(object, paths) : toScale(object));
    return;
  }
  const scaleOf = (object: KubeObject) => (paths ? toScaleOf(object, paths) : toScale(object));
  const write = verb === 'patch' ? readPatch(rest, context, storage, place) : readUpdate(context, storage, place);
  const { options, change: changeScale } = await write;
  const admission = admissionOf(rest.admission, context, {
    operation: 'UPDATE',
    resource: storage.resource,
    place,
    options,
    bodyType: scaleType(),
  });
  // The count is admitted as the Scale that stands for it, not as the object.
  const ofScale: UpdateAdmission = {
    admit: async (object) => object,
    validate: (object, old, strategyContext) =>
      admission.validate(scaleOf(object), old && scaleOf(old), strategyContext),
  };
  const count = countPath(paths);
  const change = async (old: KubeObject) => {
    const before = paths ? toScaleToChange(old, paths) : toScale(old);
    own(before, entriesOfScale(old.metadata.managedFields, count));
    const strategyContext = rest.strategyContext(context, place.subresource, options.isDryRun);
    const wanted = await admission.admit(changeScale(before), before, strategyContext);
    // Of a custom object it is the count itself that is refused, with the object.
    if (paths) mustSayCount(wanted, paths);
    else refuse(place.name, validateScale(wanted));
    const { resourceVersion, uid, managedFields } = wanted.metadata ?? {};
    if (uid && uid !== old.metadata.uid) refuseUid(storage, place, options, { verb, asked: uid, found: old });
    const object = cloneJson(old);
    applyScale(object, wanted, paths);
    if (resourceVersion) object.metadata.resourceVersion = resourceVersion;
    const { groupVersion: apiVersion } = storage.resource;
    own(object, withScaleEntries(old.metadata.managedFields, managedFields, { count, apiVersion }));
    return object;
  };
  const current = await mustRead(storage, place);
  const tracked = { ...options, isTracked: true };
  const updated = await updateObject(
    { rest, context, storage, place, options: tracked },
    { current, change, admission: ofScale },
  );
  const object = 'bytes' in updated ? storage.toObject(updated as never) : updated;
  sendScale(context, format, storage, scaleOf(object as KubeObject));
}

async function readUpdate(
  context: RequestContext,
  storage: ResourceStorage,
  { namespace, name }: Place,
): Promise<ScaleWrite> {
  const options = writeOptions(context, 'UpdateOptions');
  const { fieldValidation } = options;
  const bytes = await readBody(context);
  const contentType = context.headers['content-type'];
  const { object, warnings } = decodeBody({ contentType, bytes, resource: scaleType(), fieldValidation });
  for (const text of warnings) context.warn(text);
  const scale = object as unknown as KubeObject;
  checkNames(storage, scale, namespace, name);
  return { options, change: (before) => owned(before, cloneJson(scale), options) };
}

async function readPatch(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  { namespace, name }: Place,
): Promise<ScaleWrite> {
  const type = patchTypeOf(context.headers['content-type'], storage.resource.isCustom);
  const options = writeOptions(context, 'PatchOptions', type === 'apply');
  const { fieldValidation } = options;
  const bytes = await readBody(context);
  const resource = scaleType();
  if (type === 'apply') {
    const body = readApplyBody(bytes, resource, fieldValidation);
    const change = (before: KubeObject) => {
      const scale = applied(before, body, options);
      checkNames(storage, scale, namespace, name);
      return scale;
    };
    return { options, change };
  }
  const warned = new Set<string>();
  const change = (before: KubeObject) => {
    const { object, warnings } = patchObject({ type, bytes, object: asJson(before), resource, fieldValidation });
    const scale = { ...object, metadata: { ...(object.metadata as JsonObject) } } as unknown as KubeObject;
    checkKind(rest, resource, asJson(scale));
    checkNames(storage, scale, namespace, name);
    for (const text of warnings) if (!warned.has(text) && warned.add(text)) context.warn(text);
    return owned(before, scale, options);
  };
  return { options, change };
}

/** As a plain write leaves it: what it changed belongs to the writer. A count of zero is not written down. */
function owned(before: KubeObject, after: KubeObject, { manager }: WriteOptions): KubeObject {
  const spec = objectAt(asJson(after), 'spec');
  if (numberAt(spec, 'replicas') === 0) delete spec?.replicas;
  const { schema, groupVersion: apiVersion } = scaleType();
  const managedFields = trackUpdate({
    before: asJson(before),
    after: asJson(after),
    schema,
    manager,
    apiVersion,
    subresource: 'scale',
    now: nowInSeconds(),
  });
  own(after, managedFields ?? []);
  return after;
}

/** As an apply leaves it, or the conflict that it is. */
function applied(before: KubeObject, body: JsonObject, { manager, force }: WriteOptions): KubeObject {
  const resource = scaleType();
  const { schema, groupVersion: apiVersion } = resource;
  const result = applyPatch({
    body: cloneJson(body),
    live: asJson(before),
    schema,
    manager,
    apiVersion,
    subresource: 'scale',
    force,
    now: nowInSeconds(),
  });
  return checkDecoded(result, resource, 'Ignore', (why) => plainError(why)).object as unknown as KubeObject;
}

function own(object: KubeObject, entries: ManagedFieldsEntry[]): void {
  if (entries.length > 0) object.metadata.managedFields = entries;
  else delete object.metadata.managedFields;
}

/** An update is kept from another object by the store; of a patched Scale only built-in kinds ask. */
function refuseUid(
  storage: ResourceStorage,
  place: Place,
  options: WriteOptions,
  { verb, asked, found }: { verb: string; asked: string; found: KubeObject },
): void {
  const { resource } = storage;
  const uid = found.metadata.uid!;
  if (verb === 'update') throw conflict(resource, place.name, uidMismatch(storage, place, options, asked, uid));
  if (resource.isCustom) return;
  const { group, plural } = resource;
  const why = `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${uid}`;
  throw conflict({ group, plural: `${plural}/scale` }, place.name, why);
}

function refuse(name: string, faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalid({ kind: 'Scale', group: 'autoscaling' }, name, faults);
}

function scaleType(): BodyType {
  const schema = builtInSchemas().byKind('autoscaling', 'v1', 'Scale');
  if (!schema) throw new Error('Cannot find schema of Scale');
  return { kind: 'Scale', groupVersion: 'autoscaling/v1', schema, isCustom: false };
}

function asJson(object: KubeObject): JsonObject {
  return object as unknown as JsonObject;
}
