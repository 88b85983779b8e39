/**
 * Parts of objects with a path of their own. `status` goes the way of the object itself, with the other parts kept;
 * `scale` is a small object of its own that stands for a count; the rest are orders in the form of a create, and what is
 * asked of the containers of a Pod (`connecting/`).
 */

import {
  badRequest,
  type FieldError,
  invalid,
  type JsonObject,
  type KubeObject,
  methodNotAllowed,
  notFound,
  resourceNotFound,
  successStatus,
  wallNow,
} from '../../api/index.ts';
import { toCustomScale } from '../apiextensions/custom-scale.ts';
import { type BodyType, cloneJson, decodeBody } from '../codec/index.ts';
import { negotiate } from '../encodings/negotiation.ts';
import { applyBinding, validateBinding } from '../kinds/pods/binding.ts';
import { allowEviction, markEvicted } from '../kinds/policy/eviction.ts';
import { readApplyBody } from '../managed-fields/index.ts';
import { mergePatch, patchObject, patchTypeOf } from '../patch/index.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { applyScale, toScale, validateScale } from '../strategy/scale.ts';
import { answerTokenRequest } from '../tokens/token-request.ts';
import { handleLog } from './connecting/pod-log.ts';
import { handlePodStream } from './connecting/pod-stream.ts';
import type { DeleteOptions } from './input/delete-options.ts';
import { readBody } from './input/read-body.ts';
import { type WriteOptions, writeOptions } from './input/write-options.ts';
import { sendJson, sendScale } from './output/answer.ts';
import { handleGet } from './reading/read.ts';
import { nowInSeconds, type Rest } from './rest.ts';
import { deleteObject } from './writing/delete.ts';
import { handlePatch } from './writing/patch.ts';
import { mergeOwners } from './writing/prepare.ts';
import {
  admittedBefore,
  handleUpdate,
  mustRead,
  type Place,
  type UpdateAdmission,
  updateObject,
} from './writing/write.ts';
import { admissionOf } from './writing/write-admission.ts';

type Order = (
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
  part: Subresource,
) => Promise<void>;

/** Subresources that are read and written like the object. */
const PARTS = ['status', 'approval', 'ephemeralcontainers', 'resize'];

const orders: Readonly<Record<string, Order>> = {
  binding: bind,
  eviction: evict,
  finalize,
  token: makeToken,
  log: handleLog,
  exec: handlePodStream,
  attach: handlePodStream,
  portforward: handlePodStream,
};

/** Whether somebody answers for it; discovery names all that kube-apiserver has. */
export function isServedPart(subresource: string): boolean {
  return subresource === 'scale' || PARTS.includes(subresource) || Object.hasOwn(orders, subresource);
}

export async function handleSubresource(
  rest: Rest,
  context: RequestContext,
  resource: Resource,
  { subresource, verb, namespace, name }: Extract<RequestInfo, { kind: 'resource' }>,
): Promise<void> {
  const part = resource.subresources.find((one) => one.name === subresource);
  if (!part) throw resource.isCustom ? notFound(resource, name) : resourceNotFound();
  if (!part.verbs.includes(verb)) throw methodNotAllowed();
  const storage = rest.storages.storageFor(resource);
  const place = { namespace, name, subresource };
  const order = orders[subresource];
  if (order) return order(rest, context, storage, place, part);
  if (subresource === 'scale') return scale(rest, context, storage, place, verb, part);
  if (!isServedPart(subresource)) throw resourceNotFound();
  if (verb === 'get') return handleGet(context, storage, namespace, name);
  if (verb === 'update') return handleUpdate(rest, context, storage, place);
  return handlePatch(rest, context, storage, place);
}

