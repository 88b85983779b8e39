/** What no API server should send, and what one may send though nobody expects it: an informer goes on after it. */
import { expect, it } from 'vitest';
import { Informer } from '../../src/client/advanced.ts';
import type { InformerOptions } from '../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../src/client/objects/generated/core-v1.ts';
import {
  answer,
  type Exchange,
  type ScriptedServer,
  scriptedServer,
} from '../support/client/client-scripted-server.ts';
import { until } from '../support/client/client-under-test.ts';

const object = (name: string) => ({
  ...{ kind: 'ConfigMap', apiVersion: 'v1' },
  metadata: { name, namespace: 'default', uid: name, resourceVersion: '7' },
});
const list = (items: object[] | null) => ({
  ...{ kind: 'ConfigMapList', apiVersion: 'v1', items },
  metadata: { resourceVersion: '9' },
});
const line = (type: string, what: object) => `${JSON.stringify({ type, object: what })}\n`;
const endMark = line('BOOKMARK', {
  metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } },
});

function start(server: ScriptedServer, options: InformerOptions<ConfigMap> = {}): Informer<ConfigMap> {
  const reflector = { backoff: { minMs: 1, maxMs: 5 }, ...options.reflector };
  return new Informer({ transport: server.transport() }, configMaps, { ...options, reflector });
}

function begin({ response }: Exchange, ...lines: string[]): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  for (const text of lines) response.write(text);
}

const paged = { reflector: { useWatchList: false } };

it('a page of HTML where a list belongs is a failure that is tried again', async () => {
  await using server = await scriptedServer();
  await using informer = start(server, paged);
  answer(await server.next(), 200, '<html>down for maintenance</html>', { 'content-type': 'text/html' });
  answer(await server.next(), 200, { ...list([]), items: [{ kind: 'ConfigMap' }] });
  answer(await server.next(), 200, list([object('a')]));
  await informer.synced();
  expect(informer.list().map(({ metadata }) => metadata.name)).toEqual(['a']);
  expect(informer.metrics.failures).toBe(2);
});

it('a list without items is empty', async () => {
  await using server = await scriptedServer();
  await using informer = start(server, paged);
  answer(await server.next(), 200, list(null));
  await informer.synced();
  expect(informer.size).toBe(0);
});

it('an event without a version ends its stream, and the next goes on where it was', async () => {
  await using server = await scriptedServer();
  await using informer = start(server);
  begin(await server.next(), endMark, line('ADDED', {}));
  for (const odd of [line('BOOKMARK', {}), line('MODIFIED', { metadata: null }), line('ADDED', { metadata: {} })]) {
    const next = await server.next();
    expect(next.request.url).toContain('resourceVersion=9&');
    begin(next, odd);
  }
  begin(await server.next(), line('ADDED', object('a')));
  await until(() => informer.size === 1);
  expect(informer.metrics.failures).toBe(4);
});

it('an object that is nested deeper than the stack is kept, and frozen', async () => {
  await using server = await scriptedServer();
  await using informer = start(server, { freeze: true });
  const depth = 9000; // API servers take up to 10 000
  const data = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  const text = line('ADDED', { ...object('deep'), data: 'here' }).replace('"here"', data);
  begin(await server.next(), text, endMark);
  await informer.synced();
  let inner = informer.get('default/deep')!.data as { a?: object };
  for (let level = 1; level < depth; level++) inner = inner.a!;
  expect(inner).toEqual({ a: 1 });
  expect(Object.isFrozen(inner)).toBe(true);
});

it('an index function that gives no list leaves its object out, and is told', async () => {
  await using server = await scriptedServer();
  const errors: unknown[] = [];
  const byName = (({ metadata }: ConfigMap) => (metadata.name === 'a' ? undefined : [metadata.name])) as () => string[];
  await using informer = start(server, { indexers: { byName }, onError: (error) => void errors.push(error) });
  begin(await server.next(), line('ADDED', object('a')), line('ADDED', object('b')), endMark);
  await informer.synced();
  expect(informer.valuesOf('byName')).toEqual(['b']);
  expect(informer.size).toBe(2);
  const message = 'Cannot ask "index byName" of the informer about "default/a": it gave no list';
  expect(errors.map(String)).toEqual([`CallbackError: ${message}`]);
});
