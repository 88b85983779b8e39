/** The reflector against a server that answers as the test tells it: what it asks for, and what it makes of the answer. */
import { expect, it } from 'vitest';
import {
  Informer,
  Reflector,
  type ReflectorOptions,
  type ReflectorState,
  type Transport,
} from '../../../src/client/advanced.ts';
import { type ConfigMap, configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { FakeClock } from '../../../src/testing/index.ts';
import {
  answer,
  type Exchange,
  type ScriptedServer,
  scriptedServer,
} from '../../support/client/client-scripted-server.ts';
import { until } from '../../support/client/client-under-test.ts';

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
  const floor = query.get('resourceVersionMatch') === 'NotOlderThan' && version ? ` from ${version}` : '';
  if (query.get('watch') !== 'true')
    return `list limit=${query.get('limit')} continue=${query.get('continue') ?? ''}${floor}`;
  return query.get('sendInitialEvents') === 'true' ? `watch-list${floor}` : `watch ${version}`;
}

/** Turns the clock until there is a request. */
async function nextAfter(server: ScriptedServer, clock: FakeClock, stepMs: number): Promise<Exchange> {
  let exchange: Exchange | undefined;
  void server.next().then((one) => {
    exchange = one;
  });
  await until(async () => {
    if (!exchange) await clock.advance(stepMs);
    return exchange !== undefined;
  });
  return exchange!;
}

function start(server: ScriptedServer, options: ReflectorOptions = {}, transport: Transport = server.transport()) {
  const told: string[] = [];
  const states: string[] = [];
  const stop = new AbortController();
  const named = (what: string) => (one: ConfigMap) =>
    void told.push(`${what} ${one.metadata.name}@${one.metadata.resourceVersion}`);
  const sink = {
    replace: (objects: readonly ConfigMap[], version: string) =>
      void told.push(`replace ${objects.map(({ metadata }) => metadata.name).join(',')} at ${version}`),
    upsert: named('upsert'),
    remove: named('remove'),
    progress: (version: string) => void told.push(`progress ${version}`),
    changed: (state: ReflectorState) =>
      void states.push(state.kind === 'watching' && state.isOpen ? 'open' : state.kind),
  };
  const tuned = { backoff: { minMs: 1, maxMs: 5 }, ...options };
  const reflector = new Reflector(transport, configMaps, sink, tuned);
  const run = reflector.run(stop.signal);
  run.catch(() => {}); // looked at by those who expect an end
  const end = async () => {
    stop.abort(new Error('over'));
    await expect(run).rejects.toThrow('over');
  };
  return { told, states, reflector, run, end, transport };
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
  expect(reflector.counts).toMatchObject({ lists: 1, pagedLists: 0, streams: 1, events: 2, bookmarks: 1 });
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
  expect(asked(await server.next())).toBe('list limit=1 continue= from 7');
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
  const fill = async (name: string, version: number, floor = '') => {
    const exchange = await server.next();
    expect(asked(exchange)).toBe(`watch-list${floor}`);
    return begin(exchange, event('ADDED', name, version), endMark(version));
  };
  (await fill('a', 10)).end(line('ERROR', status(410, 'Expired')));
  const causes = [{ reason: 'ResourceVersionTooLarge', message: '' }];
  (await fill('b', 20, ' from 10')).end(line('ERROR', status(504, 'Timeout', { details: { causes } })));
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
  expect(reflector.counts.lists).toBe(1);
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
  await expect(broken).rejects.toMatchObject({ name: 'CallbackError', callback: 'sink.replace', cause: bug });
});

