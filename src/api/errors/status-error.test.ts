import { describe, expect, it } from 'vitest';
import { forbiddenValue, invalidValue, requiredValue } from './field-error.ts';
import {
  alreadyExists,
  badRequest,
  bodyTooLarge,
  conflict,
  continueExpired,
  expired,
  forbidden,
  forbiddenPath,
  forbiddenRequest,
  internalError,
  invalid,
  isStatusError,
  listExpired,
  methodNotAllowed,
  notAcceptable,
  notFound,
  noUniqueName,
  plainError,
  resourceNotFound,
  routeNotAcceptable,
  StatusError,
  serverTimeout,
  serviceUnavailable,
  staleVersion,
  successStatus,
  timeout,
  tooLargeResourceVersion,
  tooManyRequests,
  tooOldResourceVersion,
  unauthorized,
  unprocessable,
  unsupportedMediaType,
} from './status-error.ts';

const configMaps = { group: '', plural: 'configmaps' };
const deployments = { group: 'apps', plural: 'deployments' };
const stale = 'the object has been modified; please apply your changes to the latest version and try again';

describe('Status bodies', () => {
  it.each<[error: StatusError, code: number, reason: string | undefined, message: string, details?: object]>([
    [notFound(configMaps, 'a'), 404, 'NotFound', 'configmaps "a" not found', { name: 'a', kind: 'configmaps' }],
    [
      notFound(deployments, 'a'),
      404,
      'NotFound',
      'deployments.apps "a" not found',
      { name: 'a', group: 'apps', kind: 'deployments' },
    ],
    [resourceNotFound(), 404, 'NotFound', 'the server could not find the requested resource', {}],
    [
      alreadyExists(configMaps, 'a'),
      409,
      'AlreadyExists',
      'configmaps "a" already exists',
      { name: 'a', kind: 'configmaps' },
    ],
    [
      alreadyExists(configMaps, 'a', true),
      409,
      'AlreadyExists',
      'object is being deleted: configmaps "a" already exists',
      { name: 'a', kind: 'configmaps' },
    ],
    [
      noUniqueName(configMaps, 'a-x'),
      409,
      'AlreadyExists',
      'configmaps "a-x" already exists, the server was not able to generate a unique name for the object',
      { name: 'a-x', kind: 'configmaps', retryAfterSeconds: 1 },
    ],
    [
      staleVersion(configMaps, 'a'),
      409,
      'Conflict',
      `Operation cannot be fulfilled on configmaps "a": ${stale}`,
      { name: 'a', kind: 'configmaps' },
    ],
    [
      conflict({ group: '', plural: 'pods/binding' }, 'a', 'pod a is already assigned to node "n1"'),
      409,
      'Conflict',
      'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
      { name: 'a', kind: 'pods/binding' },
    ],
    [badRequest('no'), 400, 'BadRequest', 'no'],
    [unauthorized(), 401, 'Unauthorized', 'Unauthorized'],
    [
      forbidden(configMaps, 'new', 'unable', [{ reason: 'NamespaceTerminating', message: 'm', field: 'f' }]),
      403,
      'Forbidden',
      'configmaps "new" is forbidden: unable',
      { name: 'new', kind: 'configmaps', causes: [{ reason: 'NamespaceTerminating', message: 'm', field: 'f' }] },
    ],
    [
      forbiddenRequest({ ...configMaps, username: 'alice', verb: 'list' }),
      403,
      'Forbidden',
      'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" at the cluster scope',
      { kind: 'configmaps' },
    ],
    [
      forbiddenRequest({
        ...deployments,
        username: 'alice',
        verb: 'get',
        subresource: 'scale',
        namespace: 'ns',
        name: 'a',
        why: 'no',
      }),
      403,
      'Forbidden',
      'deployments.apps "a" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" in the namespace "ns": no',
      { name: 'a', group: 'apps', kind: 'deployments' },
    ],
    [
      forbiddenPath('system:anonymous', 'get', '/api'),
      403,
      'Forbidden',
      'forbidden: User "system:anonymous" cannot get path "/api"',
      {},
    ],
    [
      methodNotAllowed(),
      405,
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
      {},
    ],
    [
      methodNotAllowed('create', { group: 'ex.io', plural: 'foos' }),
      405,
      'MethodNotAllowed',
      'create is not supported on resources of kind "foos.ex.io"',
      { group: 'ex.io', kind: 'foos' },
    ],
    [notAcceptable(['a/b']), 406, 'NotAcceptable', 'only the following media types are accepted: a/b'],
    [
      routeNotAcceptable(['a/b', 'c/d']),
      406,
      'NotAcceptable',
      '406: Not Acceptable\n\nAvailable representations: a/b, c/d',
      {},
    ],
    [unsupportedMediaType(), 415, 'UnsupportedMediaType', '415: Unsupported Media Type', {}],
    [
      unsupportedMediaType(['a/b']),
      415,
      'UnsupportedMediaType',
      'the body of the request was in an unknown format - accepted media types include: a/b',
    ],
    [bodyTooLarge(3145728), 413, 'RequestEntityTooLarge', 'Request entity too large: limit is 3145728'],
    [listExpired(), 410, 'Expired', 'The resourceVersion for the provided list is too old.'],
    [tooOldResourceVersion(1, 303), 410, 'Expired', 'too old resource version: 1 (303)'],
    [
      tooManyRequests('storage is (re)initializing', 2),
      429,
      'TooManyRequests',
      'storage is (re)initializing',
      { retryAfterSeconds: 2 },
    ],
    [internalError('boom'), 500, 'InternalError', 'Internal error occurred: boom', { causes: [{ message: 'boom' }] }],
    [plainError('boom'), 500, undefined, 'boom'],
    [
      serverTimeout(deployments, 'get', 1),
      500,
      'ServerTimeout',
      'The get operation against deployments.apps could not be completed at this time, please try again.',
      { group: 'apps', kind: 'deployments', retryAfterSeconds: 1 },
    ],
    [timeout('slow'), 504, 'Timeout', 'Timeout: slow', {}],
    [
      tooLargeResourceVersion(99, 22),
      504,
      'Timeout',
      'Timeout: Too large resource version: 99, current: 22',
      {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    ],
    [serviceUnavailable('starting', 5), 503, 'ServiceUnavailable', 'starting', { retryAfterSeconds: 5 }],
    [serviceUnavailable('starting'), 503, 'ServiceUnavailable', 'starting'],
    [unprocessable(), 422, 'Invalid', 'the server rejected our request due to an error in our request', {}],
  ])('%s', (error, code, reason, message, details) => {
    expect(error.code).toBe(code);
    expect(error.status).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason && { reason }),
      ...(details && { details }),
      code,
    });
  });

  it('keep the order of the wire', () => {
    expect(JSON.stringify(notFound(deployments, 'a').status)).toBe(
      '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"deployments.apps \\"a\\" not found","reason":"NotFound","details":{"name":"a","group":"apps","kind":"deployments"},"code":404}',
    );
  });

  it('carry a token to go on with an expired list', () => {
    const { metadata, details } = continueExpired('token').status;
    expect([metadata, details]).toEqual([{ continue: 'token' }, undefined]);
    expect(expired('m').status.metadata).toEqual({});
  });

  it('tell success without a code', () => {
    expect(successStatus({ name: 'a', kind: 'configmaps', uid: 'u' })).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', kind: 'configmaps', uid: 'u' },
    });
    expect(successStatus(undefined, 201)).toMatchObject({ status: 'Success', code: 201 });
  });
});

