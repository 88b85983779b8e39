/**
 * One call of one webhook: its review sent, its answer read, its warnings and annotations passed on.
 *
 * Resolves with what it changed, if it may change something; a refusal is a StatusError, a failure of the call a
 * WebhookCallError. The time a webhook takes is bounded by its own limit and by the request.
 */
import { randomUUID } from 'node:crypto';
import { internalError } from '../../../api/index.ts';
import type { OutboundConnections } from '../../outbound/outbound-connections.ts';
import { CallError, postJson } from '../../outbound/post-json.ts';
import { BadReviewError, NotAReviewError, type ReviewAnswer, readReview, reviewRequest } from './admission-review.ts';
import type { Invocation, Versioned, VersionedRequest } from './versioned-request.ts';
import type { Webhook } from './webhook.ts';
import { deniedBy, noDryRun, WebhookCallError } from './webhook-errors.ts';

/** A review holds an object at most twice, each no longer than a request may be; a patch of one is not longer. */
const LIMIT_ANSWER_BYTES = 16 * 1024 * 1024;
const UNAVAILABLE = 503;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

export class WebhookCaller {
  readonly #connections: OutboundConnections;

  constructor(connections: OutboundConnections) {
    this.#connections = connections;
  }

  async call(
    webhook: Webhook,
    invocation: Invocation,
    request: VersionedRequest,
    isMutating: boolean,
  ): Promise<ReviewAnswer> {
    const { attributes } = request;
    const { name, sideEffects } = webhook;
    if (attributes.isDryRun && mayHaveEffects(webhook, true)) {
      if (sideEffects === undefined) throw new WebhookCallError(name, 'Webhook SideEffects is nil', 400);
      throw noDryRun(name);
    }
    const answer = await this.#ask(webhook, invocation, request, isMutating);
    for (const [key, value] of Object.entries(answer.auditAnnotations)) attributes.annotate(`${name}/${key}`, value);
    for (const text of answer.warnings) if (text !== '' && !CONTROL.test(text)) attributes.context.warn(text);
    if (!answer.isAllowed) throw deniedBy(name, answer.status);
    return answer;
  }

  async #ask(
    webhook: Webhook,
    invocation: Invocation,
    request: VersionedRequest,
    isMutating: boolean,
  ): Promise<ReviewAnswer> {
    const { name, reviewVersion: version, timeoutSeconds } = webhook;
    const { attributes } = request;
    if (!version)
      throw new WebhookCallError(
        name,
        'could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)',
        400,
      );
    const found = inVersion(request, invocation);
    const objects = found instanceof Promise ? await found : found;
    const uid = randomUUID();
    try {
      const target = targetOf(webhook);
      const answer = await postJson(this.#connections, {
        target,
        body: reviewRequest(uid, version, attributes, invocation, objects),
        timeoutSeconds,
        limitBytes: LIMIT_ANSWER_BYTES,
        mayRepeat: !mayHaveEffects(webhook, attributes.isDryRun),
        signal: attributes.notice,
      });
      return readReview(answer, uid, version, isMutating);
    } catch (err) {
      if (err instanceof BadReviewError)
        throw new WebhookCallError(name, `received invalid webhook response: ${err.message}`, UNAVAILABLE, {
          cause: err,
        });
      if (err instanceof NotAReviewError || err instanceof CallError)
        throw new WebhookCallError(
          name,
          `failed to call webhook: ${err.message}`,
          (err as CallError).code || UNAVAILABLE,
          { cause: err },
        );
      throw err;
    }
  }
}

function mayHaveEffects({ sideEffects }: Webhook, isDryRun: boolean): boolean {
  return sideEffects !== 'None' && !(isDryRun && sideEffects === 'NoneOnDryRun');
}

function targetOf(webhook: Webhook) {
  try {
    return webhook.target();
  } catch (err) {
    throw new WebhookCallError(webhook.name, `could not get REST client: ${(err as Error).message}`, 400, {
      cause: err,
    });
  }
}

/** A version that the object cannot be had in fails the request, whatever the webhook's policy. */
function inVersion(request: VersionedRequest, invocation: Invocation): Versioned | Promise<Versioned> {
  const failed = (err: unknown): never => {
    request.attributes.notice.throwIfAborted();
    throw internalError((err as Error).message, { cause: err });
  };
  try {
    const found = request.in(invocation);
    return found instanceof Promise ? found.catch(failed) : found;
  } catch (err) {
    return failed(err);
  }
}
