/**
 * How the API says no, and how it says done: Status bodies, and the error that carries one.
 *
 * Whoever refuses a request throws a StatusError; whoever answers writes its `status` as it is, under `code` as HTTP
 * status. Texts, reasons and the shape of `details` are part of the protocol: clients branch on them, so they are built
 * here and nowhere else. `details` is absent, or `{}`, exactly where kube-apiserver has it so.
 *
 * A Status is never large, whatever was sent: its message, and all its causes together, have `statusLimitBytes` each.
 */
import { cutText } from '../json-text.ts';
import { type FieldError, fieldErrorText, quote } from './field-error.ts';

export type StatusCause = { reason?: string; message?: string; field?: string };

export type StatusDetails = {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
};

export type Status = {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
};

export type StatusErrorParts = {
  code: number;
  /** Absent for what is not an error of the API: a plain 500. */
  reason?: string;
  message: string;
  details?: StatusDetails;
  metadata?: Status['metadata'];
};

/** A resource as messages name it. `plural` may carry a subresource, or be a Kind where the protocol wants that. */
export type ResourceName = { readonly group: string; readonly plural: string };

export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: Status;
  readonly code: number;

  constructor({ code, reason, message: whole, details, metadata = {} }: StatusErrorParts, options?: ErrorOptions) {
    const message = cutText(whole, statusLimitBytes);
    super(message, options);
    this.code = code;
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata,
      status: 'Failure',
      message,
      ...(reason !== undefined && { reason }),
      ...(details && { details: withinLimit(details) }),
      code,
    };
  }
}

const statusLimitBytes = 256 * 1024;
const nameLimitBytes = 4 * 1024;

function withinLimit(details: StatusDetails): StatusDetails {
  const { name, causes } = details;
  if (name !== undefined && name.length > nameLimitBytes) details = { ...details, name: cutText(name, nameLimitBytes) };
  if (causes === undefined || causes.length === 0) return details;
  const kept: StatusCause[] = [];
  let room = statusLimitBytes;
  for (const cause of causes) {
    if (room <= 0) break;
    kept.push(cutCause(cause, room));
    // A character takes up to three bytes; to count them as one would only let the answer be three times as long.
    room -= (kept.at(-1)!.message?.length ?? 0) + (kept.at(-1)!.field?.length ?? 0) + leastCauseBytes;
  }
  // Whoever ends early says so last.
  if (kept.length < causes.length) kept.push(cutCause(causes.at(-1)!, nameLimitBytes));
  return { ...details, causes: kept };
}

function cutCause({ message, field, ...cause }: StatusCause, limitBytes: number): StatusCause {
  const told: StatusCause = { ...cause };
  if (message !== undefined) told.message = cutText(message, limitBytes);
  if (field !== undefined) told.field = cutText(field, limitBytes);
  return told;
}

/** What a cause takes without its texts. */
const leastCauseBytes = 64;

/** By name, not `instanceof`: two installed copies must still agree. */
export function isStatusError(err: unknown, reason?: string): err is StatusError {
  if (!(err instanceof Error) || err.name !== 'StatusError') return false;
  return reason === undefined || (err as StatusError).status.reason === reason;
}

/** The answer of a delete, a binding, an eviction. */
export function successStatus(details?: StatusDetails, code?: number): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    ...(details && { details }),
    ...(code !== undefined && { code }),
  };
}

/** `name`, `group` and `kind` of an object, in the order of the wire, without what is empty. */
export function detailsOf({ group, plural }: ResourceName, name = '', more: StatusDetails = {}): StatusDetails {
  return { ...(name && { name }), ...(group && { group }), ...(plural && { kind: plural }), ...more };
}

export function notFound(resource: ResourceName, name: string): StatusError {
  return make(404, 'NotFound', `${nameOf(resource, name)} not found`, detailsOf(resource, name));
}

