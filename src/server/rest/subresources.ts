/**
 * Parts of objects with a path of their own. `status` goes the way of the object itself, with the other parts kept;
 * `scale` is a small object of its own that stands for a count; the rest are orders in the form of a create, and what is
 * asked of what runs in the cluster (`connecting/`).
 */

import {
  badRequest,
  type FieldError,
  fieldErrorText,
  type JsonObject,
  type KubeObject,
  methodNotAllowed,
  notFound,
  plainError,
  resourceNotFound,
  successStatus,
  wallNow,
} from '../../api/index.ts';
import { type BodyType, decodeBody } from '../codec/index.ts';
import { negotiate } from '../encodings/negotiation.ts';
import { validateBinding } from '../kinds/pods/binding.ts';
import type { Resource, Subresource } from '../registry/resource.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { builtInSchemas } from '../schema/schemas.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { answerTokenRequest, checkTokenName, completeTokenRequest } from '../tokens/token-request.ts';
import { handleLog } from './connecting/pod-log.ts';
import { handlePodStream } from './connecting/pod-stream.ts';
import { handleProxied } from './connecting/proxied.ts';
import { readBody } from './input/read-body.ts';
import { type WriteOptions, writeOptions } from './input/write-options.ts';
import { sendJson } from './output/answer.ts';
import { handleGet } from './reading/read.ts';
import type { Rest } from './rest.ts';
import { handleScale } from './scale.ts';
import { bindPod } from './writing/bind.ts';
import { deletionIn, evictPod } from './writing/evict.ts';
import { handlePatch } from './writing/patch.ts';
import { mergeOwners, placeIn } from './writing/prepare.ts';
import { handleUpdate, mustRead, type Place } from './writing/write.ts';
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
  proxy: handleProxied,
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
  if (!part.verbs.includes(verb)) throw resource.isCustom ? methodNotAllowed(verb, resource) : methodNotAllowed();
  const storage = rest.storages.storageFor(resource);
  const place = { namespace, name, subresource };
  const order = orders[subresource];
  if (order) return order(rest, context, storage, place, part);
  if (subresource === 'scale') return handleScale(rest, context, storage, place, verb);
  if (!isServedPart(subresource)) throw resourceNotFound();
  if (verb === 'get') return handleGet(context, storage, namespace, name);
  if (verb === 'update') return handleUpdate(rest, context, storage, place);
  return handlePatch(rest, context, storage, place);
}

/** `bindings` are orders, not objects: the pod is the one that the binding names. */
export function isBindings({ group, plural }: Resource): boolean {
  return group === '' && plural === 'bindings';
}

export function handleBindings(
  rest: Rest,
  context: RequestContext,
  bindings: Resource,
  namespace: string,
): Promise<void> {
  const asked = { namespace, name: '', subresource: 'binding' };
  return bindAs(rest, context, rest.storages.storageOf('', 'pods'), asked, { resource: bindings, subresource: '' });
}

function bind(rest: Rest, context: RequestContext, storage: ResourceStorage, asked: Place): Promise<void> {
  return bindAs(rest, context, storage, asked, { resource: storage.resource, subresource: asked.subresource });
}

/** `admitted`: what admission is told it is about. */
async function bindAs(
  rest: Rest,
  context: RequestContext,
  storage: ResourceStorage,
  asked: Place,
  admitted: { readonly resource: Resource; readonly subresource: string },
): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = writeOptions(context, 'CreateOptions');
  const body = await readBody(context);
  const given = asObject(decodePart(context, body, '', 'v1', 'Binding', options.fieldValidation));
  takeOrder(context, given, asked);
  const place = { ...asked, name: asked.name || (given.metadata.name ?? '') };
  const order = admittedOrder(
    rest,
    context,
    admitted.resource,
    { ...place, subresource: admitted.subresource },
    options,
    bodyTypeOf('', 'v1', 'Binding'),
  );
  const binding = await order.admit(given);
  if (binding.metadata.name !== place.name) throw badRequest('name in URL does not match name in Binding object');
  refuseBinding(validateBinding(binding));
  await order.validate(binding);
  await bindPod({ rest, context, storage, place, options }, binding);
  sendJson(context, 201, format, successStatus(undefined, 201) as unknown as JsonObject);
}

