/** An integer of 64 bits goes through the server as it is, whatever the format, the verb and the kind. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/api/index.ts';
import { jsonText } from '../../../src/api/json-text.ts';
import { parseJson } from '../../../src/server/codec/json/json-reader.ts';
import { readEnvelope, readKind } from '../../../src/server/codec/protobuf/protobuf-reader.ts';
import { encodeProtobuf } from '../../../src/server/codec/protobuf/protobuf-writer.ts';
import { type Answer, type Ask, startTestServer, type TestServer } from '../../../src/testing/index.ts';

const PODS = '/api/v1/namespaces/default/pods';
const THINGS = '/apis/ex.io/v1/namespaces/default/things';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const EXACT = 9007199254740993n;
const LARGEST = 9223372036854775807n;
const SMALLEST = -9223372036854775808n;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await installThings();
});
afterAll(() => server[Symbol.asyncDispose]());

type Sent = { readonly type?: string; readonly query?: Ask['query']; readonly accept?: string };

async function ask(method: string, path: string, body?: object | string | Buffer, sent: Sent = {}): Promise<Answer> {
  const { type = 'application/json', query, accept } = sent;
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  return server.client.ask(method, path, {
    headers: { ...(body !== undefined && { 'content-type': type }), ...(accept !== undefined && { accept }) },
    ...(body !== undefined && { body: isText ? body : jsonText(body) }),
    ...(query && { query }),
  });
}

async function object(method: string, path: string, body?: object | string | Buffer, sent: Sent = {}) {
  const answer = await ask(method, path, body, sent);
  expect(answer.body.toString(), `${method} ${path}`).toMatch(answer.status < 300 ? /./ : /^$/);
  return parseJson(answer.body.toString()) as JsonObject & { metadata: { resourceVersion: string } };
}

const podOf = (name: string, terminationGracePeriodSeconds: number | bigint) => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds },
});
const withGrace = (value: bigint) => ({ spec: { terminationGracePeriodSeconds: value } });

describe('an int64 of a built-in kind', () => {
  it('is created, read, listed and watched as it was sent', async () => {
    await using watch = await server.client.watch(PODS, { fieldSelector: 'metadata.name=read' });
    expect(await object('POST', PODS, podOf('read', EXACT))).toMatchObject(withGrace(EXACT));
    expect(await object('GET', `${PODS}/read`)).toMatchObject(withGrace(EXACT));
    const { items } = (await object('GET', PODS)) as unknown as { items: JsonObject[] };
    expect(items.find((item) => (item.metadata as JsonObject).name === 'read')).toMatchObject(withGrace(EXACT));
    let seen = '';
    for await (const chunk of watch.body) {
      seen += String(chunk);
      if (seen.includes('\n')) break;
    }
    expect(seen).toContain(`"terminationGracePeriodSeconds":${EXACT}`);
    const pretty = await ask('GET', `${PODS}/read`, undefined, { query: { pretty: true } });
    expect(pretty.body.toString()).toContain(`"terminationGracePeriodSeconds": ${EXACT}`);
  });

  it('survives an update of something else, and every kind of patch', async () => {
    const created = await object('POST', PODS, podOf('patched', LARGEST));
    const path = `${PODS}/patched`;
    const labelled = (x: string) => ({
      ...created,
      metadata: { ...created.metadata, resourceVersion: '', labels: { x } },
    });
    expect(await object('PUT', path, labelled('put'))).toMatchObject(withGrace(LARGEST));
    const patches: [type: string, body: object][] = [
      ['merge-patch', { metadata: { labels: { x: 'merge' } } }],
      ['strategic-merge-patch', { metadata: { labels: { x: 'strategic' } } }],
      [
        'json-patch',
        [
          { op: 'test', path: '/spec/terminationGracePeriodSeconds', value: LARGEST },
          { op: 'replace', path: '/metadata/labels/x', value: 'json' },
        ],
      ],
    ];
    for (const [name, body] of patches)
      expect(await object('PATCH', path, body, { type: `application/${name}+json` })).toMatchObject(withGrace(LARGEST));
    const same = { spec: { terminationGracePeriodSeconds: LARGEST } };
    const before = (await object('GET', path)).metadata.resourceVersion;
    const after = await object('PATCH', path, same, { type: 'application/merge-patch+json' });
    expect(after.metadata.resourceVersion).toBe(before); // nothing changed
  });

  it('is applied, owned and applied again', async () => {
    const sent = { type: 'application/apply-patch+yaml', query: { fieldManager: 'me' } };
    const path = `${PODS}/applied`;
    const first = await object('PATCH', path, podOf('applied', EXACT), sent);
    expect(first).toMatchObject(withGrace(EXACT));
    expect((await object('PATCH', path, podOf('applied', EXACT), sent)).metadata.resourceVersion).toBe(
      first.metadata.resourceVersion,
    );
    const yaml = `apiVersion: v1\nkind: Pod\nmetadata: {name: applied, labels: {a: b}}\nspec:\n  containers: [{name: c, image: i}]\n  terminationGracePeriodSeconds: ${EXACT}\n`;
    expect(await object('PATCH', path, yaml, sent)).toMatchObject({
      metadata: { labels: { a: 'b' } },
      ...withGrace(EXACT),
    });
  });

  it('is read from YAML and protobuf, and written so', async () => {
    const yaml = `metadata:\n  name: yaml\nspec:\n  containers: [{name: c, image: i}]\n  terminationGracePeriodSeconds: ${EXACT}\n`;
    expect(await object('POST', PODS, yaml, { type: 'application/yaml' })).toMatchObject(withGrace(EXACT));
    const back = await ask('GET', `${PODS}/yaml`, undefined, { accept: 'application/yaml' });
    expect(back.body.toString()).toContain(`terminationGracePeriodSeconds: ${EXACT}\n`);

    const revision = { kind: 'ControllerRevision', apiVersion: 'apps/v1', metadata: { name: 'r' }, revision: LARGEST };
    const path = '/apis/apps/v1/namespaces/default/controllerrevisions';
    const data = { large: LARGEST, list: [SMALLEST] };
    const bytes = encodeProtobuf({ ...revision, data } as unknown as JsonObject);
    const read = (body: Buffer) => readKind(readEnvelope(body).raw, 'apps/v1', 'ControllerRevision');
    const kept = await ask('POST', path, bytes, { type: PROTOBUF, accept: PROTOBUF });
    expect(read(kept.body)).toMatchObject({ revision: LARGEST, data });
    expect(await object('GET', `${path}/r`)).toMatchObject({ revision: LARGEST, data });
    const list = await ask('GET', path, undefined, { accept: PROTOBUF });
    expect(list.status).toBe(200);
  });

  it('is refused where it does not fit, with the number that was sent', async () => {
    const refusal = async (value: string) => {
      const body = jsonText(podOf('x', 1)).replace(
        '"terminationGracePeriodSeconds":1',
        `"terminationGracePeriodSeconds":${value}`,
      );
      const { status, body: answer } = await ask('POST', PODS, body);
      return [status, (JSON.parse(answer.toString()) as { message: string }).message];
    };
    const type = 'into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64';
    expect(await refusal('9223372036854775808')).toEqual([
      400,
      `Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 9223372036854775808 ${type}`,
    ]);
    expect((await refusal('1e18'))[0]).toBe(400);
    expect((await refusal('1.5'))[0]).toBe(400);
    const late = jsonText({
      ...podOf('u', 1),
      spec: { ...podOf('u', 1).spec, activeDeadlineSeconds: EXACT },
    });
    const { status, body } = await ask('POST', PODS, late);
    expect([status, body.toString()]).toEqual([
      422,
      expect.stringContaining(`Invalid value: ${EXACT}: must be between 1 and 2147483647`),
    ]);
  });

  it('may be how long a deletion is to take', async () => {
    await object('POST', PODS, { ...podOf('going', 30), spec: { ...podOf('going', 30).spec, nodeName: 'n' } });
    const answer = await ask('DELETE', `${PODS}/going`, { gracePeriodSeconds: EXACT });
    expect(parseJson(answer.body.toString())).toMatchObject({ metadata: { deletionGracePeriodSeconds: EXACT } });
    await ask('DELETE', `${PODS}/going`, { gracePeriodSeconds: 0 });
  });
});

describe('an integer of a custom kind', () => {
  const sent = { type: 'application/apply-patch+yaml', query: { fieldManager: 'me' } };
  const thing = (name: string, spec: object) => ({ kind: 'Thing', apiVersion: 'ex.io/v1', metadata: { name }, spec });

  it('is kept exactly, in a declared field, in a free one and as a default', async () => {
    const spec = {
      exact: LARGEST,
      free: { deep: [SMALLEST, EXACT] },
      set: [EXACT, EXACT + 2n],
      list: [{ id: EXACT, v: 'a' }],
    };
    const created = await object('POST', THINGS, thing('a', spec));
    expect(created).toMatchObject({ spec: { ...spec, preset: EXACT } });
    expect(await object('GET', `${THINGS}/a`)).toEqual(created);
    expect(
      await object(
        'PATCH',
        `${THINGS}/a`,
        { spec: { free: { more: LARGEST } } },
        { type: 'application/merge-patch+json' },
      ),
    ).toMatchObject({
      spec: { free: { deep: [SMALLEST, EXACT], more: LARGEST } },
    });
    const applied = await object('PATCH', `${THINGS}/b`, thing('b', spec), sent);
    expect(applied).toMatchObject({ spec });
    const list = [{ id: EXACT, v: 'b' }];
    expect(await object('PATCH', `${THINGS}/b`, thing('b', { ...spec, list }), sent)).toMatchObject({ spec: { list } });
    expect(jsonText(applied)).toContain(`"k:{\\"id\\":${EXACT}}"`);
    expect(jsonText(applied)).toContain(`"v:${EXACT}"`);
  });

  it('is a number to its schema and its rules', async () => {
    const refusal = async (spec: object) => {
      const { status, body } = await ask('POST', THINGS, thing('bad', spec));
      return [status, body.toString()];
    };
    expect(await refusal({ small: EXACT })).toEqual([422, expect.stringContaining('integer with format int32')]);
    expect(await refusal({ even: EXACT })).toEqual([422, expect.stringContaining('a multiple of 2')]);
    expect(await refusal({ most: EXACT })).toEqual([422, expect.stringContaining(`Invalid value: ${EXACT}`)]);
    expect(await refusal({ ruled: EXACT })).toEqual([422, expect.stringContaining('too large')]);
    expect(await refusal({ text: EXACT })).toEqual([
      422,
      expect.stringContaining('must be of type string: \\"integer\\"'),
    ]);
    expect((await ask('POST', THINGS, thing('good', { even: EXACT - 1n, ruled: EXACT - 1n }))).status).toBe(201);
  });

  it('is shown in tables, and found by selectors and in OpenAPI', async () => {
    await object('POST', THINGS, thing('shown', { exact: LARGEST }));
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const table = parseJson((await ask('GET', `${THINGS}/shown`, undefined, { accept })).body.toString());
    expect(table).toMatchObject({ rows: [{ cells: ['shown', LARGEST, String(LARGEST)] }] });
    const query = { fieldSelector: `spec.exact=${LARGEST},metadata.name=shown` };
    expect(((await object('GET', THINGS, undefined, { query })) as unknown as { items: [] }).items).toHaveLength(1);
    expect((await ask('GET', '/openapi/v2')).status).toBe(200);
    const document = await ask('GET', '/openapi/v3/apis/ex.io/v1');
    expect(document.body.toString()).toContain(`"default":${EXACT}`);
  });
});

async function installThings(): Promise<void> {
  const int64 = { type: 'integer', format: 'int64' };
  const spec = {
    type: 'object',
    properties: {
      exact: int64,
      preset: { ...int64, default: EXACT },
      small: { type: 'integer', format: 'int32' },
      even: { ...int64, multipleOf: 2 },
      most: { ...int64, maximum: 9007199254740992 },
      ruled: { ...int64, 'x-kubernetes-validations': [{ rule: 'self < 9007199254740993', message: 'too large' }] },
      text: { type: 'string' },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      set: { type: 'array', items: int64, 'x-kubernetes-list-type': 'set' },
      list: {
        type: 'array',
        items: { type: 'object', required: ['id'], properties: { id: int64, v: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
      },
    },
  };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
    selectableFields: [{ jsonPath: '.spec.exact' }],
    additionalPrinterColumns: [
      { name: 'Exact', type: 'integer', jsonPath: '.spec.exact' },
      { name: 'Text', type: 'string', jsonPath: '.spec.exact' },
    ],
  };
  const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' };
  const definition = {
    metadata: { name: 'things.ex.io' },
    spec: { group: 'ex.io', scope: 'Namespaced', names, versions: [version] },
  };
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  await using watch = await server.client.watch(path, { fieldSelector: 'metadata.name=things.ex.io' });
  const answer = await ask('POST', path, definition);
  expect(answer.status, answer.body.toString()).toBe(201);
  await watch.until(
    ({ object: one }) =>
      JSON.stringify(one.status ?? {}).includes('"type":"Established","status":"True"') ||
      /"status":"True"[^}]*"type":"Established"/.test(JSON.stringify(one.status ?? {})),
  );
}
