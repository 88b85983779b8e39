/**
 * How a webhook fails. What the webhook did wrong, or the way to it, is a WebhookCallError: the policy of the webhook
 * decides what becomes of it. A refusal, and what the server itself cannot do, are StatusErrors as for everybody.
 */
import { badRequest, internalError, type JsonObject, type StatusDetails, StatusError } from '../../../api/index.ts';
import { isObject } from '../../codec/json/json-objects.ts';

export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
  /** As metrics count it. */
  readonly code: number;

  constructor(webhook: string, why: string, code: number, options?: ErrorOptions) {
    super(`failed calling webhook ${JSON.stringify(webhook)}: ${why}`, options);
    this.code = code;
  }
}

/** Told to the client. */
export function callFailed(err: WebhookCallError): StatusError {
  return internalError(err.message, { cause: err });
}

export function noDryRun(webhook: string): StatusError {
  return badRequest(`admission webhook ${JSON.stringify(webhook)} does not support dry run`);
}

export function deniedBy(webhook: string, given: JsonObject | undefined): StatusError {
  const { code, message, reason, details } = given ?? {};
  const lead = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = textOf(message) || textOf(reason);
  return new StatusError({
    code: typeof code === 'number' && Number.isInteger(code) && code >= 400 ? code : 400,
    message: why === '' ? `${lead} without explanation` : `${lead}: ${why}`,
    ...(textOf(reason) !== '' && { reason: textOf(reason) }),
    ...(isObject(details) && { details: detailsOf(details) }),
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The fields that a Status has, and those of the right type. */
function detailsOf(given: JsonObject): StatusDetails {
  const details: StatusDetails = {};
  for (const field of ['name', 'group', 'kind', 'uid'] as const)
    if (textOf(given[field]) !== '') details[field] = textOf(given[field]);
  if (Array.isArray(given.causes) && given.causes.length > 0)
    details.causes = given.causes.filter(isObject).map((cause) => ({
      ...(textOf(cause.reason) && { reason: textOf(cause.reason) }),
      ...(textOf(cause.message) && { message: textOf(cause.message) }),
      ...(textOf(cause.field) && { field: textOf(cause.field) }),
    }));
  const { retryAfterSeconds: seconds } = given;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds > 0) details.retryAfterSeconds = seconds;
  return details;
}