/** What is wrong with one is no fault of a stored object, and kube-apiserver has no reason for it. */
function refuseBinding(faults: readonly FieldError[]): void {
  const texts = faults.map(fieldErrorText);
  if (texts.length > 0) throw plainError(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
}

async function evict(rest: Rest, context: RequestContext, storage: ResourceStorage, place: Place): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = writeOptions(context, 'CreateOptions');
  const type = { ...bodyTypeOf('policy', 'v1', 'Eviction'), alsoVersions: ['policy/v1beta1'] };
  const given = asObject(decodeAs(context, await readBody(context), type, options.fieldValidation));
  takeOrder(context, given, place);
  const order = admittedOrder(rest, context, storage.resource, place, options, type);
  const eviction = await order.admit(given);
  if (eviction.metadata.name !== place.name) throw badRequest('name in URL does not match name in Eviction object');
  const deletion = deletionIn(eviction as unknown as JsonObject, options.isDryRun);
  await order.validate(eviction);
  await evictPod({ rest, context, storage, place, options }, deletion);
  sendJson(context, 201, format, successStatus(undefined, 201) as unknown as JsonObject);
}

async function makeToken(rest: Rest, context: RequestContext, storage: ResourceStorage, place: Place): Promise<void> {
  const format = negotiate(context.headers, storage.resource);
  const options = writeOptions(context, 'CreateOptions');
  const body = await readBody(context);
  const type = bodyTypeOf('authentication.k8s.io', 'v1', 'TokenRequest');
  const given = asObject(decodeAs(context, body, type, options.fieldValidation));
  takeOrder(context, given, place);
  const order = admittedOrder(rest, context, storage.resource, place, options, type);
  const request = await order.admit(given);
  checkTokenName(request, place.name);
  const account = storage.toObject(await mustRead(storage, place));
  const tools = {
    tokens: rest.tokens,
    nowMs: wallNow(),
    storageOf: (group: string, plural: string) => rest.storages.storageOf(group, plural),
    read: async (other: ResourceStorage, namespace: string, name: string) =>
      (await other.read(namespace, name))?.parse(),
  };
  const completed = completeTokenRequest(request, account, tools);
  await order.validate(completed);
  const answer = await answerTokenRequest(completed, account, tools);
  sendJson(context, 201, format, answer);
}

/** Of any order: it lies in the namespace of its path, and names an owner once. */
function takeOrder(context: RequestContext, order: KubeObject, { namespace }: Place): void {
  order.metadata ??= {};
  placeIn(namespace, order.metadata, { isNamespaced: true });
  mergeOwners(order, { warn: (text) => context.warn(text) });
}

/** Admission of an order: it is a create of something that is not stored. */
function admittedOrder(
  rest: Rest,
  context: RequestContext,
  resource: Resource,
  place: Place,
  options: WriteOptions,
  bodyType: BodyType,
): { admit(object: KubeObject): KubeObject | Promise<KubeObject>; validate(object: KubeObject): void | Promise<void> } {
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

function decodePart(
  context: RequestContext,
  bytes: Buffer,
  group: string,
  version: string,
  kind: string,
  fieldValidation: WriteOptions['fieldValidation'] = writeOptions(context, 'CreateOptions').fieldValidation,
): JsonObject {
  return decodeAs(context, bytes, bodyTypeOf(group, version, kind), fieldValidation);
}

function decodeAs(
  context: RequestContext,
  bytes: Buffer,
  resource: BodyType,
  fieldValidation: WriteOptions['fieldValidation'],
): JsonObject {
  const contentType = context.headers['content-type'];
  const { object, warnings } = decodeBody({ contentType, bytes, resource, fieldValidation });
  for (const text of warnings) context.warn(text);
  return object;
}

function bodyTypeOf(group: string, version: string, kind: string): BodyType {
  const schema = builtInSchemas().byKind(group, version, kind);
  if (!schema) throw new Error(`Cannot find schema of ${kind}`);
  return { kind, groupVersion: group === '' ? version : `${group}/${version}`, schema, isCustom: false };
}
