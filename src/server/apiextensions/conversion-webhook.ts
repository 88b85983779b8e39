/**
 * Objects of a custom kind from one version to another, by the webhook that its definition names.
 *
 * Always true: what comes back are the objects that were sent, in their order, in the version that was asked for; of
 * their metadata only labels and annotations can have changed. Objects that are in that version already are not sent.
 * Many objects go in few calls, each bounded in bytes and in time. What goes wrong is a plain 500 in the words of
 * kube-apiserver; an abort is passed on.
 */
import { randomUUID } from 'node:crypto';
import {
  fieldErrorText,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  plainError,
  type StatusError,
} from '../../api/index.ts';
import { jsonText } from '../../api/json-text.ts';
import { isObject, jsonEqual } from '../codec/json/json-objects.ts';
import { type CallTarget, type ClientConfig, callTarget } from '../outbound/call-target.ts';
import type { OutboundConnections } from '../outbound/outbound-connections.ts';
import { CallError, postJson } from '../outbound/post-json.ts';
import { goType } from '../patch/go-format.ts';
import { validateAnnotations, validateLabels } from '../strategy/validation/metadata-validation.ts';

export type WebhookConversion = {
  readonly clientConfig: ClientConfig;
  readonly conversionReviewVersions: readonly string[];
};

/** Told of each call. */
export type ConversionObserver = (fromVersion: string, toVersion: string, seconds: number, error: unknown) => void;

const GROUP = 'apiextensions.k8s.io';
const KNOWN_VERSIONS: readonly string[] = ['v1', 'v1beta1'];
const TIMEOUT_SECONDS = 30;
/** One answer is parsed in one turn of the event loop: few objects at a time keep it short. */
const LIMIT_REQUEST_BYTES = 2 * 1024 * 1024;
const LIMIT_ANSWER_BYTES = 16 * 1024 * 1024;

export class ConversionWebhook {
  readonly #connections: OutboundConnections;
  readonly #conversion: WebhookConversion;
  readonly #observe: ConversionObserver;
  #target: CallTarget | undefined;

  constructor(connections: OutboundConnections, conversion: WebhookConversion, observe: ConversionObserver = () => {}) {
    this.#connections = connections;
    this.#conversion = conversion;
    this.#observe = observe;
  }

  async convert(objects: readonly KubeObject[], to: string, signal: AbortSignal): Promise<KubeObject[]> {
    const result = [...objects];
    const due = objects.flatMap((object, index) => (object.apiVersion === to ? [] : [index]));
    for (const batch of batchesOf(due, objects)) {
      const sent = batch.map((index) => withoutVersion(objects[index]!));
      const converted = await this.#call(sent, to, signal);
      for (const [place, index] of batch.entries()) {
        const { resourceVersion } = objects[index]!.metadata;
        const one = checked(sent[place]!, converted[place], to);
        result[index] = resourceVersion === undefined ? one : withVersion(one, resourceVersion);
      }
    }
    return result;
  }

  async #call(sent: readonly KubeObject[], to: string, signal: AbortSignal): Promise<JsonValue[]> {
    const [first] = sent;
    const began = performance.now();
    const told = (error: unknown) =>
      this.#observe(versionOf(first!.apiVersion), versionOf(to), (performance.now() - began) / 1000, error);
    try {
      const answer = await this.#ask(sent, to, signal);
      if (answer.length !== sent.length)
        throw failed(first!, `returned ${answer.length} objects, expected ${sent.length}`);
      told(undefined);
      return answer;
    } catch (err) {
      signal.throwIfAborted();
      told(err);
      throw err instanceof CallError ? failed(first!, `failed: ${err.message}`) : err;
    }
  }

  async #ask(objects: readonly KubeObject[], to: string, signal: AbortSignal): Promise<JsonValue[]> {
    const { conversionReviewVersions, clientConfig } = this.#conversion;
    const version = conversionReviewVersions.find((one) => KNOWN_VERSIONS.includes(one));
    if (!version) throw new CallError('webhook does not accept known ConversionReview versions (v1, v1beta1)');
    try {
      this.#target ??= callTarget(clientConfig);
    } catch (err) {
      throw new CallError((err as Error).message, { cause: err });
    }
    const uid = randomUUID();
    const review = {
      kind: 'ConversionReview',
      apiVersion: `${GROUP}/${version}`,
      request: { uid, desiredAPIVersion: to, objects },
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    };
    const answer = await postJson(this.#connections, {
      target: this.#target,
      body: Buffer.from(jsonText(review)),
      timeoutSeconds: TIMEOUT_SECONDS,
      limitBytes: LIMIT_ANSWER_BYTES,
      mayRepeat: true, // whoever converts does nothing else
      signal,
    });
    return readAnswer(answer, version, uid);
  }
}

