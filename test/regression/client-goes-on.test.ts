/** Where a client was blind, stopped or went round in circles although its server was there. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Informer, Reflector } from '../../src/client/advanced.ts';
import type { KubeClient } from '../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../src/client/objects/generated/core-v1.ts';
import { FakeClock, startTestServer } from '../../src/testing/index.ts';
import { answer, type Exchange, scriptedServer } from '../support/client/client-scripted-server.ts';
import { adminOf, until } from '../support/client/client-under-test.ts';
import { temporaryDir } from '../support/temporary-dir.ts';

const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
const annotations = { 'k8s.io/initial-events-end': 'true' };
const endMark = line('BOOKMARK', { metadata: { resourceVersion: '9', annotations } });
const map = (name: string, resourceVersion: number) => ({
  ...{ kind: 'ConfigMap', apiVersion: 'v1' },
  metadata: { name, namespace: 'default', uid: name, resourceVersion: `${resourceVersion}` },
});
const list = (items: object[], token = '') => ({
  ...{ kind: 'ConfigMapList', apiVersion: 'v1', items },
  metadata: { resourceVersion: '9', continue: token },
});

function begin({ response }: Exchange, ...lines: string[]): Exchange['response'] {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  for (const text of lines) response.write(text);
  return response;
}

it('streams that are reset every five seconds, but deliver, leave nobody blind for more than a tenth of the time', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  let [blindMs, version] = [0, 9];
  const stop = new AbortController();
  const reflector = new Reflector(server.transport({ clock, random: () => 0.5 }), configMaps, {
    ...{ replace() {}, remove() {}, progress() {} },
    upsert: ({ metadata }) => {
      version = Number(metadata.resourceVersion);
    },
    changed: (state) => {
      if (state.kind === 'waiting') blindMs += state.delayMs;
    },
  });
  const running = reflector.run(stop.signal).catch(() => {});
  const ROUNDS = 40;
  for (let round = 0; round < ROUNDS; round++) {
    let exchange: Exchange | undefined;
    void server.next().then((one) => {
      exchange = one;
    });
    await until(async () => {
      if (!exchange) await clock.advance(500);
      return exchange !== undefined;
    });
    const stream = begin(exchange!, ...(round === 0 ? [endMark] : []), line('MODIFIED', map('a', 10 + round)));
    await until(() => version === 10 + round);
    await clock.advance(5_000);
    stream.destroy();
    await until(() => reflector.state.kind === 'waiting');
  }
  stop.abort();
  await running;
  expect(blindMs / (blindMs + ROUNDS * 5_000)).toBeLessThan(0.1);
});

it('an event without a name does not stop an informer: the state is listed, and it goes on', async () => {
  await using server = await scriptedServer();
  await using informer = new Informer({ transport: server.transport() }, configMaps, {
    reflector: { backoff: { minMs: 1, maxMs: 5 } },
  });
  const nameless = { ...map('a', 10), metadata: { resourceVersion: '10' } };
  begin(await server.next(), endMark, line('ADDED', nameless));
  const listing = await server.next();
  expect(listing.request.url).not.toContain('watch');
  answer(listing, 200, list([map('a', 9)]));
  begin(await server.next(), line('ADDED', map('b', 11)));
  await until(() => informer.size === 2);
  expect(informer.freshness).toMatchObject({ state: 'current', error: undefined });
});

it.each([
  ['the same', ['one', 'one']],
  ['one that came before', ['one', 'two', 'one']],
])('a continue token that leads to %s ends the list with an error, and it begins anew', async (_which, tokens) => {
  await using server = await scriptedServer();
  const errors: unknown[] = [];
  await using informer = new Informer({ transport: server.transport() }, configMaps, {
    reflector: { backoff: { minMs: 1, maxMs: 5 }, useWatchList: false },
    onFreshness: ({ error }) => void (error !== undefined && errors.push(error)),
  });
  for (const [index, token] of tokens.entries()) answer(await server.next(), 200, list([map(`a${index}`, 5)], token));
  const again = await server.next();
  expect(again.request.url).not.toContain('continue=');
  expect(String(errors[0])).toContain('the server gave the same continue token twice');
  answer(again, 200, list([map('a', 5)]));
  await informer.synced();
  expect(informer.size).toBe(1);
});

it('a checkpoint is not trusted with the text of a transform: it has to be named, and another name is another', async () => {
  await using server = await startTestServer();
  await using dir = await temporaryDir();
  await using client = await adminOf(server);
  await client.resource(configMaps).create({ metadata: { name: 'a' }, data: { keep: 'x', drop: 'y' } });
  const file = join(dir.path, 'maps');
  /** The text of both is the same; what they keep is not. */
  const keeping = (field: string) => (object: ConfigMap) => ({
    ...object,
    data: { [field]: object.data?.[field] ?? '' },
  });
  const start = (client: KubeClient, field: string, transformId?: string) =>
    new Informer(client, configMaps, {
      ...{ namespace: 'default', transform: keeping(field), checkpoint: { file, flushMs: 5, transformId } },
      onError: () => {},
    });
  expect(() => start(client, 'keep')).toThrow('it has a transform, and no transformId that says which');
  for (const field of ['keep', 'drop']) {
    const informer = start(client, field, field);
    await informer.synced();
    expect(Object.keys(informer.get('default/a')!.data!)).toEqual([field]);
    expect(informer.metrics.checkpoint!.restored).toBe(0);
    await informer.saved();
    await informer[Symbol.asyncDispose]();
  }
});
