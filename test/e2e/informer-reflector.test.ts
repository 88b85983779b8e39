/** The reflector against a server that answers as the test tells it: what it asks for, and what it makes of the answer. */
import { expect, it } from 'vitest';
import {
  type ConfigMap,
  configMaps,
  Informer,
  Reflector,
  type ReflectorOptions,
  type Transport,
} from '../../src/client/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { answer, type Exchange, type ScriptedServer, scriptedServer } from './client-scripted-server.ts';
import { until } from './client-under-test.ts';

const object = (name: string, resourceVersion: number) => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name, namespace: 'default', uid: name, resourceVersion: `${resourceVersion}` },
});
const line = (type: string, what: object) => `${JSON.stringify({ type, object: what })}\n`;
const event = (type: string, name: string, version: number) => line(type, object(name, version));
const bookmark = (version: number) => line('BOOKMARK', { metadata: { resourceVersion: `${version}` } });
const endMark = (version: number) =>
  line('BOOKMARK', {
    metadata: { resourceVersion: `${version}`, annotations: { 'k8s.io/initial-events-end': 'true' } },
  });
const status = (code: number, reason: string, more: object = {}) => ({
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason },
  ...more,
});
const list = (version: number, items: object[], token = '') => ({
  ...{ kind: 'ConfigMapList', apiVersion: 'v1', items },
  metadata: { resourceVersion: `${version}`, continue: token },
});

function begin({ response }: Exchange, ...lines: string[]): Exchange['response'] {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  for (const text of lines) response.write(text);
  return response;
}

/** What was asked for, in short. */
function asked({ request }: Exchange): string {
  const query = new URL(request.url!, 'http://x').searchParams;
  const version = query.get('resourceVersion') ?? '';
  if (query.get('watch') !== 'true') return `list limit=${query.get('limit')} continue=${query.get('continue') ?? ''}`;
  return query.get('sendInitialEvents') === 'true' ? 'watch-list' : `watch ${version}`;
}

function start(server: ScriptedServer, options: ReflectorOptions = {}, transport: Transport = server.transport()) {
  const told: string[] = [];
  const stop = new AbortController();
  const named = (what: string) => (one: ConfigMap) =>
    void told.push(`${what} ${one.metadata.name}@${one.metadata.resourceVersion}`);
  const sink = {
    replace: (objects: readonly ConfigMap[], version: string) =>
      void told.push(`replace ${objects.map(({ metadata }) => metadata.name).join(',')} at ${version}`),
    upsert: named('upsert'),
    remove: named('remove'),
    progress: (version: string) => void told.push(`progress ${version}`),
    changed: () => {},
  };
  const tuned = { backoff: { minMs: 1, maxMs: 5 }, ...options };
  const reflector = new Reflector(transport, configMaps, sink, tuned);
  const run = reflector.run(stop.signal);
  run.catch(() => {}); // looked at by those who expect an end
  const end = async () => {
    stop.abort(new Error('over'));
    await expect(run).rejects.toThrow('over');
  };
  return { told, reflector, run, end, transport };
}

it('the initial state is told as one, and the same stream goes on', async () => {
  await using server = await scriptedServer();
  const { told, reflector, end } = start(server);
  const first = await server.next();
  expect(asked(first)).toBe('watch-list');
  const response = begin(first, event('ADDED', 'a', 5), event('ADDED', 'b', 3), event('ADDED', 'c', 4));
  response.write(event('MODIFIED', 'b', 6) + event('DELETED', 'c', 7) + bookmark(7));
  response.write(endMark(8) + event('MODIFIED', 'a', 9) + event('DELETED', 'b', 10) + bookmark(20));
  await until(() => told.length === 4);
  expect(told).toEqual(['replace a,b at 8', 'upsert a@9', 'remove b@10', 'progress 20']);
  expect(reflector.state).toMatchObject({ kind: 'watching', version: '20', isOpen: true });
  first.request.socket.destroy();
  expect(asked(await server.next())).toBe('watch 20');
  expect(reflector.counts).toMatchObject({ fills: 1, pagedFills: 0, streams: 1, events: 2, bookmarks: 1 });
  await end();
});

it('an initial state that breaks off is asked for anew, and nothing of it is told', async () => {
  await using server = await scriptedServer();
  const { told, end } = start(server);
  const first = await server.next();
  begin(first, event('ADDED', 'gone', 5)).end();
  const second = await server.next();
  expect(asked(second)).toBe('watch-list');
  begin(second, event('ADDED', 'a', 6), endMark(6));
  await until(() => told.length === 1);
  expect(told).toEqual(['replace a at 6']);
  await end();
});

it('a server that refuses streams is listed in pages, and not asked again by anybody', async () => {
  await using server = await scriptedServer();
  const { told, end, transport } = start(server, { pageItems: 1 });
  answer(await server.next(), 422, status(422, 'Invalid'));
  const first = await server.next();
  expect(asked(first)).toBe('list limit=1 continue=');
  answer(first, 200, list(7, [object('a', 5)], 't'));
  const second = await server.next();
  expect(asked(second)).toBe('list limit=1 continue=t');
  answer(second, 200, list(7, [object('b', 6)]));
  const third = await server.next();
  expect(asked(third)).toBe('watch 7');
  begin(third, line('ERROR', status(410, 'Expired'))).end();
  expect(asked(await server.next())).toBe('list limit=1 continue=');
  expect(told).toEqual(['replace a,b at 7']);
  const other = start(server, {}, transport);
  expect(asked(await server.next())).toBe('list limit=500 continue=');
  await Promise.all([end(), other.end()]);
});

