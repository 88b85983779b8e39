/** Answers in protobuf over real sockets: the same objects as in JSON, for every verb; who gets them and who does not. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, KubeObject } from '../../../src/api/index.ts';
import { decodeBody } from '../../../src/server/codec/index.ts';
import { encodeProtobuf } from '../../../src/server/codec/protobuf/protobuf-writer.ts';
import { builtInResources } from '../../../src/server/registry/built-in-resources.ts';
import { type Answer, type Ask, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { Kubectl, kubectls } from '../cli/kubectl.ts';
import { PROTOBUF, type ProtobufEvent, readAnswer, readFrames } from './protobuf-reading.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';
const SERVICES = '/api/v1/namespaces/default/services';
const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const LAMPS = '/apis/example.com/v1/namespaces/default/lamps';
const accept = { accept: PROTOBUF };
const partial = `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
const partialList = `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`;
const table = ';as=Table;g=meta.k8s.io;v=v1';

const pod = (name: string) => ({
  metadata: { name, labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 0,
    volumes: [{ name: 'data', emptyDir: { sizeLimit: '1Gi' } }],
    containers: [
      {
        name: 'c',
        image: 'example.com/c:1',
        env: [{ name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } }],
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: '500m', memory: '64Mi' } },
        livenessProbe: { httpGet: { path: '/', port: 'http' }, initialDelaySeconds: 3 },
        readinessProbe: { tcpSocket: { port: 80 } },
        securityContext: { privileged: false, runAsUser: 0 },
      },
    ],
  },
});

const lampDefinition = {
  metadata: { name: 'lamps.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'lamps', kind: 'Lamp' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  colour: { type: 'string', enum: ['red', 'green'], default: 'red' },
                  watts: { type: 'number', minimum: 0.5 },
                  names: { type: 'object', additionalProperties: { type: 'string' } },
                },
              },
            },
          },
        },
      },
    ],
  },
};

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.client.create(DEFINITIONS, lampDefinition);
  await server.client.create(PODS, pod('p'));
  await server.client.create(SERVICES, {
    metadata: { name: 's' },
    spec: { selector: { app: 'p' }, ports: [{ port: 80, targetPort: 'http' }] },
  });
  for (;;) {
    const made = await server.client.ask('POST', LAMPS, { body: lamp('a') });
    if (made.status === 201) break;
    expect(made.status).toBe(404); // not yet served
  }
});
afterAll(() => server?.[Symbol.asyncDispose]());

const lamp = (name: string) => ({ kind: 'Lamp', apiVersion: 'example.com/v1', metadata: { name }, spec: {} });
const inProtobuf = (method: string, path: string, ask: Ask = {}): Promise<Answer> =>
  server.client.ask(method, path, { ...ask, headers: { ...accept, ...ask.headers } });
const inJson = async (path: string): Promise<JsonObject> => (await server.client.get(path)) as unknown as JsonObject;

/** Through the reader of bodies, which adds what Go writes in JSON of values it holds by value. */
function decoded(answer: Answer, plural: string): JsonObject {
  expect(answer.headers['content-type']).toBe(PROTOBUF);
  const resource = builtInResources().find((one) => one.plural === plural)!;
  return decodeBody({ contentType: PROTOBUF, bytes: answer.body, resource }).object;
}