/** The path leads to nothing this group version has. */
export function resourceNotFound(): StatusError {
  return make(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function alreadyExists(resource: ResourceName, name: string, isBeingDeleted = false): StatusError {
  const message = `${isBeingDeleted ? 'object is being deleted: ' : ''}${nameOf(resource, name)} already exists`;
  return make(409, 'AlreadyExists', message, detailsOf(resource, name));
}

/** Eight generated names in a row were taken. */
export function noUniqueName(resource: ResourceName, name: string): StatusError {
  const why = 'already exists, the server was not able to generate a unique name for the object';
  const details = detailsOf(resource, name, { retryAfterSeconds: 1 });
  return make(409, 'AlreadyExists', `${nameOf(resource, name)} ${why}`, details);
}

export function conflict(resource: ResourceName, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${nameOf(resource, name)}: ${why}`;
  return make(409, 'Conflict', message, detailsOf(resource, name));
}

/** The writer has seen an older version than the stored one. */
export function staleVersion(resource: ResourceName, name: string): StatusError {
  const advice = 'please apply your changes to the latest version and try again';
  return conflict(resource, name, `the object has been modified; ${advice}`);
}

/** Equal errors are told once in the message, but each has its cause. */
export function invalid(
  { kind, group }: { readonly kind: string; readonly group: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const texts = distinctTexts(errors);
  const text = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const causes = errors.map(({ reason, message, field }) => ({ reason, message, field }));
  const what = { group, plural: kind };
  return make(422, 'Invalid', `${nameOf(what, '')} "${name}" is invalid: ${text}`, detailsOf(what, name, { causes }));
}

/** As many as a message has room for, and the last; three dots stand for the others. */
function distinctTexts(errors: readonly FieldError[]): string[] {
  const texts = new Set<string>();
  let room = statusLimitBytes / 2; // the name stands before them
  for (const error of errors) {
    const text = fieldErrorText(error);
    if (room < text.length && texts.size > 0)
      return [...texts, '...', cutText(fieldErrorText(errors.at(-1)!), nameLimitBytes)];
    if (!texts.has(text)) room -= text.length;
    texts.add(text);
  }
  return [...texts];
}

/** A 422 that names nothing. */
export function unprocessable(): StatusError {
  return make(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}

export function badRequest(message: string): StatusError {
  return make(400, 'BadRequest', message);
}

export function unauthorized(): StatusError {
  return make(401, 'Unauthorized', 'Unauthorized');
}

/** Refused by a rule of the server about this object; `causes` say which. */
export function forbidden(resource: ResourceName, name: string, why: string, causes?: StatusCause[]): StatusError {
  const details = detailsOf(resource, name, causes && { causes });
  return make(403, 'Forbidden', `${nameOf(resource, name)} is forbidden: ${why}`, details);
}

/** What the authoriser was asked; `plural` without the subresource. */
export type DeniedRequest = ResourceName & {
  readonly username: string;
  readonly verb: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** The authoriser's own words, if it has any. */
  readonly why?: string;
};

/** Refused by the authoriser, on a resource. */
export function forbiddenRequest(denied: DeniedRequest): StatusError {
  const { username, verb, group, plural, subresource, namespace, name = '', why } = denied;
  const what = subresource ? `${plural}/${subresource}` : plural;
  const where = namespace ? `in the namespace ${quote(namespace)}` : 'at the cluster scope';
  const tail = why ? `: ${why}` : '';
  return forbidden(
    { group, plural },
    name,
    `User ${quote(username)} cannot ${verb} resource ${quote(what)} in API group ${quote(group)} ${where}${tail}`,
  );
}

/** Refused by the authoriser, on a path that is no resource. */
export function forbiddenPath(username: string, verb: string, path: string, why = ''): StatusError {
  const tail = why ? `: ${why}` : '';
  return make(403, 'Forbidden', `forbidden: User ${quote(username)} cannot ${verb} path ${quote(path)}${tail}`, {});
}

/** With a verb and a resource it is the answer of a custom resource, without that of a built-in one. */
export function methodNotAllowed(verb?: string, resource?: ResourceName): StatusError {
  if (verb === undefined || !resource)
    return make(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  const message = `${verb} is not supported on resources of kind "${nameOf(resource, '')}"`;
  return make(405, 'MethodNotAllowed', message, detailsOf(resource));
}

/** None of the media types asked for can be served; found out by the handler. */
export function notAcceptable(accepted: readonly string[]): StatusError {
  return shapeNotAcceptable(`only the following media types are accepted: ${accepted.join(', ')}`);
}

/** The same, found out by the router. */
export function routeNotAcceptable(available: readonly string[]): StatusError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`;
  return make(406, 'NotAcceptable', message, {});
}

/** The media type is served, but this object has no such form. */
export function shapeNotAcceptable(message: string): StatusError {
  return make(406, 'NotAcceptable', message);
}

/** Without a list it is the router's answer. */
export function unsupportedMediaType(accepted?: readonly string[]): StatusError {
  if (!accepted) return make(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  const message = 'the body of the request was in an unknown format - accepted media types include: ';
  return make(415, 'UnsupportedMediaType', message + accepted.join(', '));
}

export function tooLarge(message: string): StatusError {
  return make(413, 'RequestEntityTooLarge', message);
}

export function bodyTooLarge(limitBytes: number): StatusError {
  return tooLarge(`Request entity too large: limit is ${limitBytes}`);
}

/** The history that was asked for is gone; `token` continues the list without it. */
export function expired(message: string, token?: string): StatusError {
  const metadata = token === undefined ? {} : { continue: token };
  return new StatusError({ code: 410, reason: 'Expired', message, metadata });
}

export function listExpired(): StatusError {
  return expired('The resourceVersion for the provided list is too old.');
}

export function continueExpired(token: string): StatusError {
  const message =
    'The provided continue parameter is too old to display a consistent list result. ' +
    'You can start a new list without the continue parameter, or use the continue token in this response ' +
    'to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - ' +
    'objects that were created, modified, or deleted between the time the first chunk was returned ' +
    'and now may show up in the list.';
  return expired(message, token);
}

/** A watch from before the window; `oldest` is the first version it could have started from. */
export function tooOldResourceVersion(asked: string | number, oldest: string | number): StatusError {
  return expired(`too old resource version: ${asked} (${oldest})`);
}

/** A version of a server that has lost its data since, or was set back to an older copy of them. */
export function otherHistory(asked: string | number): StatusError {
  const message = `too old resource version: ${asked} (it is of another history: the server has lost what it showed then)`;
  const causes = [{ reason: 'OtherHistory', message: 'the version belongs to another history' }];
  return new StatusError({ code: 410, reason: 'Expired', message, details: { causes } });
}

/** The answer older servers gave; clients read it as Expired. */
export function gone(message: string): StatusError {
  return make(410, 'Gone', message);
}

export function tooManyRequests(message: string, retryAfterSeconds = 0, causes?: StatusCause[]): StatusError {
  return make(429, 'TooManyRequests', message, { ...(causes && { causes }), ...retryAfter(retryAfterSeconds) });
}

export function internalError(message: string, options?: ErrorOptions): StatusError {
  const details = { causes: [{ message }] };
  const text = `Internal error occurred: ${message}`;
  return new StatusError({ code: 500, reason: 'InternalError', message: text, details }, options);
}

/** What kube-apiserver answers to errors that are not its own: 500 and no reason. */
export function plainError(message: string, options?: ErrorOptions): StatusError {
  return new StatusError({ code: 500, message }, options);
}

/** The store did not answer in time. */
export function serverTimeout(resource: ResourceName, verb: string, retryAfterSeconds: number): StatusError {
  const against = `The ${verb} operation against ${nameOf(resource, '')}`;
  const message = `${against} could not be completed at this time, please try again.`;
  return make(500, 'ServerTimeout', message, detailsOf(resource, '', retryAfter(retryAfterSeconds)));
}

export function timeout(message: string, retryAfterSeconds = 0): StatusError {
  return make(504, 'Timeout', `Timeout: ${message}`, retryAfter(retryAfterSeconds));
}

/** The version asked for is not there yet; clients know it by its cause. */
export function tooLargeResourceVersion(asked: string | number, current: string | number): StatusError {
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  return make(504, 'Timeout', message, { causes, ...retryAfter(1) });
}

export function serviceUnavailable(message: string, retryAfterSeconds = 0): StatusError {
  return make(503, 'ServiceUnavailable', message, retryAfterSeconds > 0 ? { retryAfterSeconds } : undefined);
}

function make(code: number, reason: string, message: string, details?: StatusDetails): StatusError {
  return new StatusError({ code, reason, message, ...(details && { details }) });
}

function retryAfter(seconds: number): StatusDetails {
  return seconds > 0 ? { retryAfterSeconds: seconds } : {};
}

/** `configmaps "a"`, or `deployments.apps` where there is no name. */
function nameOf({ group, plural }: ResourceName, name: string): string {
  const resource = group === '' ? plural : `${plural}.${group}`;
  return name === '' ? resource : `${resource} "${name}"`;
}