it('a stream that nears its end is read until the next is open, and what both have is told once', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const transport = server.transport({ clock, random: () => 0 });
  const { told, states, reflector, end } = start(server, { idleTimeoutMs: 0 }, transport);
  const first = await server.next();
  expect(new URL(first.request.url!, 'http://x').searchParams.get('timeoutSeconds')).toBe('300');
  const old = begin(first, event('ADDED', 'a', 5), endMark(10));
  await until(() => told.length === 1);
  await clock.advance(269_000);
  expect(reflector.state).toMatchObject({ isRotating: false });
  await clock.advance(1_000);
  const second = await server.next();
  expect(asked(second)).toBe('watch 10');
  old.write(event('MODIFIED', 'a', 11) + event('ADDED', 'b', 12)); // the next is not open yet
  await until(() => told.length === 3);
  expect(reflector.state).toMatchObject({ kind: 'watching', isOpen: true, isRotating: true });
  const isClosed = new Promise((resolve) => old.once('close', resolve));
  const fresh = begin(second, event('MODIFIED', 'a', 11), event('ADDED', 'b', 12), bookmark(12));
  fresh.write(event('DELETED', 'b', 13));
  await until(() => told.length === 4);
  await isClosed;
  expect(told).toEqual(['replace a at 10', 'upsert a@11', 'upsert b@12', 'remove b@13']);
  expect(reflector.state).toMatchObject({ version: '13', isOpen: true, isRotating: false });
  expect(reflector.counts).toMatchObject({ lists: 1, streams: 2, rotations: 1, failures: 0, events: 3 });
  expect(states).toEqual(['listing', 'open']); // all the time
  const third = await nextAfter(server, clock, 10_000); // and so on
  expect(asked(third)).toBe('watch 13');
  await end();
  expect(clock.sleeping).toBe(0);
});

it('a successor that is refused changes nothing; one that comes when the old stream is gone takes over', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const { told, reflector, end } = start(server, { idleTimeoutMs: 0 }, server.transport({ clock, random: () => 0 }));
  const first = begin(await server.next(), endMark(10));
  await until(() => told.length === 1);
  answer(await nextAfter(server, clock, 10_000), 500, status(500, 'InternalError'));
  await until(() => reflector.state.kind === 'watching' && !reflector.state.isRotating);
  first.write(event('ADDED', 'a', 11));
  await until(() => told.length === 2);
  expect(reflector.counts).toMatchObject({ rotations: 0, failures: 0 });
  first.end(); // as planned
  const second = begin(await server.next(), event('ADDED', 'b', 12));
  await until(() => told.length === 3);
  const third = await nextAfter(server, clock, 10_000);
  second.end();
  await until(() => reflector.state.kind === 'watching' && !reflector.state.isOpen);
  begin(third, event('ADDED', 'c', 13));
  await until(() => told.length === 4);
  expect(told.slice(1)).toEqual(['upsert a@11', 'upsert b@12', 'upsert c@13']);
  expect(reflector.state).toMatchObject({ isOpen: true, isRotating: false });
  expect(reflector.counts).toMatchObject({ lists: 1, rotations: 1, failures: 0 });
  await end();
});

it('a successor that gets no answer is given up in time, and meanwhile nobody else is opened in its place', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const options = { idleTimeoutMs: 0, headersTimeoutMs: 12_000, lifetimeSeconds: [10, 10] } as const;
  const { told, reflector, end } = start(server, options, server.transport({ clock, random: () => 0 }));
  const first = begin(await server.next(), endMark(10));
  await until(() => told.length === 1);
  await clock.advance(7_500);
  const second = await server.next();
  const isGivenUp = new Promise((resolve) => second.response.once('close', resolve));
  await clock.advance(11_000); // longer than it was to live
  expect(reflector.state).toMatchObject({ isOpen: true, isRotating: true });
  await clock.advance(1_000);
  await isGivenUp;
  expect(reflector.state).toMatchObject({ isOpen: true, isRotating: false });
  expect(server.connections.opened).toBe(3); // by one of them it was asked which cluster this is
  first.write(event('ADDED', 'a', 11));
  await until(() => told.length === 2);
  expect(reflector.counts).toMatchObject({ lists: 1, streams: 1, rotations: 0, failures: 0 });
  await end();
  await until(() => server.connections.open === 0 && clock.sleeping === 0);
});

it('one that is told to fetch anew while it waits for a successor does so, whatever becomes of that', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const transport = server.transport({ clock, random: () => 0 });
  const { told, states, reflector, end } = start(server, { idleTimeoutMs: 0 }, transport);
  const first = begin(await server.next(), endMark(10));
  await until(() => told.length === 1);
  const second = await nextAfter(server, clock, 10_000);
  first.end();
  await until(() => reflector.state.kind === 'watching' && !reflector.state.isOpen);
  reflector.renew();
  answer(second, 500, status(500, 'InternalError'));
  const third = await server.next();
  expect(asked(third)).toBe('watch-list from 10');
  begin(third, endMark(12));
  await until(() => told.length === 2);
  expect(states).toEqual(['listing', 'open', 'watching', 'listing', 'open']);
  expect(reflector.counts).toMatchObject({ lists: 2, streams: 2, rotations: 0, failures: 0 });
  await end();
});