describe('in protobuf', () => {
  it('every verb answers with the object that JSON shows', async () => {
    const created = await inProtobuf('POST', PODS, { body: pod('verbs') });
    expect(created.status).toBe(201);
    const path = `${PODS}/verbs`;
    const json = await inJson(path);
    expect(decoded(created, 'pods')).toEqual(json);
    expect(json.metadata).toHaveProperty('managedFields');
    expect(decoded(await inProtobuf('GET', path), 'pods')).toEqual(json);

    const changed = { ...json, metadata: { ...(json.metadata as JsonObject), labels: { app: 'changed' } } };
    const updated = await inProtobuf('PUT', path, {
      body: encodeProtobuf(changed),
      headers: { 'content-type': PROTOBUF },
    });
    expect([updated.status, decoded(updated, 'pods')]).toEqual([200, await inJson(path)]);
    expect((decoded(updated, 'pods') as unknown as KubeObject).metadata.labels).toEqual({ app: 'changed' });

    const patched = await inProtobuf('PATCH', path, {
      body: { metadata: { labels: { more: 'yes' } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    expect(decoded(patched, 'pods')).toEqual(await inJson(path));
    const deleted = await inProtobuf('DELETE', path);
    expect(decoded(deleted, 'pods')).toMatchObject({ metadata: { name: 'verbs' } });
  });

  it.each(
    builtInResources()
      .filter(({ verbs }) => verbs.includes('list'))
      .map(({ group, groupVersion, plural, listKind }) => [
        group === '' ? 'api' : 'apis',
        groupVersion,
        plural,
        listKind,
      ]),
  )('/%s/%s/%s is the list that JSON shows', async (root, groupVersion, plural, listKind) => {
    const path = `/${root}/${groupVersion}/${plural}`;
    const resource = builtInResources().find((one) => one.groupVersion === groupVersion && one.plural === plural)!;
    const json = (await inJson(path)) as unknown as { items: JsonObject[] };
    const list = readAnswer(await inProtobuf('GET', path)) as unknown as { kind: string; items: JsonObject[] };
    expect(list.kind).toBe(listKind);
    const read = (item: JsonObject) =>
      decodeBody({ contentType: 'application/json', bytes: Buffer.from(JSON.stringify(item)), resource }).object;
    expect(list.items.map(read)).toEqual(json.items.map(read));
  });

  it('a list comes in pages, with what is left', async () => {
    for (const name of ['page-1', 'page-2', 'page-3'])
      await server.client.create(CONFIG_MAPS, { metadata: { name, labels: { pages: 'yes' } }, data: { k: name } });
    const query = { limit: 2, labelSelector: '' };
    const first = readAnswer(await inProtobuf('GET', CONFIG_MAPS, { query })) as unknown as {
      metadata: { continue: string; remainingItemCount: number };
      items: KubeObject[];
    };
    expect([first.items.length, first.metadata.remainingItemCount]).toEqual([2, expect.any(Number)]);
    const more = { limit: 100, continue: first.metadata.continue };
    const rest = readAnswer(await inProtobuf('GET', CONFIG_MAPS, { query: more })) as unknown as typeof first;
    expect(rest.items.length).toBe(first.metadata.remainingItemCount);
  });

  it('reviews, scales and orders are answered too', async () => {
    const spec = { resourceAttributes: { verb: 'get', resource: 'pods' } };
    const reviews = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const review = readAnswer(await inProtobuf('POST', reviews, { body: { spec } }));
    expect(review).toMatchObject({ kind: 'SelfSubjectAccessReview', spec, status: { allowed: true } });

    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await server.client.create(REPLICA_SETS, {
      metadata: { name: 'web' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template },
    });
    const scale = await inProtobuf('GET', `${REPLICA_SETS}/web/scale`);
    expect(readAnswer(scale)).toMatchObject({ kind: 'Scale', spec: { replicas: 2 } });

    await server.client.create(PODS, pod('to-bind'));
    const body = { target: { kind: 'Node', name: 'n1' } };
    const bound = await inProtobuf('POST', `${PODS}/to-bind/binding`, {
      body: { metadata: { name: 'to-bind' }, ...body },
    });
    expect([bound.status, readAnswer(bound)]).toEqual([
      201,
      expect.objectContaining({ kind: 'Status', status: 'Success' }),
    ]);
  });

  it('refusals are Statuses with all their details', async () => {
    const missing = await inProtobuf('GET', `${CONFIG_MAPS}/none`);
    expect([missing.status, readAnswer(missing)]).toEqual([
      404,
      {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        message: 'configmaps "none" not found',
        reason: 'NotFound',
        details: { name: 'none', kind: 'configmaps' },
        code: 404,
      },
    ]);
    const invalid = await inProtobuf('POST', PODS, { body: { metadata: { name: 'No' }, spec: { containers: [] } } });
    const { details } = readAnswer(invalid) as { details: { causes: { field: string }[] } };
    expect([invalid.status, details.causes.map(({ field }) => field)]).toEqual([
      422,
      expect.arrayContaining(['metadata.name', 'spec.containers']),
    ]);
    const unreadable = await inProtobuf('POST', PODS, { body: 'k8s', headers: { 'content-type': PROTOBUF } });
    expect([unreadable.status, readAnswer(unreadable).reason]).toEqual([400, 'BadRequest']);
    const nobody = await server.connect({ token: 'wrong' }).ask('GET', PODS, { headers: accept });
    expect([nobody.status, readAnswer(nobody).reason]).toEqual([401, 'Unauthorized']);
  });
});

describe('who asks for', () => {
  it.each<[accept: string, path: string, status: number, contentType: string]>([
    [`${PROTOBUF},application/json`, `${PODS}/p`, 200, PROTOBUF],
    [`application/json,${PROTOBUF}`, `${PODS}/p`, 200, 'application/json'],
    [`application/json;q=0.5,${PROTOBUF}`, `${PODS}/p`, 200, PROTOBUF],
    [`${PROTOBUF};q=0.1,application/yaml`, `${PODS}/p`, 200, 'application/yaml'],
    [`${PROTOBUF};stream=watch`, PODS, 200, PROTOBUF],
    [`${PROTOBUF},application/json`, `${PODS}/none`, 404, PROTOBUF],
    [`text/html,${PROTOBUF}`, `${PODS}/none`, 404, PROTOBUF],
    // Tables have no protobuf.
    [`${PROTOBUF}${table},application/json${table}`, PODS, 200, 'application/json'],
    [`${PROTOBUF}${table}`, PODS, 406, 'application/json'],
    // Custom objects have none either, but their metadata and what is said of them have.
    [`${PROTOBUF},application/json`, `${LAMPS}/a`, 200, 'application/json'],
    [`${PROTOBUF},application/json`, LAMPS, 200, 'application/json'],
    [PROTOBUF, `${LAMPS}/a`, 406, PROTOBUF],
    [PROTOBUF, LAMPS, 406, PROTOBUF],
    [partial, `${LAMPS}/a`, 200, PROTOBUF],
    [`${partialList},application/json`, LAMPS, 200, PROTOBUF],
    [`${PROTOBUF},application/json`, `${LAMPS}/none`, 404, PROTOBUF],
    [`${partial},application/json`, `${LAMPS}/none`, 404, 'application/json'],
    ['application/*', `${LAMPS}/a`, 200, 'application/json'],
  ])('%s of %s gets %i in %s', async (wanted, path, status, contentType) => {
    const answer = await server.client.ask('GET', path, { headers: { accept: wanted } });
    expect([answer.status, answer.headers['content-type']]).toEqual([status, contentType]);
  });

  it('metadata only gets it, of built-in and custom objects', async () => {
    const { metadata } = await server.client.get(`${PODS}/p`);
    const one = await inProtobuf('GET', `${PODS}/p`, { headers: { accept: partial } });
    expect(readAnswer(one)).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
    const lamps = await server.client.list(LAMPS);
    const all = readAnswer(await inProtobuf('GET', LAMPS, { headers: { accept: partialList } }));
    expect(all).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: lamps.metadata.resourceVersion },
      items: lamps.items.map((item) => ({ metadata: item.metadata })),
    });
  });
});

describe.each(['http1', 'http2'] as const)('a watch in protobuf over %s', (protocol) => {
  const openFrames = async (path: string, query: Record<string, string>, headers: Record<string, string> = accept) => {
    const stream = await server.connect({ protocol }).watch(path, query, { headers });
    const frames = readFrames(stream.body);
    const take = async (count: number): Promise<ProtobufEvent[]> => {
      const events: ProtobufEvent[] = [];
      while (events.length < count) {
        const { value, done } = await frames.next();
        if (done) throw new Error(`Cannot take ${count} events: the watch ended after ${events.length}`);
        events.push(value);
      }
      return events;
    };
    return { take, frames, [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose]() };
  };

  it('tells what one in JSON tells, from the initial state to a deletion', async () => {
    const name = `watched-${protocol}`;
    const query = {
      fieldSelector: `metadata.name=${name}`,
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    };
    await server.client.create(CONFIG_MAPS, { metadata: { name }, data: { text: 'é'.repeat(40_000) } });
    await using inFrames = await openFrames(CONFIG_MAPS, query, { accept: `${PROTOBUF},application/json` });
    await using asLines = await server.client.watch(CONFIG_MAPS, query);
    const before = await inFrames.take(2);
    expect(before.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
    await server.client.patch(`${CONFIG_MAPS}/${name}`, { data: { text: 'short' } });
    await server.client.delete(`${CONFIG_MAPS}/${name}`);
    const events = [...before, ...(await inFrames.take(2))];
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK', 'MODIFIED', 'DELETED']);
    const [added, bookmark, ...changes] = await asLines.take(4);
    const withoutVersion = (event: ProtobufEvent) => JSON.stringify(event).replace(/"resourceVersion":"\d+"/, '');
    expect(events.filter((_, i) => i !== 1)).toEqual([added, ...changes]);
    // Each watch has its own place at which the initial state ends.
    expect(withoutVersion(events[1]!)).toBe(withoutVersion(bookmark as unknown as ProtobufEvent));
  });

  it('of custom metadata is in protobuf, of custom objects in JSON', async () => {
    await using metadata = await openFrames(LAMPS, { resourceVersion: '0' }, { accept: partial });
    const [event] = await metadata.take(1);
    expect(event).toMatchObject({ type: 'ADDED', object: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } } });
    const headers = { accept: `${PROTOBUF},application/json` };
    await using objects = await server.connect({ protocol }).watch(LAMPS, { resourceVersion: '0' }, { headers });
    expect((await objects.take(1))[0]!.object.kind).toBe('Lamp');
  });

  it('from a version that is to come ends with an error event', async () => {
    const query = { resourceVersion: '999999999', sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
    await using watch = await openFrames(CONFIG_MAPS, { ...query, timeoutSeconds: '5' });
    const [event] = await watch.take(1);
    expect(event).toMatchObject({ type: 'ERROR', object: { kind: 'Status', reason: 'Timeout', code: 504 } });
    expect((await watch.frames.next()).done).toBe(true);
  });

  it('is called what it is', async () => {
    const ask = { query: { watch: 1, timeoutSeconds: 1 }, headers: accept };
    const { status, headers } = await server.connect({ protocol }).ask('GET', CONFIG_MAPS, ask);
    expect([status, headers['content-type']]).toEqual([200, `${PROTOBUF};stream=watch`]);
  });
});

describe.each(kubectls().filter(({ version }) => Number(version.slice(2)) >= 32))(
  'kubectl $version',
  ({ path, version }) => {
    it('describes what Go has decoded from our bytes', async () => {
      const home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
      try {
        const kubectl = new Kubectl(path, server.kubeconfigPath, home);
        const said = await kubectl.try(['describe', 'pod', 'p', '-v=9']);
        expect(said.err).toContain(PROTOBUF);
        expect(said.out).toMatch(/Limits:\s+cpu:\s+500m\s+memory:\s+64Mi/);
        expect(said.out).toMatch(/Liveness:\s+http-get http:\/\/:http\/ delay=3s/);
        expect(said.out).toMatch(/SizeLimit:\s+1Gi/);
        expect(await kubectl.run('describe', 'clusterrole', 'cluster-admin')).toMatch(/\*\.\*\s+\[\]\s+\[\]\s+\[\*\]/);
        expect(await kubectl.run('describe', 'service', 's')).toMatch(/TargetPort:\s+http\/TCP/);
        expect(await kubectl.run('auth', 'can-i', 'create', 'pods')).toBe('yes\n');
        expect(
          await kubectl.run('create', 'configmap', `by-kubectl-${version}`, '--from-literal=k=v', '-o', 'yaml'),
        ).toContain('k: v');
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    });
  },
);
