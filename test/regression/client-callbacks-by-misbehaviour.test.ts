/**
 * Whatever a user's function does wrong, in every place where a client calls one: the rest goes on, the store stays true,
 * and somebody is told, once, with the name of the function and what it was asked about.
 *
 * A row is a function, a column a misbehaviour. `hangs` is a promise that never settles; where nobody waits for a promise
 * that does no harm, and nobody is told. Functions of a manager have a table of their own.
 */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  type ClientObserver,
  Informer,
  Reflector,
  type ReflectorSink,
  Transport,
  watch,
  watchResuming,
} from '../../src/client/advanced.ts';
import { ExecPlugin } from '../../src/client/config/exec-plugin.ts';
import {
  type Credentials,
  defineResourceOf,
  type HandlerOptions,
  type InformerOptions,
  type Resource,
  type TransportOptions,
} from '../../src/client/index.ts';
import { type ConfigMap, configMaps } from '../../src/client/objects/generated/core-v1.ts';
import {
  answer,
  type Exchange,
  type ScriptedServer,
  scriptedServer,
} from '../support/client/client-scripted-server.ts';
import { until } from '../support/client/client-under-test.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { type Misbehaving, misbehaviours } from './misbehaviours.ts';
import { listenToProcess } from './unhandled.ts';

const { warnings, rejections } = listenToProcess();
const everything = Object.keys(misbehaviours);
const failing = ['throws', 'rejects'];

type Spoilt = {
  readonly transport?: (bad: Misbehaving) => TransportOptions;
  readonly credentials?: (bad: Misbehaving) => Credentials;
  readonly observer?: (bad: Misbehaving) => ClientObserver;
  readonly informer?: (bad: Misbehaving) => InformerOptions<ConfigMap>;
  readonly resource?: (bad: Misbehaving) => Resource<ConfigMap>;
  readonly handler?: (bad: Misbehaving) => { readonly handle: Misbehaving } & HandlerOptions<ConfigMap>;
  /** What somebody is told, by `onError`, as a warning or in the informer's freshness; and of which misbehaviours. */
  readonly told: RegExp;
  readonly toldOf: readonly string[];
  /** Each event is an occasion of its own. */
  readonly isToldOften?: boolean;
};

const of = (callback: string, whose: string, key = '') =>
  new RegExp(`^Cannot ask "${callback}" of ${whose}${key && ` about "${key}"`}: `);
const informerOf = 'the informer of configmaps';
const span = { setAttribute() {}, setStatus() {}, recordException() {}, end() {} };
const spoiltSpan = (part: string) => ({
  transport: (bad: Misbehaving) => ({
    tracer: { startSpan: () => ({ ...span, [part]: bad }), startActiveSpan: () => undefined as never },
  }),
  told: of('tracer', 'the client'),
  toldOf: failing,
});
const validated = (validate: Misbehaving) =>
  defineResourceOf<ConfigMap>({
    ...configMaps,
    validate: { '~standard': { version: 1, vendor: 'test', validate } },
  } as never);
const observed = (fact: keyof ClientObserver): Spoilt => ({
  observer: (bad) => ({ [fact]: bad }),
  told: of(fact, 'an observer of the client'),
  toldOf: failing,
});
const once = (bad: Misbehaving, good: unknown): Misbehaving => {
  let calls = 0;
  return (...given) => (calls++ === 0 ? bad(...given) : good);
};