describe('invalid()', () => {
  it('tells one error plainly', () => {
    const { message, details } = invalid({ kind: 'Pod', group: '' }, 'a', [requiredValue('spec.containers')]).status;
    expect(message).toBe('Pod "a" is invalid: spec.containers: Required value');
    expect(details).toEqual({
      name: 'a',
      kind: 'Pod',
      causes: [{ reason: 'FieldValueRequired', message: 'Required value', field: 'spec.containers' }],
    });
  });

  it('tells several in brackets, equal ones once, and shows an empty name', () => {
    const twice = forbiddenValue('force', 'no');
    const error = invalid({ kind: 'PatchOptions', group: 'meta.k8s.io' }, '', [
      twice,
      invalidValue('a', 1, 'b'),
      twice,
    ]);
    expect(error.message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: [force: Forbidden: no, a: Invalid value: 1: b]',
    );
    expect(error.status.details).toMatchObject({ group: 'meta.k8s.io', kind: 'PatchOptions' });
    expect(error.status.details).not.toHaveProperty('name');
    expect(error.status.details?.causes).toHaveLength(3);
  });
});

describe('isStatusError()', () => {
  it('goes by name and reason', () => {
    const foreign = Object.assign(new Error('x'), { name: 'StatusError', status: { reason: 'NotFound' } });
    expect(isStatusError(foreign)).toBe(true);
    expect(isStatusError(foreign, 'NotFound')).toBe(true);
    expect(isStatusError(foreign, 'Conflict')).toBe(false);
    expect(isStatusError(new Error('x'))).toBe(false);
    expect(isStatusError({ name: 'StatusError' })).toBe(false);
    expect(new StatusError({ code: 500, message: 'x' }, { cause: 'c' }).cause).toBe('c');
  });
});

describe('a Status is never large', () => {
  const size = (error: StatusError) => Buffer.byteLength(JSON.stringify(error.status));

  it('whatever was sent', () => {
    const long = 'x'.repeat(3_000_000);
    const many = Array.from({ length: 100_000 }, (_, i) => invalidValue(`field${i}`, 'x'.repeat(100), 'is bad'));
    expect(size(badRequest(long))).toBeLessThan(300_000);
    expect(size(notFound({ group: '', plural: 'pods' }, long))).toBeLessThan(300_000);
    expect(size(invalid({ kind: 'Pod', group: '' }, long, many))).toBeLessThan(1_000_000);
    expect(size(invalid({ kind: 'Pod', group: '' }, 'a', [invalidValue('f', { long }, 'is bad')]))).toBeLessThan(
      200_000,
    );
    const causes = [{ message: long }, { message: 'second' }];
    expect(size(new StatusError({ code: 409, message: 'm', details: { causes } }))).toBeLessThan(300_000);
  });

  it('and says where it was cut', () => {
    const many = Array.from({ length: 100_000 }, (_, i) => invalidValue(`field${i}`, i, 'is bad'));
    const { message, status } = invalid({ kind: 'Pod', group: '' }, 'a', many);
    expect(message).toMatch(
      /^Pod "a" is invalid: \[field0: Invalid value: 0: is bad, field1: .*is bad, \.\.\., field99999: Invalid value: 99999: is bad\]$/,
    );
    expect(status.details?.causes?.at(-1)?.field).toBe('field99999');
    expect(status.details?.causes?.[1]).toEqual({
      reason: 'FieldValueInvalid',
      message: 'Invalid value: 1: is bad',
      field: 'field1',
    });
    expect(badRequest('x'.repeat(300_000)).message).toMatch(/^x+\.\.\.$/);
    const shown = invalid({ kind: '', group: '' }, '', [invalidValue('patch', 'y'.repeat(100_000), 'why')]);
    expect(shown.message).toMatch(/^ "" is invalid: patch: Invalid value: "y+\.\.\.": why$/);
  });
});
