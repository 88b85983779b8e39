/**
 * `serviceaccounts/NAME/token`: a create that answers with a token instead of storing something.
 *
 * Always true: a token lives between ten minutes and 2^32 seconds, an hour if nothing is said; it is bound only to an
 * object that exists now, and with the uid that was named, if one was.
 */
import {
  badRequest,
  conflict,
  type FieldError,
  invalid,
  invalidValue,
  type JsonObject,
  type KubeObject,
  notFound,
  rfc3339,
} from '../../api/index.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import type { BoundObject, ServiceAccountTokens } from './service-account-tokens.ts';

const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const TOKEN_REQUEST = { kind: 'TokenRequest', group: 'authentication.k8s.io' };

type BoundRef = { kind?: string; apiVersion?: string; name?: string; uid?: string };
type Spec = { audiences?: string[] | null; expirationSeconds?: number | null; boundObjectRef?: BoundRef | null };

type CompleteSpec = { audiences: string[]; expirationSeconds: number; boundObjectRef: BoundRef | null };

export type TokenRequestTools = {
  readonly tokens: ServiceAccountTokens;
  readonly storageOf: (group: string, plural: string) => ResourceStorage;
  readonly read: (storage: ResourceStorage, namespace: string, name: string) => Promise<KubeObject | undefined>;
  readonly nowMs: number;
};

/** Who names an account names the one of the path. */
export function checkTokenName({ metadata }: KubeObject, name: string): void {
  if (!metadata.name || metadata.name === name) return;
  const fault = invalidValue('metadata.name', metadata.name, 'must match the service account name if specified');
  throw invalid(TOKEN_REQUEST, name, [fault]);
}

/** What the request asks for with all that it left out; `account` is the one in the path. */
export function completeTokenRequest(
  request: KubeObject,
  account: KubeObject,
  { tokens, nowMs }: Pick<TokenRequestTools, 'tokens' | 'nowMs'>,
): KubeObject {
  const { name = '', namespace = '', uid = '' } = account.metadata;
  const asked = request.metadata.uid;
  if (asked && asked !== uid) {
    const why = `the UID in the token request (${asked}) does not match the UID of the service account (${uid})`;
    throw conflict({ group: TOKEN_REQUEST.group, plural: TOKEN_REQUEST.kind }, name, why);
  }
  const spec = (request.spec ?? {}) as Spec;
  const expirationSeconds = spec.expirationSeconds ?? DEFAULT_SECONDS;
  const faults = checkSeconds(expirationSeconds);
  if (faults.length > 0) throw invalid(TOKEN_REQUEST, '', faults);
  const audiences = spec.audiences?.length ? spec.audiences : [...tokens.audiences];
  return {
    ...request,
    metadata: { ...request.metadata, name, namespace, uid, creationTimestamp: rfc3339(nowMs) },
    spec: { audiences, expirationSeconds, boundObjectRef: (spec.boundObjectRef as JsonObject | undefined) ?? null },
  };
}

/** The completed request with its token. */
export async function answerTokenRequest(
  request: KubeObject,
  account: KubeObject,
  tools: TokenRequestTools,
): Promise<JsonObject> {
  const { audiences, expirationSeconds, boundObjectRef } = request.spec as CompleteSpec;
  const bound = boundObjectRef ? await boundObject(boundObjectRef, account, tools) : undefined;
  const expiresAtMs = Math.floor(tools.nowMs / 1000 + expirationSeconds) * 1000;
  const token = tools.tokens.sign(account, audiences, expiresAtMs, bound);
  const status = { token, expirationTimestamp: rfc3339(expiresAtMs) };
  return { ...(request as unknown as JsonObject), status };
}

function checkSeconds(seconds: number): FieldError[] {
  const field = 'spec.expirationSeconds';
  if (seconds < MIN_SECONDS) return [invalidValue(field, seconds, 'may not specify a duration less than 10 minutes')];
  if (seconds > MAX_SECONDS)
    return [invalidValue(field, seconds, 'may not specify a duration larger than 2^32 seconds')];
  return [];
}

const PLURALS: Readonly<Record<BoundObject['kind'], string>> = { Pod: 'pods', Secret: 'secrets', Node: 'nodes' };

async function boundObject(
  { kind = '', apiVersion = '', name = '', uid = '' }: BoundRef,
  account: KubeObject,
  { storageOf, read }: TokenRequestTools,
): Promise<BoundObject> {
  const type = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  if (!type.startsWith('/') || !Object.hasOwn(PLURALS, kind))
    throw badRequest(`cannot bind token to object of type ${type}, Kind=${kind}`);
  const bound = kind as BoundObject['kind'];
  const storage = storageOf('', PLURALS[bound]);
  const object = await read(storage, bound === 'Node' ? '' : (account.metadata.namespace ?? ''), name);
  if (!object) throw notFound(storage.resource, name);
  if (bound === 'Pod') checkPod(object, account);
  const found = object.metadata.uid ?? '';
  if (uid !== '' && uid !== found)
    throw conflict(
      { group: '', plural: kind },
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  return { kind: bound, name, uid: found };
}

function checkPod({ spec }: KubeObject, account: KubeObject): void {
  const { serviceAccountName = '' } = (spec ?? {}) as { serviceAccountName?: string };
  if (serviceAccountName !== account.metadata.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(account.metadata.name)} to pod running with different serviceaccount name.`,
    );
}