it('a successor whose beginning is lost is opened anew at what was told meanwhile, and nothing is fetched', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const { told, reflector, end } = start(server, { idleTimeoutMs: 0 }, server.transport({ clock, random: () => 0 }));
  const first = begin(await server.next(), endMark(10));
  await until(() => told.length === 1);
  const second = await nextAfter(server, clock, 10_000);
  expect(asked(second)).toBe('watch 10');
  first.write(event('ADDED', 'a', 11));
  await until(() => told.length === 2);
  begin(second, line('ERROR', status(410, 'Expired'))).end(); // compacted at 11
  const third = await server.next();
  expect(asked(third)).toBe('watch 11');
  begin(third, line('ERROR', status(410, 'Expired'))).end(); // and now it is ours that is lost
  expect(asked(await server.next())).toBe('watch-list from 11');
  expect(reflector.counts).toMatchObject({ lists: 1, rotations: 1, failures: 0 });
  await end();
});

it('versions that are no numbers are not rotated: the stream is taken up after its end', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const { told, reflector, end } = start(server, { idleTimeoutMs: 0 }, server.transport({ clock, random: () => 0 }));
  const mark = { resourceVersion: 'x-1', annotations: { 'k8s.io/initial-events-end': 'true' } };
  const first = begin(await server.next(), line('BOOKMARK', { metadata: mark }));
  await until(() => told.length === 1);
  await clock.advance(299_000);
  first.end();
  expect(asked(await server.next())).toBe('watch x-1');
  expect(reflector.counts).toMatchObject({ rotations: 0, streams: 1 });
  await end();
});

it('initial states that break off again and again are listed in pages, and others do not try that resource', async () => {
  await using server = await scriptedServer();
  const { told, end, transport } = start(server);
  for (let i = 0; i < 3; i++) {
    const exchange = await server.next();
    expect(asked(exchange)).toBe('watch-list');
    begin(exchange, event('ADDED', 'gone', 5));
    await new Promise((resolve) => setImmediate(resolve));
    exchange.request.socket.destroy();
  }
  const pages = await server.next();
  expect(asked(pages)).toBe('list limit=500 continue=');
  answer(pages, 200, list(7, [object('a', 5)]));
  expect(asked(await server.next())).toBe('watch 7');
  expect(told).toEqual(['replace a at 7']);
  const other = start(server, {}, transport);
  expect(asked(await server.next())).toBe('list limit=500 continue=');
  await Promise.all([end(), other.end()]);
});

it('a page that fails is asked for again, and not the ones before it', async () => {
  await using server = await scriptedServer();
  const { told, end } = start(server, { useWatchList: false, pageItems: 1 });
  answer(await server.next(), 200, list(7, [object('a', 5)], 't'));
  const torn = await server.next();
  torn.response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  torn.response.write('{"items":[');
  await new Promise((resolve) => setImmediate(resolve));
  torn.request.socket.destroy();
  const again = await server.next();
  expect(asked(again)).toBe('list limit=1 continue=t');
  answer(again, 500, status(500, 'InternalError'));
  const third = await server.next();
  expect(asked(third)).toBe('list limit=1 continue=t');
  answer(third, 200, list(7, [object('b', 6)]));
  expect(asked(await server.next())).toBe('watch 7');
  expect(told).toEqual(['replace a,b at 7']);
  await end();
});

