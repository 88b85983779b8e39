/**
 * What a custom kind may cost those who share the server: rules, patterns, combinations and defaults that would take
 * seconds, minutes or gigabytes are ended by a limit, with the answer of kube-apiserver.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject, Status } from '../../../../src/api/index.ts';
import { startTestServer, type TestServer } from '../../../../src/testing/index.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const text = { type: 'string' };
const texts = { type: 'array', items: text };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

let count = 0;

/** A kind whose spec has this schema; answers how to create objects of it. */
async function define(spec: JsonObject): Promise<(spec: JsonObject) => Promise<Status | KubeObject>> {
  const plural = `kinds${++count}`;
  const kind = `Kind${count}`;
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.ex.io` },
    spec: {
      group: 'ex.io',
      scope: 'Cluster',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
  const { client } = server;
  await client.create(CRDS, definition);
  for (let isServed = false; !isServed; )
    isServed = (await client.ask('GET', `/apis/ex.io/v1/${plural}`)).status === 200;
  return async (body) => {
    const object = { apiVersion: 'ex.io/v1', kind, metadata: { name: 'a' }, spec: body };
    const answer = await client.ask('POST', `/apis/ex.io/v1/${plural}`, { body: object });
    return JSON.parse(answer.body.toString()) as Status | KubeObject;
  };
}

/** The answer to an object with this fault. */
function invalid(kind: number, field: string, message: string): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `Kind${kind}.ex.io "a" is invalid: ${field}: ${message}`,
    reason: 'Invalid',
    details: {
      name: 'a',
      group: 'ex.io',
      kind: `Kind${kind}`,
      causes: [{ reason: 'FieldValueInvalid', message, field }],
    },
    code: 422,
  } as Status;
}

const overCall = (rule: string) =>
  `Invalid value: 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`;
const overAll =
  'Invalid value: validation failed due to running out of cost budget, no further validation rules will be run';

/** What a rule may cost when it runs is a tenth of what it may be reckoned to cost when it is defined. */
describe('a rule in CEL', () => {
  it('that may take for ever is refused with its definition', async () => {
    const properties = { names: texts, s: text };
    const rule = 'self.names.all(x, !self.s.contains(x))';
    await expect(define({ type: 'object', properties, 'x-kubernetes-validations': [{ rule }] })).rejects.toMatchObject({
      message: expect.stringContaining('estimated rule cost exceeds budget by factor of more than 100x'),
      code: 422,
    });
  });

  it('that looks for many texts in a long one is ended by its budget', async () => {
    const rule = 'self.names.all(x, !self.s.contains(x))';
    const long = 'x'.repeat(90_000);
    const properties = {
      names: { type: 'array', maxItems: 1000, items: { ...text, maxLength: 2 } },
      s: { ...text, enum: [long, 'x'] },
    };
    const create = await define({ type: 'object', properties, 'x-kubernetes-validations': [{ rule }] });
    const names = Array.from({ length: 1000 }, (_, i) => String(i % 100));
    expect(await create({ names, s: long })).toEqual(invalid(count, 'spec', overCall(rule)));
    expect(await create({ names: ['y'], s: 'x' })).toMatchObject({ kind: `Kind${count}` });
  });

  it('that doubles a text again and again is ended by its budget', async () => {
    const rule = `self.s${'.replace("x", "xx")'.repeat(22)} != ""`;
    const s = 'x'.repeat(8);
    const properties = { s: { ...text, enum: [s] } };
    const create = await define({ type: 'object', properties, 'x-kubernetes-validations': [{ rule }] });
    expect(await create({ s })).toEqual(invalid(count, 'spec', overCall(rule)));
  });

  it('on every one of many items is ended by the budget of all', async () => {
    const rule = '[1,2,3,4,5,6,7,8].all(x, x > 0) && self != ""';
    const items = { ...text, 'x-kubernetes-validations': [{ rule }, { rule: `${rule} && true` }] };
    const list = { type: 'array', maxItems: 150_000, items };
    const create = await define({ type: 'object', properties: { list } });
    const status = (await create({ list: Array.from({ length: 150_000 }, () => 'x') })) as Status;
    expect(status.details?.causes).toEqual([
      { reason: 'FieldValueInvalid', message: overAll, field: expect.stringMatching(/^spec\.list\[\d+\]$/) },
    ]);
  });
});

describe('a schema', () => {
  it('with counts inside counts is refused as Go refuses it', async () => {
    const pattern = '(.{0,100}){0,90}Z$';
    await expect(define({ type: 'object', properties: { s: { ...text, pattern } } })).rejects.toMatchObject({
      message: `CustomResourceDefinition.apiextensions.k8s.io "kinds${count}.ex.io" is invalid: spec.validation.openAPIV3Schema.properties[spec].properties[s].pattern: Invalid value: "${pattern}": must be a valid regular expression, but isn't: error parsing regexp: invalid repeat count: \`{0,90}\``,
      code: 422,
    });
  });

  it('with a pattern judges a long text beyond ASCII by it', async () => {
    const pattern = '(.{0,31}){0,31}Z$';
    const create = await define({ type: 'object', properties: { s: { ...text, pattern } } });
    const s = 'ä'.repeat(100_000);
    const why = `spec.s in body should match '${pattern}'`;
    const { details } = (await create({ s })) as Status;
    expect(
      details?.causes?.map(({ message, field }) => [
        field,
        message?.startsWith('Invalid value: "ää'),
        message?.endsWith(why),
      ]),
    ).toEqual([['spec.s', true, true]]);
    expect(await create({ s: `${s}Z` })).toMatchObject({ kind: `Kind${count}` });
  });

  it('with a pattern that every character makes start anew is ended by the budget', async () => {
    const create = await define({ type: 'object', properties: { s: { ...text, pattern: 'ä.{900}Z$' } } });
    const s = Array.from({ length: 200_000 }, (_, i) => (Math.imul(i, 2654435761) & 0x10000 ? 'ä' : 'ö')).join('');
    expect(await create({ s })).toEqual(invalid(count, '<nil>', overAll));
  });

  it('with thousands of alternatives for each of thousands of items is ended by the budget', async () => {
    const anyOf = Array.from({ length: 3000 }, (_, i) => ({ enum: [`a${i}`] }));
    const create = await define({ type: 'object', properties: { list: { type: 'array', items: { ...text, anyOf } } } });
    const status = (await create({ list: Array.from({ length: 3000 }, () => 'x') })) as Status;
    expect(status).toMatchObject({ code: 422, reason: 'Invalid' });
    expect(status.details?.causes?.at(-1)).toEqual({ reason: 'FieldValueInvalid', message: overAll, field: '<nil>' });
  });

  it('that finds a fault in every item does not tell them all', async () => {
    const items = { ...text, enum: Array.from({ length: 2000 }, (_, i) => `value${i}`) };
    const create = await define({ type: 'object', properties: { list: { type: 'array', items } } });
    const status = (await create({ list: Array.from({ length: 50_000 }, () => 'x') })) as Status;
    expect(status).toMatchObject({ code: 422, reason: 'Invalid' });
    expect(JSON.stringify(status).length).toBeLessThan(3_000_000);
  });

  it('whose defaults multiply is refused, or the object that they fill', async () => {
    const inner = { type: 'object', properties: { a: { ...text, default: 'x'.repeat(1000) } } };
    const list = { type: 'array', items: inner };
    const refused = { ...list, default: Array.from({ length: 10_000 }, () => ({})) };
    await expect(define({ type: 'object', properties: { list: refused } })).rejects.toThrow(
      'must not be more than 3145728 bytes with all defaults in it',
    );
    const create = await define({ type: 'object', properties: { list } });
    expect(await create({ list: Array.from({ length: 10_000 }, () => ({})) })).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: limit is 3145728',
    });
    expect(await create({ list: [{}] })).toMatchObject({ spec: { list: [{ a: expect.any(String) }] } });
  });

  it('whose object the store cannot take, alone or with what is owned of it, is told so', async () => {
    const create = await define({
      type: 'object',
      properties: { list: { ...texts, 'x-kubernetes-list-type': 'set' }, long: text },
    });
    const tooLarge = expect.objectContaining({ code: 413, message: 'Request entity too large: limit is 1572864' });
    expect(await create({ long: 'x'.repeat(1_600_000) })).toEqual(tooLarge);
    expect(await create({ list: Array.from({ length: 80_000 }, (_, i) => `v${i}`) })).toEqual(tooLarge);
    expect(await create({ list: Array.from({ length: 20_000 }, (_, i) => `v${i}`) })).toMatchObject({
      kind: `Kind${count}`,
    });
  });

  it('may call fields and keys like something of every object', async () => {
    const odd = ['constructor', 'toString', 'hasOwnProperty', '__proto__', 'prototype'];
    const properties: JsonObject = Object.fromEntries(odd.map((name) => [name, { ...text, default: name }]));
    const map = { type: 'object', additionalProperties: text };
    const rules = [{ rule: 'has(self.constructor) && self.map.all(k, self.map[k] == k)' }];
    const create = await define({
      type: 'object',
      properties: { ...properties, map },
      'x-kubernetes-validations': rules,
    });
    const given = JSON.parse(`{"map":{${odd.map((name) => `"${name}":"${name}"`).join()}},"toString":"given"}`);
    const { spec } = (await create(given)) as unknown as { spec: JsonObject };
    for (const name of odd) {
      expect(Object.hasOwn(spec, name) && spec[name], name).toBe(name === 'toString' ? 'given' : name);
      expect(Object.hasOwn(spec.map as JsonObject, name), name).toBe(true);
    }
    await expect(
      define({ type: 'object', properties: {}, 'x-kubernetes-validations': [{ rule: 'has(self.constructor)' }] }),
    ).rejects.toThrow();
  });
});
