/** Bodies that are made to come back many times over, or to unfold: the answer is short, and the server goes on. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, startTestServer, type TestServer } from '../../../src/testing/index.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const LIMIT_BYTES = 1024 * 1024;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

type Sent = { readonly type?: string; readonly query?: Record<string, string> };

async function send(method: string, path: string, body: object | string, sent: Sent = {}): Promise<Answer> {
  const { type = 'application/json', query = {} } = sent;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await server.client.ask(method, path, { body: text, headers: { 'content-type': type }, query });
  expect(answer.body.length).toBeLessThan(LIMIT_BYTES);
  expect((await server.client.ask('GET', '/livez')).status).toBe(200);
  return answer;
}

const messageOf = ({ body }: Answer) => (JSON.parse(body.toString()) as { message: string }).message;
const many = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index));

it('thousands of owners that all control are told of in short', async () => {
  const ownerReferences = many(3_000, (i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'p',
    uid: `u${i}`,
    controller: true,
  }));
  const answer = await send('POST', CONFIG_MAPS, { metadata: { name: 'a', ownerReferences } });
  expect([answer.status, messageOf(answer)]).toEqual([
    422,
    expect.stringContaining('Only one reference can have Controller set to true'),
  ]);
});

it('owners named again and again are one, and the client is told once', async () => {
  const ownerReferences = many(10_000, (i) => ({ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: `u${i % 100}` }));
  const { status, headers, body } = await send('POST', CONFIG_MAPS, { metadata: { name: 'owned', ownerReferences } });
  const { metadata } = JSON.parse(body.toString()) as { metadata: { ownerReferences: unknown[] } };
  expect([status, metadata.ownerReferences.length]).toEqual([201, 100]);
  expect(String(headers.warning)).toContain('duplicate UID(s) observed: u0, u1, u2,');
});

it('a manager of characters nobody can read is refused in short', async () => {
  const entry = { operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} };
  const managedFields = [{ ...entry, manager: '\u0001'.repeat(50_000) }];
  await server.client.create(CONFIG_MAPS, { metadata: { name: 'managed' } });
  const answer = await send('PUT', `${CONFIG_MAPS}/managed`, { metadata: { name: 'managed', managedFields } });
  expect([answer.status, messageOf(answer)]).toEqual([
    422,
    expect.stringContaining('invalid character U+0001 (at position 0)'),
  ]);
});

it.each(['Strict', 'Warn'])(
  'fields that occur again below a long key are told of in short (%s)',
  async (fieldValidation) => {
    const pairs = many(200, (i) => `"a${i}":"1","a${i}":"2"`).join(',');
    const body = `{"metadata":{"name":"again-${fieldValidation.toLowerCase()}"},"${'k'.repeat(700_000)}":{${pairs}}}`;
    const answer = await send('POST', CONFIG_MAPS, body, { query: { fieldValidation } });
    expect(answer.status).toBe(fieldValidation === 'Strict' ? 400 : 201);
    expect(JSON.stringify(answer.headers).length).toBeLessThan(16 * 1024);
  },
);

it('of many YAML documents the first counts', async () => {
  const body = `metadata: {name: documents}\n${'---\n'.repeat(300_000)}`;
  const answer = await send('POST', CONFIG_MAPS, body, { type: 'application/yaml' });
  expect([answer.status, answer.body.toString()]).toEqual([201, expect.stringContaining('"name":"documents"')]);
});

it('a YAML body tells of keys that occur again between blanks', async () => {
  const blanks = ' '.repeat(1_000);
  const body = `metadata:\n  name: blanks\ndata:\n${blanks}? k\n${blanks}: a\n${blanks}? k${blanks}\n${blanks}: b\n`;
  const { status, headers } = await send('POST', CONFIG_MAPS, body, { type: 'application/yaml' });
  expect([status, String(headers.warning)]).toEqual([
    201,
    expect.stringContaining('line 7: key \\"k\\" already set in map'),
  ]);
});

it('aliases that unfold to a gigabyte are refused', async () => {
  const body = `metadata: {name: aliases}\na: &a ${'x'.repeat(1_000_000)}\ndata: {${many(1_000, (i) => `k${i}: *a`).join(', ')}}\n`;
  const answer = await send('POST', CONFIG_MAPS, body, { type: 'application/yaml' });
  expect([answer.status, messageOf(answer)]).toEqual([
    400,
    expect.stringContaining('document contains excessive aliasing'),
  ]);
});

it('a JSON patch that copies without end is refused', async () => {
  await server.client.create(CONFIG_MAPS, { metadata: { name: 'copied' }, data: { a: 'x'.repeat(1_000_000) } });
  const patch = many(1_000, (i) => ({ op: 'copy', from: '/data/a', path: `/data/b${i}` }));
  const answer = await send('PATCH', `${CONFIG_MAPS}/copied`, patch, { type: 'application/json-patch+json' });
  expect([answer.status, messageOf(answer)]).toEqual([
    422,
    'the server rejected our request due to an error in our request',
  ]);
});

it('a patch that is refused shows the beginning of what it made', async () => {
  await server.client.create(CONFIG_MAPS, { metadata: { name: 'shown' }, data: { a: '"'.repeat(600_000) } });
  const answer = await send(
    'PATCH',
    `${CONFIG_MAPS}/shown`,
    { data: { b: 1 } },
    { type: 'application/merge-patch+json' },
  );
  expect([answer.status, messageOf(answer)]).toEqual([
    422,
    expect.stringMatching(/^ "" is invalid: patch: Invalid value: .*json: cannot unmarshal number/),
  ]);
});

it('an apply with tens of thousands of conflicts is told how many', async () => {
  const data = (value: string) => Object.fromEntries(many(30_000, (i) => [`k${i}`, value]));
  const apply = (fieldManager: string, value: string) =>
    send(
      'PATCH',
      `${CONFIG_MAPS}/conflicts`,
      { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'conflicts' }, data: data(value) },
      { type: 'application/apply-patch+yaml', query: { fieldManager } },
    );
  const sent = { type: 'application/apply-patch+yaml', query: { fieldManager: 'first' } };
  const first = await server.client.ask('PATCH', `${CONFIG_MAPS}/conflicts`, {
    body: JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'conflicts' }, data: data('a') }),
    headers: { 'content-type': sent.type },
    query: sent.query,
  });
  expect(first.status).toBe(201);
  const answer = await apply('second', 'b');
  expect([answer.status, messageOf(answer)]).toEqual([
    409,
    expect.stringMatching(/^Apply failed with 30000 conflicts: /),
  ]);
});

it('a list of errors longer than the stack is deep is an answer, and no failure', async () => {
  const body = `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"b","env":[${'{},'.repeat(250_000)}{}]}]}}`;
  const answer = await send('POST', '/api/v1/namespaces/default/pods', body);
  expect([answer.status, messageOf(answer)]).toEqual([
    422,
    expect.stringContaining('spec.containers[0].env[0].name: Required value'),
  ]);
});