it.each<[by: string, useWatchList: boolean]>([
  ['stream', true],
  ['pages', false],
])('by %s: after lost history nothing older is shown, unless the server was set back', async (_by, useWatchList) => {
  await using server = await scriptedServer();
  const { told, reflector, end } = start(server, { useWatchList });
  const fill = (exchange: Exchange, name: string, version: number) => {
    if (useWatchList) return begin(exchange, event('ADDED', name, version), endMark(version));
    answer(exchange, 200, list(version, [object(name, version)]));
    return undefined;
  };
  const what = useWatchList ? 'watch-list' : 'list limit=500 continue=';
  const loses = async (exchange: Exchange) => begin(exchange, line('ERROR', status(410, 'Expired'))).end();
  const stream = fill(await server.next(), 'a', 30);
  if (stream) stream.end(line('ERROR', status(410, 'Expired')));
  else await loses(await server.next());

  const lagging = await server.next(); // one of several servers that does not keep its word
  expect(asked(lagging)).toBe(`${what} from 30`);
  fill(lagging, 'old', 29);
  const good = await server.next();
  expect(asked(good)).toBe(`${what} from 30`);
  const second = fill(good, 'b', 31);
  await until(() => told.length === 2);
  if (second) second.end(line('ERROR', status(410, 'Expired')));
  else await loses(await server.next());

  const setBack = await server.next();
  expect(asked(setBack)).toBe(`${what} from 31`);
  const causes = [{ reason: 'ResourceVersionTooLarge', message: '' }];
  answer(setBack, 504, status(504, 'Timeout', { details: { causes } }));
  const free = await server.next();
  expect(asked(free)).toBe(what);
  fill(free, 'c', 4);
  await until(() => told.length === 3);
  expect(told).toEqual(['replace a at 30', 'replace b at 31', 'replace c at 4']);
  expect(reflector.counts.lists).toBe(3);
  await end();
});

/** It looks where the server, which stood at 30, is now; finds it at 4, and fetches everything without a floor. */
async function expectFoundOut(server: ScriptedServer, told: readonly string[]): Promise<void> {
  const look = await server.next();
  expect(asked(look)).toBe('list limit=1 continue=');
  answer(look, 200, list(4, []));
  const free = await server.next();
  expect(asked(free)).toBe('watch-list');
  begin(free, event('ADDED', 'a', 4), endMark(4));
  await until(() => told.length === 2);
  expect(told).toEqual(['replace  at 30', 'replace a at 4']);
}

it('a server that waits for a version which it has lost is found out by a look, even if it never says so', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const { told, end } = start(server, { headersTimeoutMs: 20_000 }, server.transport({ clock, random: () => 0 }));
  begin(await server.next(), endMark(30)).end(line('ERROR', status(410, 'Expired')));
  const silent = await server.next();
  expect(asked(silent)).toBe('watch-list from 30');
  await clock.advance(20_000);
  await expectFoundOut(server, told);
  await end();
});

it('a page of a snapshot that the server was set back before is not asked for again and again', async () => {
  await using server = await scriptedServer();
  const { told, end } = start(server, { useWatchList: false, pageItems: 1 });
  answer(await server.next(), 200, list(70, [object('a', 5)], 't'));
  const causes = [{ reason: 'ResourceVersionTooLarge', message: '' }];
  answer(await server.next(), 504, status(504, 'Timeout', { details: { causes } }));
  const again = await server.next();
  expect(asked(again)).toBe('list limit=1 continue=');
  answer(again, 200, list(4, [object('b', 4)]));
  expect(asked(await server.next())).toBe('watch 4');
  expect(told).toEqual(['replace b at 4']);
  await end();
});

it('one whose streams are shorter than silence still finds out that the server was set back', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const options = { idleTimeoutMs: 75_000, lifetimeSeconds: [40, 40] } as const;
  const { told, reflector, end } = start(server, options, server.transport({ clock, random: () => 0 }));
  begin(await server.next(), endMark(30));
  await until(() => told.length === 1);
  for (let i = 1; i <= 2; i++) {
    await clock.advance(30_000);
    const next = await server.next();
    expect(asked(next)).toBe('watch 30');
    begin(next); // and never a word
    await until(() => reflector.counts.rotations === i);
  }
  await clock.advance(30_000);
  await expectFoundOut(server, told);
  await end();
});