it('a stream whose initial state never ends is given up for pages', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const { told, end } = start(server, {}, server.transport({ clock }));
  begin(await server.next(), event('ADDED', 'a', 5));
  const coming = server.next();
  let isHere = false;
  void coming.then(() => {
    isHere = true;
  });
  await until(async () => {
    await clock.advance(10_000);
    return isHere;
  });
  const second = await coming;
  expect(asked(second)).toBe('list limit=500 continue=');
  answer(second, 200, list(7, [object('a', 5)]));
  expect(asked(await server.next())).toBe('watch 7');
  expect(told).toEqual(['replace a at 7']);
  await end();
});

it('pages whose snapshot is gone are listed in one piece', async () => {
  await using server = await scriptedServer();
  const { told, end } = start(server, { useWatchList: false, pageItems: 1 });
  answer(await server.next(), 200, list(7, [object('old', 5)], 't'));
  answer(await server.next(), 410, status(410, 'Expired', { metadata: { continue: 'rest' } }));
  const whole = await server.next();
  expect(asked(whole)).toBe('list limit=null continue=');
  answer(whole, 200, list(9, [object('a', 8), object('b', 9)]));
  expect(asked(await server.next())).toBe('watch 9');
  expect(told).toEqual(['replace a,b at 9']);
  await end();
});

it('only lost history is fetched anew: 410, too large, or a server that stands behind us', async () => {
  await using server = await scriptedServer();
  const { told, end } = start(server, { idleTimeoutMs: 50 });
  const fill = async (name: string, version: number) => {
    const exchange = await server.next();
    expect(asked(exchange)).toBe('watch-list');
    return begin(exchange, event('ADDED', name, version), endMark(version));
  };
  (await fill('a', 10)).end(line('ERROR', status(410, 'Expired')));
  const causes = [{ reason: 'ResourceVersionTooLarge', message: '' }];
  (await fill('b', 20)).end(line('ERROR', status(504, 'Timeout', { details: { causes } })));
  (await fill('c', 30)).end(line('ERROR', status(500, 'InternalError')));
  const resumed = await server.next();
  expect(asked(resumed)).toBe('watch 30');
  begin(resumed); // and never a word
  const check = await server.next();
  expect(asked(check)).toBe('list limit=1 continue=');
  answer(check, 200, list(30, []));
  const again = await server.next();
  expect(asked(again)).toBe('watch 30');
  begin(again);
  answer(await server.next(), 200, list(4, []));
  await fill('d', 4);
  await until(() => told.length === 4);
  expect(told).toEqual(['replace a at 10', 'replace b at 20', 'replace c at 30', 'replace d at 4']);
  await end();
});

it('a server that was set back and gives versions out again is told by content', async () => {
  await using server = await scriptedServer();
  const reflector = { idleTimeoutMs: 50, backoff: { minMs: 1, maxMs: 5 } };
  await using informer = new Informer({ transport: server.transport() }, configMaps, { reflector });
  const map = (name: string, v: string) => line('ADDED', { ...object(name, 25), data: { v } });
  begin(await server.next(), map('a', 'x'), map('b', 'x'), endMark(30));
  await informer.synced();
  const events = informer.events();
  expect([(await events.next()).value?.key, (await events.next()).value?.key]).toEqual(['default/a', 'default/b']);
  const same = informer.get('default/b');
  begin(await server.next()); // the first stream had words, this one has none
  answer(await server.next(), 200, list(26, []));
  begin(await server.next(), map('a', 'y'), map('b', 'x'), endMark(26));
  expect((await events.next()).value).toMatchObject({
    type: 'updated',
    key: 'default/a',
    object: { data: { v: 'y' } },
  });
  expect(informer.get('default/b')).toBe(same);
  expect(informer.resourceVersion).toBe('26');
});

it('a refusal is a state with a pause, and what it was about goes on after it', async () => {
  await using server = await scriptedServer();
  const { reflector, end } = start(server);
  answer(await server.next(), 403, status(403, 'Forbidden'));
  const first = await server.next();
  expect(asked(first)).toBe('watch-list');
  begin(first, endMark(5)).end();
  answer(await server.next(), 403, status(403, 'Forbidden'));
  expect(asked(await server.next())).toBe('watch 5');
  expect(reflector.counts.fills).toBe(1);
  await end();
});

it('a bug of the sink, and a transport that is closed, end it', async () => {
  await using server = await scriptedServer();
  const { run, transport } = start(server);
  await server.next();
  await transport.close();
  await expect(run).rejects.toMatchObject({ code: 'TRANSPORT_CLOSED' });

  const bug = new TypeError('bug');
  const throws = () => {
    throw bug;
  };
  const nothing = () => {};
  const sink = { replace: throws, upsert: nothing, remove: nothing, progress: nothing, changed: nothing };
  const broken = new Reflector(server.transport(), configMaps, sink).run(new AbortController().signal);
  begin(await server.next(), endMark(5));
  await expect(broken).rejects.toBe(bug);
});
