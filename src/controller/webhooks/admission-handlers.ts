/**
 * Handlers of admission, and an AdmissionReview answered by one of them.
 *
 * A validating handler returns what is wrong, or nothing. A mutating one changes the object it is given, or returns
 * another; the difference is sent as a JSON patch. `deny()` refuses in either. What a handler throws is no answer: the
 * API server then does what `failurePolicy` says.
 */
import type { AnyObject } from '../../client/index.ts';
import { jsonDiff } from './json-diff.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export type AdmissionUser = {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
};

export type AdmissionRequest<T extends AnyObject = AnyObject> = {
  readonly operation: Operation;
  /** As it would be stored. Of a DELETE: what is deleted. */
  readonly object: T;
  /** As it is stored; not on CREATE. */
  readonly oldObject: T | undefined;
  readonly name: string;
  readonly namespace: string;
  readonly subResource: string;
  readonly user: AdmissionUser;
  /** Nothing will be stored: do nothing that lasts. */
  readonly isDryRun: boolean;
  /** Shown to whoever asked, whatever the answer is. */
  warn(text: string): void;
  /** Fires when the API server does not wait any longer. */
  readonly signal: AbortSignal;
};

/** A refusal. */
export class Denial {
  readonly message: string;
  readonly code: number;
  readonly reason: string | undefined;

  constructor(message: string, { code = 403, reason }: { code?: number; reason?: string } = {}) {
    this.message = message;
    this.code = code;
    this.reason = reason;
  }
}

export function deny(message: string, options: { code?: number; reason?: string } = {}): Denial {
  return new Denial(message, options);
}

/** Texts say what is wrong; none is fine. */
export type ValidatingResult = undefined | string | readonly string[] | Denial;
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is one that allows
export type ValidatingHandler<T extends AnyObject> = (request: AdmissionRequest<T>) => Answer<ValidatingResult | void>;
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has changed what it was given
export type MutatingHandler<T extends AnyObject> = (request: AdmissionRequest<T>) => Answer<T | Denial | void>;
type Answer<R> = R | Promise<R>;

export type Review = { readonly apiVersion?: string; readonly kind?: string; readonly request?: ReviewedRequest };
type ReviewedRequest = {
  readonly uid: string;
  readonly operation: Operation;
  readonly object?: AnyObject | null;
  readonly oldObject?: AnyObject | null;
  readonly name?: string;
  readonly namespace?: string;
  readonly subResource?: string;
  readonly userInfo?: Partial<AdmissionUser>;
  readonly dryRun?: boolean;
};

/** It is none, so there is nothing to answer. */
export class NoReviewError extends Error {
  override readonly name = 'NoReviewError';
}

function requestIn(review: Review): ReviewedRequest {
  const { request } = review ?? {};
  const isReview = review?.kind === 'AdmissionReview' && review.apiVersion === 'admission.k8s.io/v1';
  if (!isReview || typeof request?.uid !== 'string' || !(request.object ?? request.oldObject))
    throw new NoReviewError('Cannot answer: this is no AdmissionReview of admission.k8s.io/v1 with an object');
  return request;
}

export async function reviewWith(
  review: Review,
  kind: 'validate' | 'mutate',
  handler: ValidatingHandler<AnyObject> | MutatingHandler<AnyObject>,
  signal: AbortSignal,
): Promise<object> {
  const request = requestIn(review);
  const { uid, operation, name = '', namespace = '', subResource = '', userInfo = {}, dryRun = false } = request;
  const given = (request.object ?? request.oldObject) as AnyObject;
  const warnings: string[] = [];
  const asked: AdmissionRequest = {
    operation,
    object: kind === 'mutate' ? structuredClone(given) : given,
    oldObject: request.oldObject ?? undefined,
    name,
    namespace,
    subResource,
    user: { ...userInfo, username: userInfo.username ?? '' },
    isDryRun: dryRun,
    warn: (text) => void warnings.push(text),
    signal,
  };
  const result = await handler(asked);
  const response = { uid, ...(warnings.length > 0 && { warnings }) };
  const denial = kind === 'validate' ? denialOf(result as ValidatingResult) : denialIn(result);
  if (denial) {
    const { message, code, reason } = denial;
    return answer({ ...response, allowed: false, status: { message, code, ...(reason !== undefined && { reason }) } });
  }
  if (kind === 'validate') return answer({ ...response, allowed: true });
  const patch = jsonDiff(given, result ?? asked.object);
  if (patch.length === 0) return answer({ ...response, allowed: true });
  const text = Buffer.from(JSON.stringify(patch)).toString('base64');
  return answer({ ...response, allowed: true, patchType: 'JSONPatch', patch: text });
}

function denialOf(result: ValidatingResult): Denial | undefined {
  const denied = denialIn(result);
  if (denied) return denied;
  const texts = typeof result === 'string' ? [result] : ((result ?? []) as readonly string[]);
  if (!Array.isArray(texts) || texts.some((text) => typeof text !== 'string'))
    throw new TypeError('Cannot answer for a validating handler: it returned neither texts nor a denial');
  return texts.length === 0 ? undefined : new Denial(texts.join('; '), { code: 422, reason: 'Invalid' });
}

/** By its fields, not its class: two installed copies must still agree. */
function denialIn(result: unknown): Denial | undefined {
  const { message, code, kind } = (result ?? {}) as { message?: unknown; code?: unknown; kind?: unknown };
  const isDenial = typeof message === 'string' && typeof code === 'number' && kind === undefined;
  return isDenial ? (result as Denial) : undefined;
}

function answer(response: object): object {
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
}