const callbacks: Record<string, Spoilt> = {
  handler: {
    handler: (handle) => ({ handle }),
    ...{ told: of('handler spoilt', informerOf, 'default/a'), toldOf: [...failing, 'hangs'], isToldOften: true },
  },
  'onError of a handler': {
    handler: (onError) => ({ handle: misbehaviours.throws!, onError }),
    ...{ told: of('onError of handler spoilt', informerOf, 'default/a'), toldOf: failing },
  },
  'index function': {
    informer: (valuesOf) => ({ indexers: { odd: valuesOf } }),
    ...{ told: of('index odd', 'the informer', 'default/a'), toldOf: everything },
  },
  transform: {
    informer: (transform) => ({ transform }),
    ...{ told: of('transform', informerOf, 'default/a'), toldOf: everything },
  },
  validator: {
    resource: validated,
    informer: () => ({ onInvalid: () => {} }),
    ...{ told: of('validate', 'the resource configmaps', 'default/a'), toldOf: [...failing, 'gives nonsense'] },
  },
  onInvalid: {
    resource: () => validated(() => ({ issues: [{ message: 'odd' }] })),
    informer: (onInvalid) => ({ onInvalid }),
    ...{ told: of('onInvalid', informerOf, 'default/a'), toldOf: failing },
  },
  onError: {
    informer: (onError) => ({ onError }),
    handler: () => ({ handle: misbehaviours.throws! }),
    ...{ told: of('onError', informerOf), toldOf: failing },
  },
  onFreshness: { informer: (onFreshness) => ({ onFreshness }), told: of('onFreshness', informerOf), toldOf: failing },
  onRequest: {
    transport: (onRequest) => ({ onRequest }),
    ...{ told: of('onRequest', 'an observer of the client'), toldOf: failing },
  },
  onWarning: { transport: (onWarning) => ({ onWarning }), told: of('onWarning', 'the client'), toldOf: failing },
  'logger.log': {
    transport: (log) => ({ logger: { level: 9, log } }),
    ...{ told: of('logger.log', 'the client'), toldOf: failing },
  },
  'logger.level': {
    transport: (bad) => ({
      logger: {
        get level() {
          return bad();
        },
        log() {},
      },
    }),
    ...{ told: of('logger.level', 'the client'), toldOf: everything },
  },
  'tracer.startSpan': {
    transport: (startSpan) => ({ tracer: { startSpan, startActiveSpan: () => undefined as never } }),
    ...{ told: of('tracer', 'the client'), toldOf: everything },
  },
  'span.setAttribute': spoiltSpan('setAttribute'),
  'span.spanContext': spoiltSpan('spanContext'),
  'span.setStatus': spoiltSpan('setStatus'),
  'span.recordException': spoiltSpan('recordException'),
  'span.end': spoiltSpan('end'),
  'credentials.current': {
    credentials: (bad) => ({ current: once(bad, Promise.resolve({})), refused: () => false }),
    ...{ told: /^Cannot (ask "credentials.current" of the client: |finish .*: no answer within 100 ms)/ },
    toldOf: [...failing, 'hangs'],
  },
  'credentials.refused': {
    credentials: (refused) => ({ current: once(async () => ({ authorization: 'old' }), Promise.resolve({})), refused }),
    ...{ told: /^Cannot ask "credentials.refused" of the client: |Unauthorized/, toldOf: everything },
  },
  'observer.onRetry': observed('onRetry'),
  'observer.onRequest': observed('onRequest'),
  'observer.onWatchOpen': observed('onWatchOpen'),
  'observer.onWatchEvent': observed('onWatchEvent'),
  'observer.onWatchBytes': observed('onWatchBytes'),
  'observer.onWatchEnd': observed('onWatchEnd'),
  'observer.onReconnect': observed('onReconnect'),
  'observer.onList': observed('onList'),
  'observer.onHandled': observed('onHandled'),
  'observer.onInformerState': observed('onInformerState'),
};

const cells = Object.keys(callbacks).flatMap((callback) =>
  everything.map((misbehaviour) => [callback, misbehaviour] as const),
);