async function scale(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  place: Place,
  verb: string,
  part: Subresource,
): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const first = await mustRead(storage, place);
  const paths = storage.resource.custom?.scale;
  const scaleOf = (object: KubeObject) =>
    (paths ? toCustomScale(object, paths) : toScale(object)) as unknown as JsonObject;
  if (verb === 'get') {
    sendScale(context, format, storage, asObject(scaleOf(storage.toObject(first))));
    return;
  }
  const isApply = verb === 'patch' && patchTypeOf(context.headers['content-type'], false) === 'apply';
  const options = writeOptions(context, verb === 'patch' ? 'PatchOptions' : 'UpdateOptions', isApply);
  const body = await readBody(context);
  const admission = admissionOf(rest.admission, context, {
    operation: 'UPDATE',
    resource: storage.resource,
    place,
    options,
    bodyType: bodyTypeOf(part.group ?? '', part.version ?? 'v1', part.kind),
  });
  // The count is admitted as the Scale that stands for it, not as the object.
  const ofScale: UpdateAdmission = {
    admit: async (object) => object,
    validate: (object, old, strategyContext) =>
      admission.validate(asObject(scaleOf(object)), old && asObject(scaleOf(old)), strategyContext),
  };
  const change = async (old: KubeObject) => {
    const before = scaleOf(old);
    const given = verb === 'patch' ? patchScale(context, before, body, part) : decodeScale(context, body, part);
    const strategyContext = rest.strategyContext(context, place.subresource, options.isDryRun);
    const wanted = await admission.admit(asObject(given), asObject(before), strategyContext);
    // Of a custom object it is the count itself that is refused, with the object.
    if (!paths) refuse({ kind: 'Scale', group: 'autoscaling' }, place.name, validateScale(wanted));
    const { resourceVersion } = wanted.metadata ?? {};
    const object = cloneJson(old);
    applyScale(object, wanted, paths);
    if (resourceVersion) object.metadata.resourceVersion = resourceVersion;
    return object;
  };
  const updated = await updateObject(
    { rest, context, storage, place, options },
    { current: first, change, admission: ofScale },
  );
  const object = 'bytes' in updated ? storage.toObject(updated as never) : updated;
  sendScale(context, format, storage, asObject(scaleOf(object as KubeObject)));
}

/** Apply sets what it names, as a merge does: the count has one owner at a time. */
function patchScale(context: RequestContext, before: JsonObject, bytes: Buffer, part: Subresource): JsonObject {
  const type = patchTypeOf(context.headers['content-type'], false);
  const resource = bodyTypeOf(part.group ?? '', part.version ?? 'v1', part.kind);
  if (type === 'apply') return mergePatch(before, readApplyBody(bytes, resource, 'Ignore')) as JsonObject;
  return patchObject({ type, bytes, object: before, resource }).object;
}

function decodeScale(context: RequestContext, bytes: Buffer, part: Subresource): JsonObject {
  return decodePart(context, bytes, part.group ?? '', part.version ?? 'v1', part.kind);
}

/** `bindings` are orders, not objects: the pod is the one that the binding names. */
export function isBindings({ group, plural }: Resource): boolean {
  return group === '' && plural === 'bindings';
}

export function handleBindings(rest: Rest, context: RequestContext, namespace: string): Promise<void> {
  return bind(rest, context, rest.storages.storageOf('', 'pods'), { namespace, name: '', subresource: 'binding' });
}

async function bind(rest: Rest, context: RequestContext, storage: ResourceStorage, asked: Place): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = writeOptions(context, 'CreateOptions');
  const body = await readBody(context);
  const given = asObject(decodePart(context, body, '', 'v1', 'Binding', options.fieldValidation));
  given.metadata ??= {};
  mergeOwners(given, { warn: (text) => context.warn(text) });
  const place = { ...asked, name: asked.name || (given.metadata.name ?? '') };
  const order = admittedOrder(rest, context, storage, place, options, bodyTypeOf('', 'v1', 'Binding'));
  const binding = await order.admit(given);
  refuse({ kind: 'Binding', group: '' }, place.name, validateBinding(binding));
  await order.validate(binding);
  const first = await mustRead(storage, place);
  const change = (old: KubeObject) => {
    const pod = cloneJson(old);
    applyBinding(pod, binding, nowInSeconds());
    delete pod.metadata.resourceVersion;
    return pod;
  };
  await updateObject({ rest, context, storage, place, options }, { current: first, change, admission: admittedBefore });
  sendJson(context, 201, format, successStatus(undefined, 201) as unknown as JsonObject);
}

async function evict(rest: Rest, context: RequestContext, storage: ResourceStorage, place: Place): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = writeOptions(context, 'CreateOptions');
  const { isDryRun } = options;
  const given = asObject(decodePart(context, await readBody(context), 'policy', 'v1', 'Eviction'));
  given.metadata ??= {};
  mergeOwners(given, { warn: (text) => context.warn(text) });
  const order = admittedOrder(rest, context, storage, place, options, bodyTypeOf('policy', 'v1', 'Eviction'));
  const eviction = await order.admit(given);
  const { name } = eviction.metadata;
  if (name && name !== place.name) throw badRequest('name in URL does not match name in Eviction object');
  const first = await mustRead(storage, place);
  await order.validate(eviction);
  const { budget } = await allowEviction(storage.toObject(first), rest.strategyContext(context, place.subresource));
  if (budget && !isDryRun) await spend(rest, context, budget);
  if (!isDryRun) await tellEvicted(rest, context, storage, place, first);
  const asked = (eviction as { deleteOptions?: Pick<DeleteOptions, 'gracePeriodSeconds' | 'preconditions'> })
    .deleteOptions;
  await deleteObject(storage, place, {
    isDryRun,
    gracePeriodSeconds: asked?.gracePeriodSeconds,
    propagationPolicy: undefined,
    orphanDependents: undefined,
    preconditions: asked?.preconditions,
  });
  sendJson(context, 201, format, successStatus(undefined, 201) as unknown as JsonObject);
}