function readAnswer(answer: JsonObject, version: string, uid: string): JsonValue[] {
  const wanted = `${GROUP}/${version}`;
  if (version === 'v1' && (answer.apiVersion !== wanted || answer.kind !== 'ConversionReview')) {
    const [group, other] = groupVersion(String(answer.apiVersion ?? ''));
    const found = `${group}/${other}, Kind=${String(answer.kind ?? '')}`;
    throw new CallError(`expected webhook response of ${wanted}, Kind=ConversionReview, got ${found}`);
  }
  const { response } = answer;
  if (!isObject(response)) throw new CallError('no response provided');
  if (version === 'v1' && response.uid !== uid)
    throw new CallError(`expected response.uid=${jsonText(uid)}, got ${jsonText(String(response.uid ?? ''))}`);
  const { status = '', message } = isObject(response.result) ? response.result : {};
  if (status !== 'Success') {
    const told = typeof message === 'string' && message !== '';
    throw new CallError(told ? message : `response.result.status was '${String(status)}', not 'Success'`);
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
}

/** As few calls as there is room for; an object that is longer than that goes alone. */
function* batchesOf(due: readonly number[], objects: readonly KubeObject[]): Generator<number[]> {
  let batch: number[] = [];
  let bytes = 0;
  for (const index of due) {
    const size = due.length === 1 ? 0 : jsonText(objects[index]).length;
    if (batch.length > 0 && bytes + size > LIMIT_REQUEST_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(index);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** In the words for an object that was sent alone, as kube-apiserver sends each object of a list. */
function checked(sent: KubeObject, got: JsonValue | undefined, to: string): KubeObject {
  const object = isObject(got) ? got : {};
  const type = typeFault(sent, object, to);
  if (type !== undefined) throw failed(sent, `returned invalid object at index 0: ${type}`);
  const given = isObject(object.metadata) ? object.metadata : {};
  const identity = identityFault(sent, given);
  if (identity !== undefined) throw failed(sent, `returned invalid object: ${identity}`);
  const metadata = metadataFault(sent, object.metadata);
  if (metadata !== undefined) throw failed(sent, `returned invalid metadata: ${metadata}`);
  return { ...object, metadata: restoredMetadata(sent, given) } as unknown as KubeObject;
}

function typeFault(sent: KubeObject, { apiVersion = '', kind = '' }: JsonObject, to: string): string | undefined {
  if (apiVersion !== to) return `invalid groupVersion (expected ${to}, received ${String(apiVersion)})`;
  return kind === sent.kind ? undefined : `invalid kind (expected ${sent.kind}, received ${String(kind)})`;
}

function identityFault({ metadata }: KubeObject, given: JsonObject): string | undefined {
  for (const [field, word] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const [before, after] = [metadata[field] ?? '', given[field] ?? ''];
    if (before !== after) return `must have the same ${word}: ${before} != ${String(after)}`;
  }
  return undefined;
}

/** Only labels and annotations are taken over; those that stay as they were are not judged. */
function metadataFault({ metadata: before }: KubeObject, given: JsonValue | undefined): string | undefined {
  if (given === undefined) return 'missing metadata in converted object';
  if (!isObject(given)) return `invalid metadata of type ${goType(given)} in converted object`;
  for (const field of ['labels', 'annotations'] as const) {
    const texts = given[field];
    if (texts === undefined || texts === null) continue;
    if (!isObject(texts)) return `invalid metadata.${field} of type ${goType(texts)} in converted object`;
    const fault = textsFault(field, texts, before[field]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function textsFault(
  field: 'labels' | 'annotations',
  given: JsonObject,
  before: Readonly<Record<string, string>> | undefined,
): string | undefined {
  for (const [key, value] of Object.entries(given))
    if (typeof value !== 'string')
      return `metadata.${field}[${key}] must be a string, but is ${goType(value)} in converted object`;
  if (jsonEqual(given, before ?? {})) return undefined;
  const texts = given as Record<string, string>;
  const faults =
    field === 'labels' ? validateLabels(texts, 'metadata.labels') : validateAnnotations(texts, 'metadata.annotation');
  if (faults.length < 2) return faults[0] && fieldErrorText(faults[0]);
  return `[${faults.map(fieldErrorText).join(', ')}]`;
}

function restoredMetadata({ metadata }: KubeObject, given: JsonObject): KubeObject['metadata'] {
  const { labels: _labels, annotations: _annotations, ...kept } = metadata;
  return {
    ...kept,
    ...(isObject(given.labels) && { labels: given.labels as Record<string, string> }),
    ...(isObject(given.annotations) && { annotations: given.annotations as Record<string, string> }),
  };
}

function failed({ apiVersion = '', kind = '' }: KubeObject, what: string): StatusError {
  return plainError(`conversion webhook for ${apiVersion}, Kind=${kind} ${what}`);
}

function withoutVersion(object: KubeObject): KubeObject {
  if (object.metadata.resourceVersion === undefined) return object;
  const { resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function withVersion(object: KubeObject, resourceVersion: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

function versionOf(apiVersion: string | undefined): string {
  return groupVersion(apiVersion ?? '')[1];
}

function groupVersion(apiVersion: string): readonly [group: string, version: string] {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}
