/**
 * The AdmissionReview that a webhook is sent, and the one it answers: checked as kube-apiserver checks it, in its
 * words. Pure.
 */
import type { JsonObject, JsonValue } from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { isObject } from '../../codec/json/json-objects.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { requestFacts } from '../expressions/request-values.ts';
import type { Invocation, Versioned } from './versioned-request.ts';
import type { ReviewVersion } from './webhook.ts';

export type ReviewAnswer = {
  readonly isAllowed: boolean;
  readonly status: JsonObject | undefined;
  /** The bytes of a patch; empty where there is none. */
  readonly patch: Buffer;
  readonly patchType: string;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
};

const GROUP = 'admission.k8s.io';
const NO_BYTES = Buffer.alloc(0);

/** Everything but the objects costs little; those are text already. */
export function reviewRequest(
  uid: string,
  version: ReviewVersion,
  attributes: AdmissionAttributes,
  invocation: Invocation,
  { objectText, oldObjectText }: Versioned,
): Buffer {
  const facts = jsonText(requestFacts(attributes, invocation)).slice(1, -1);
  return Buffer.from(
    `{"kind":"AdmissionReview","apiVersion":"${GROUP}/${version}","request":{"uid":"${uid}",${facts}` +
      `,"object":${objectText},"oldObject":${oldObjectText},"dryRun":${attributes.isDryRun}` +
      `,"options":${jsonText(attributes.options)}}}`,
  );
}

/** What is not a review of this version at all. */
export class NotAReviewError extends Error {}
/** A review that does not answer what was asked. */
export class BadReviewError extends Error {}

export function readReview(answer: JsonObject, uid: string, version: ReviewVersion, isMutating: boolean): ReviewAnswer {
  checkType(answer, version);
  const { response } = answer;
  if (response === undefined || response === null) throw new BadReviewError('webhook response was absent');
  const found = typedResponse(response);
  const { patch, patchType } = found;
  if (version === 'v1beta1')
    return { ...found, patchType: patch.length > 0 ? 'JSONPatch' : '', patch: isMutating ? patch : NO_BYTES };
  if (found.uid !== uid) throw new BadReviewError(`expected response.uid=${jsonText(uid)}, got ${jsonText(found.uid)}`);
  if (answer.kind !== 'AdmissionReview' || answer.apiVersion !== `${GROUP}/v1`)
    throw new BadReviewError(`expected webhook response of ${GROUP}/v1, Kind=AdmissionReview, got ${kindText(answer)}`);
  if (!isMutating) {
    if (patch.length > 0) throw new BadReviewError('validating webhook may not return response.patch');
    if (patchType !== undefined) throw new BadReviewError('validating webhook may not return response.patchType');
    return { ...found, patchType: '' };
  }
  if (patch.length > 0 && patchType === undefined)
    throw new BadReviewError('webhook returned response.patch but not response.patchType');
  if (patch.length === 0 && patchType !== undefined)
    throw new BadReviewError('webhook returned response.patchType but not response.patch');
  if (patchType === '') throw new BadReviewError('webhook returned invalid response.patchType of ""');
  return { ...found, patchType: patchType ?? '' };
}

/** An answer that says nothing of its type is taken for one of ours. */
function checkType(answer: JsonObject, version: ReviewVersion): void {
  const kind = textOf(answer.kind, 'kind');
  const apiVersion = textOf(answer.apiVersion, 'apiVersion');
  if (kind === '' && apiVersion === '') return;
  const wanted = `${GROUP}/${version}`;
  if ((kind === 'AdmissionReview' || kind === '') && (apiVersion === wanted || apiVersion === '')) return;
  const other = apiVersion.slice(GROUP.length + 1);
  if (kind === 'AdmissionReview' && apiVersion.startsWith(`${GROUP}/`) && (other === 'v1' || other === 'v1beta1'))
    throw new NotAReviewError(
      `converting (${other}.AdmissionReview) to (${version}.AdmissionReview): unknown conversion`,
    );
  throw new NotAReviewError(`no kind ${jsonText(kind)} is registered for version ${jsonText(apiVersion)}`);
}

function kindText({ kind, apiVersion }: JsonObject): string {
  const [group, version] = String(apiVersion ?? '').includes('/')
    ? String(apiVersion).split('/')
    : ['', apiVersion ?? ''];
  return `${group}/${version}, Kind=${kind ?? ''}`;
}

type Response = Omit<ReviewAnswer, 'patchType'> & { readonly uid: string; readonly patchType: string | undefined };

function typedResponse(response: JsonValue): Response {
  if (!isObject(response)) throw mistyped(response, 'AdmissionReview.response', 'v1.AdmissionResponse');
  const { allowed = false, status, patch, patchType, warnings, auditAnnotations } = response;
  if (typeof allowed !== 'boolean') throw mistyped(allowed, 'AdmissionResponse.response.allowed', 'bool');
  if (status !== undefined && status !== null && !isObject(status))
    throw mistyped(status, 'AdmissionResponse.response.status', 'v1.Status');
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(objectOf(auditAnnotations, 'auditAnnotations', 'map[string]string')))
    annotations[key] = textOf(value, 'response.auditAnnotations');
  return {
    uid: textOf(response.uid, 'response.uid'),
    isAllowed: allowed,
    status: status ?? undefined,
    patch: bytesOf(patch),
    patchType: patchType === undefined || patchType === null ? undefined : textOf(patchType, 'response.patchType'),
    warnings: listOf(warnings).map((one) => textOf(one, 'response.warnings')),
    auditAnnotations: annotations,
  };
}

function objectOf(value: JsonValue | undefined, field: string, type: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw mistyped(value, `AdmissionResponse.response.${field}`, type);
  return value;
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw mistyped(value, 'AdmissionResponse.response.warnings', '[]string');
  return value;
}

function textOf(value: JsonValue | undefined, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw mistyped(value, `AdmissionReview.${field}`, 'string');
  return value;
}

function bytesOf(value: JsonValue | undefined): Buffer {
  const text = textOf(value, 'response.patch');
  const bad = /[^A-Za-z0-9+/=\r\n]/.exec(text);
  if (bad) throw new NotAReviewError(`illegal base64 data at input byte ${bad.index}`);
  return Buffer.from(text, 'base64');
}

function mistyped(value: JsonValue, field: string, type: string): NotAReviewError {
  const word = Array.isArray(value)
    ? 'array'
    : typeof value === 'boolean'
      ? 'bool'
      : value === null
        ? 'null'
        : typeof value;
  return new NotAReviewError(`json: cannot unmarshal ${word} into Go struct field ${field} of type ${type}`);
}