it('one that resumes opens a watch at its version, and lists nothing', async () => {
  await using server = await scriptedServer();
  const told: string[] = [];
  const sink = {
    replace: () => void told.push('replace'),
    upsert: ({ metadata }: ConfigMap) => void told.push(metadata.name),
    ...{ remove: () => {}, progress: () => {}, changed: () => {} },
  };
  const reflector = new Reflector(server.transport(), configMaps, sink);
  reflector.resume('41', 0);
  const stop = new AbortController();
  const run = reflector.run(stop.signal);
  const exchange = await server.next();
  expect(asked(exchange)).toBe('watch 41');
  begin(exchange, event('ADDED', 'a', 42));
  await until(() => told.length === 1);
  expect(told).toEqual(['a']);
  stop.abort(new Error('over'));
  await expect(run).rejects.toThrow('over');
});

it('an audit finds what a stream did not tell, and the state is fetched anew; what changes meanwhile is left out', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const errors: unknown[] = [];
  await using informer = new Informer({ transport: server.transport({ clock, random: () => 0.5 }) }, configMaps, {
    ...{ auditMs: 600_000, onError: (error) => void errors.push(error) },
    reflector: { idleTimeoutMs: 0, lifetimeSeconds: [10_000, 10_000] },
  });
  const stream = begin(await server.next(), ...['a', 'b', 'd'].map((name) => event('ADDED', name, 5)), endMark(10));
  await informer.synced();
  const good = await nextAfter(server, clock, 60_000);
  expect(good.request.headers.accept).toContain('as=PartialObjectMetadataList');
  expect(asked(good)).toBe('list limit=500 continue=');
  answer(good, 200, list(10, [object('a', 5), object('b', 5), object('d', 5)]));
  await until(() => informer.metrics.audits === 1);
  expect(informer.metrics).toMatchObject({ divergences: 0, lists: 1 });

  const audit = await nextAfter(server, clock, 60_000);
  stream.write(event('MODIFIED', 'd', 12) + event('DELETED', 'e', 13));
  await informer.reached('13');
  answer(audit, 200, list(11, [object('a', 5), object('c', 9), object('d', 5), object('e', 4)])); // b is gone, c is new
  const again = await server.next();
  expect(asked(again)).toBe('watch-list from 13');
  expect(informer.freshness.state).toBe('interrupted');
  begin(again, event('ADDED', 'a', 5), event('ADDED', 'c', 9), event('ADDED', 'd', 12), endMark(14));
  await informer.reached('14');
  expect(
    informer
      .list()
      .map(({ metadata }) => metadata.name)
      .sort(),
  ).toEqual(['a', 'c', 'd']);
  expect(informer.metrics).toMatchObject({ audits: 2, divergences: 3, lists: 2 });
  expect(String(errors)).toContain('Cannot trust the store of configmaps: 3 objects differ, such as "default/');
});

it('an audit that nothing catches up with, of a store that agrees, is no error: some servers send no bookmarks', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  const errors: unknown[] = [];
  await using informer = new Informer({ transport: server.transport({ clock, random: () => 0.5 }) }, configMaps, {
    ...{ auditMs: 600_000, onError: (error) => void errors.push(error) },
    reflector: { idleTimeoutMs: 0, lifetimeSeconds: [10_000, 10_000] },
  });
  begin(await server.next(), event('ADDED', 'a', 5), endMark(10));
  await informer.synced();
  answer(await nextAfter(server, clock, 60_000), 200, list(11, [object('a', 5)]));
  begin(await nextAfter(server, clock, 10_000), event('ADDED', 'a', 5), endMark(11));
  await informer.reached('11');
  expect(informer.metrics).toMatchObject({ audits: 1, divergences: 0, lists: 2 });
  expect(errors).toEqual([]);
});

it('an audit that the store does not catch up with gives a stream up that is open and dead', async () => {
  await using server = await scriptedServer();
  const clock = new FakeClock();
  await using informer = new Informer({ transport: server.transport({ clock }) }, configMaps, {
    reflector: { idleTimeoutMs: 0, lifetimeSeconds: [10_000, 10_000] },
  });
  begin(await server.next(), event('ADDED', 'a', 5), endMark(10));
  await informer.synced();
  const report = informer.audit();
  answer(await server.next(), 200, list(11, [object('a', 5)]));
  const again = await nextAfter(server, clock, 10_000);
  expect(asked(again)).toBe('watch-list from 10');
  expect(await report).toEqual({ objects: 1, divergent: [], isLate: true });
  expect(clock.now()).toBeGreaterThanOrEqual(90_000);
});