it.each(cells)('%s that %s: the rest goes on', async (callback, misbehaviour) => {
  const spoilt = callbacks[callback]!;
  const bad = misbehaviours[misbehaviour]!;
  await using server = await scriptedServer();
  const world = serve(server);
  const heard: string[] = [];
  const credentials = spoilt.credentials?.(bad);
  await using transport = new Transport(
    { server: server.url, namespace: 'default', ...(credentials && { credentials }) },
    spoilt.transport?.(bad),
  );
  using _ = transport.observers.add(spoilt.observer?.(bad) ?? {});
  const informer = new Informer({ transport }, spoilt.resource?.(bad) ?? configMaps, {
    ...{ namespace: 'default', closeGraceMs: 20, onError: (error) => void heard.push(textOf(error)) },
    onFreshness: ({ error }) => void (error !== undefined && heard.push(textOf(error))),
    reflector: { headersTimeoutMs: 100, backoff: { minMs: 1, maxMs: 5 } },
    ...spoilt.informer?.(bad),
  });
  const good: string[] = [];
  informer.subscribe(({ type, object }) => void good.push(`${type} ${object.metadata.resourceVersion}`));
  const { handle, ...handling } = spoilt.handler?.(bad) ?? { handle: () => {} };
  const subscription = informer.subscribe(handle, { name: 'spoilt', ...handling });
  world.tell('10');
  await until(() => good.some((text) => text.endsWith(' 10')));
  await transport.request('GET', '/failing-once').catch(() => {});
  world.breakOff();
  world.tell('11');
  await until(() => good.includes('updated 11'));
  const isTold = spoilt.toldOf.includes(misbehaviour);
  const count = () => [...heard, ...warnings].filter((text) => spoilt.told.test(text)).length;
  const isHung = callback === 'handler' && misbehaviour === 'hangs';
  if (isTold && !isHung) {
    await until(() => count() > 0);
    const before = count();
    world.tell('12');
    await until(() => good.includes('updated 12') && (isHung || subscription.metrics.backlog === 0));
    await subscription.idle();
    if (!spoilt.isToldOften)
      expect([...heard, ...warnings].filter((text) => spoilt.told.test(text))).toHaveLength(before);
  }
  const { metadata } = informer.get('default/a')!;
  expect(metadata.resourceVersion).toBe(isTold && !isHung ? '12' : '11');
  expect(informer.freshness.state).toBe('current');
  if (isHung) expect(informer.metrics.handlers.find(({ name }) => name === 'spoilt')?.busyMs).toBeGreaterThan(0);
  await informer[Symbol.asyncDispose]();
  if (isHung) expect(heard.filter((text) => spoilt.told.test(text))).toHaveLength(1);
  if (!isTold) expect(heard.concat(warnings).filter((text) => /Cannot ask/.test(text))).toEqual([]);
  expect(rejections).toEqual([]);
});

const plugins: Record<string, string> = {
  throws: 'exit 3',
  rejects: 'exec /no/such/program',
  hangs: 'exec sleep 60',
  'gives nonsense': 'echo nonsense',
};

it.each(everything)('an exec plugin that %s: it is told, and run again', async (misbehaviour) => {
  await using dir = await temporaryDir();
  await using server = await scriptedServer();
  serve(server);
  const [apiVersion, kind] = ['client.authentication.k8s.io/v1', 'ExecCredential'];
  const good = JSON.stringify({ apiVersion, kind, status: { token: 't' } });
  const flag = join(dir.path, 'ran');
  const script = `if [ -f ${flag} ]; then echo '${good}'; else touch ${flag}; ${plugins[misbehaviour]}; fi`;
  const entry = { command: 'sh', args: ['-c', script], env: {}, apiVersion, interactiveMode: 'Never' } as never;
  const credentials = new ExecPlugin(entry, 'the test', { timeoutMs: 200 });
  await using transport = new Transport({ server: server.url, namespace: 'default', credentials });
  const heard: string[] = [];
  await using informer = new Informer({ transport }, configMaps, {
    onFreshness: ({ error }) => void (error !== undefined && heard.push(textOf(error))),
    reflector: { backoff: { minMs: 1, maxMs: 5 } },
  });
  await until(() => informer.isSynced);
  expect(new Set(heard).size).toBe(1);
  expect(heard[0]).toMatch(/^Cannot get credentials from "sh" \(the test\): /);
  expect(rejections).toEqual([]);
});

it.each(everything)('onOpen and onInterruption of watches that %s: events come all the same', async (misbehaviour) => {
  const bad = misbehaviours[misbehaviour]!;
  await using server = await scriptedServer();
  const world = serve(server);
  await using transport = new Transport({ server: server.url, namespace: 'default' });
  const options = { resourceVersion: '9', onOpen: bad, onInterruption: bad, backoff: { minMs: 1, maxMs: 5 } };
  const versions: string[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const { object } of watchResuming(transport, configMaps, { ...options, signal: stop.signal }))
      versions.push(object.metadata.resourceVersion);
  })().catch(() => {});
  world.tell('10');
  await until(() => versions.includes('10'));
  world.breakOff();
  world.tell('11');
  await until(() => versions.includes('11'));
  stop.abort();
  await reading;
  for await (const { object } of watch(transport, configMaps, options)) {
    expect(object.metadata.resourceVersion).toBe('10');
    break;
  }
  const isTold = failing.includes(misbehaviour);
  if (isTold) await until(() => warnings.length >= 3);
  const told = (name: string) => warnings.filter((text) => of(name, 'the watch of configmaps').test(text)).length;
  expect([told('onOpen'), told('onInterruption')]).toEqual(isTold ? [2, 1] : [0, 0]); // of two watches
  expect(rejections).toEqual([]);
});