async function tellEvicted(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  asked: Place,
  first: Awaited<ReturnType<typeof mustRead>>,
): Promise<void> {
  const place = { ...asked, subresource: 'status' };
  const change = (old: KubeObject) => {
    const pod = cloneJson(old);
    markEvicted(pod, nowInSeconds());
    delete pod.metadata.resourceVersion;
    return pod;
  };
  const options = writeOptions(context, 'CreateOptions');
  await updateObject({ rest, context, storage, place, options }, { current: first, change, admission: admittedBefore });
}

/** Writes down that one disruption fewer is allowed; whoever else evicts meanwhile makes this fail, and the client try again. */
async function spend(rest: Rest, context: RequestContext, budget: KubeObject): Promise<void> {
  const storage = rest.storages.storageOf('policy', 'poddisruptionbudgets');
  const { namespace = '', name = '' } = budget.metadata;
  const place = { namespace, name, subresource: 'status' };
  const options = writeOptions(context, 'CreateOptions');
  const current = await mustRead(storage, place);
  await updateObject({ rest, context, storage, place, options }, { current, change: () => cloneJson(budget) });
}

async function makeToken(rest: Rest, context: RequestContext, storage: ResourceStorage, place: Place): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = writeOptions(context, 'CreateOptions');
  const body = await readBody(context);
  const given = asObject(decodePart(context, body, 'authentication.k8s.io', 'v1', 'TokenRequest'));
  given.metadata ??= {};
  const type = bodyTypeOf('authentication.k8s.io', 'v1', 'TokenRequest');
  const order = admittedOrder(rest, context, storage, place, options, type);
  const request = await order.admit(given);
  const account = storage.toObject(await mustRead(storage, place));
  request.metadata.name ||= place.name;
  request.metadata.namespace ||= place.namespace;
  await order.validate(request);
  const answer = await answerTokenRequest(request as unknown as JsonObject, account, {
    tokens: rest.tokens,
    nowMs: wallNow(),
    storageOf: (group, plural) => rest.storages.storageOf(group, plural),
    read: async (other, namespace, name) => (await other.read(namespace, name))?.parse(),
  });
  sendJson(context, 201, format, answer);
}

/** Admission of an order: it is a create of something that is not stored. */
function admittedOrder(
  rest: Rest,
  context: RequestContext,
  { resource }: ResourceStorage,
  place: Place,
  options: WriteOptions,
  bodyType: BodyType,
): { admit(object: KubeObject): Promise<KubeObject>; validate(object: KubeObject): Promise<void> } {
  const admission = admissionOf(rest.admission, context, { operation: 'CREATE', resource, place, options, bodyType });
  const strategyContext = rest.strategyContext(context, place.subresource, options.isDryRun);
  return {
    admit: (object) => admission.admit(object, undefined, strategyContext),
    validate: (object) => admission.validate(object, undefined, strategyContext),
  };
}

const asObject = (value: JsonObject): KubeObject => value as unknown as KubeObject;

/** A Namespace whose spec is held by nobody any more, and that is being deleted, goes with this write. */
function finalize(rest: Rest, context: RequestContext, storage: ResourceStorage, place: Place): Promise<void> {
  return handleUpdate(rest, context, storage, place);
}

function refuse(what: { kind: string; group: string }, name: string, faults: readonly FieldError[]): void {
  if (faults.length > 0) throw invalid(what, name, faults);
}

function decodePart(
  context: RequestContext,
  bytes: Buffer,
  group: string,
  version: string,
  kind: string,
  fieldValidation: WriteOptions['fieldValidation'] = writeOptions(context, 'CreateOptions').fieldValidation,
): JsonObject {
  const { object, warnings } = decodeBody({
    contentType: context.headers['content-type'],
    bytes,
    resource: bodyTypeOf(group, version, kind),
    fieldValidation,
  });
  for (const text of warnings) context.warn(text);
  return object;
}

function bodyTypeOf(group: string, version: string, kind: string): BodyType {
  const schema = builtInSchemas().byKind(group, version, kind);
  if (!schema) throw new Error(`Cannot find schema of ${kind}`);
  return { kind, groupVersion: group === '' ? version : `${group}/${version}`, schema, isCustom: false };
}