it.each(everything)('a sink that %s: the reflector says which function, and others go on', async (misbehaviour) => {
  await using server = await scriptedServer();
  const world = serve(server);
  await using transport = new Transport({ server: server.url, namespace: 'default' });
  const stop = new AbortController();
  const versions: string[] = [];
  const quiet: ReflectorSink<ConfigMap> = {
    ...{ replace() {}, remove() {}, progress() {}, changed() {} },
    upsert: ({ metadata }) => void versions.push(metadata.resourceVersion),
  };
  const options = { backoff: { minMs: 1, maxMs: 5 } };
  const upsert = (object: ConfigMap) => {
    quiet.upsert(object);
    return misbehaviours[misbehaviour]!();
  };
  const spoilt = new Reflector(transport, configMaps, { ...quiet, upsert }, options).run(stop.signal);
  const ended = spoilt.catch((error: unknown) => error);
  const other = new Reflector(transport, configMaps, quiet, options).run(stop.signal).catch(() => {});
  await until(() => world.streams === 2);
  world.tell('10');
  await until(() => versions.length === 2);
  const told = of('sink.upsert', 'the reflector of configmaps', 'default/a');
  if (failing.includes(misbehaviour)) expect(textOf(await ended)).toMatch(told);
  world.tell('11');
  await until(() => versions.includes('11'));
  stop.abort();
  await Promise.all([ended, other]);
  expect(rejections).toEqual([]);
});

/** Answers everything: watches with the versions of one object after the one they begin at, until they are broken off. */
function serve(server: ScriptedServer) {
  const told: string[] = [];
  const open = new Set<Exchange>();
  let hasFailed = false;
  let hasRefused = false;
  const write = ({ response }: Exchange, type: string, object: object) =>
    response.write(`${JSON.stringify({ type, object })}\n`);
  const answerNext = async (): Promise<void> => {
    for (;;) {
      const exchange = await server.next();
      const { request, response } = exchange;
      if (request.headers.authorization === 'old' && !hasRefused) {
        hasRefused = true;
        answer(exchange, 401, { kind: 'Status', reason: 'Unauthorized', message: 'Unauthorized', code: 401 });
      } else if (request.url === '/failing-once') {
        if (hasFailed) answer(exchange, 404, { kind: 'Status', reason: 'NotFound', code: 404 });
        else answer(exchange, 503, { kind: 'Status', code: 503 }, { 'retry-after': '0' });
        hasFailed = true;
      } else {
        const from = Number(new URL(request.url!, server.url).searchParams.get('resourceVersion') ?? 0);
        response.writeHead(200, { 'content-type': 'application/json', warning: '299 - "old"' });
        response.flushHeaders();
        if (from < 9) write(exchange, 'ADDED', objectAt('7'));
        const annotations = { 'k8s.io/initial-events-end': 'true' };
        if (from < 9) write(exchange, 'BOOKMARK', { metadata: { resourceVersion: '9', annotations } });
        for (const version of told) if (Number(version) > from) write(exchange, 'MODIFIED', objectAt(version));
        open.add(exchange);
        response.once('close', () => open.delete(exchange));
      }
    }
  };
  void answerNext();
  return {
    get streams() {
      return open.size;
    },
    tell(version: string) {
      told.push(version);
      for (const exchange of open) write(exchange, 'MODIFIED', objectAt(version));
    },
    breakOff() {
      for (const { response } of open) response.destroy();
    },
  };
}

function objectAt(resourceVersion: string): object {
  const metadata = { name: 'a', namespace: 'default', uid: 'a', resourceVersion };
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { at: resourceVersion } };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
