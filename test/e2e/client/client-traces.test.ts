/** Spans of a client, told to a tracer that has the shape of OpenTelemetry's and writes down what it is told. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from 'vitest';
import { traced } from '../../../src/api/index.ts';
import { type Span, type SpanAttributes, watch } from '../../../src/client/advanced.ts';
import type { Tracer } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { answer, scriptedServer } from '../../support/client/client-scripted-server.ts';
import { adminOf, until } from '../../support/client/client-under-test.ts';

type Recorded = {
  readonly name: string;
  readonly kind: number | undefined;
  readonly id: string;
  readonly parent: string | undefined;
  readonly attributes: SpanAttributes;
  status: { code: number; message?: string } | undefined;
  readonly exceptions: string[];
  ends: number;
};

class Recorder implements Tracer {
  readonly spans: Recorded[] = [];
  readonly #active = new AsyncLocalStorage<Recorded>();

  startSpan(name: string, options: { kind?: number; attributes?: SpanAttributes } = {}): Span {
    return this.#spanOf(this.#record(name, options));
  }

  startActiveSpan<R>(name: string, options: { kind?: number }, work: (span: Span) => R): R {
    const recorded = this.#record(name, options);
    return this.#active.run(recorded, () => work(this.#spanOf(recorded)));
  }

  #record(name: string, { kind, attributes = {} }: { kind?: number; attributes?: SpanAttributes }): Recorded {
    const id = `${this.spans.length + 1}`.padStart(16, '0');
    const parent = this.#active.getStore()?.id;
    const recorded = {
      name,
      kind,
      id,
      parent,
      attributes: { ...attributes },
      status: undefined,
      exceptions: [],
      ends: 0,
    };
    this.spans.push(recorded);
    return recorded;
  }

  #spanOf(recorded: Recorded): Span {
    return {
      setAttribute: (name, value) => {
        recorded.attributes[name] = value;
      },
      setStatus: (status) => {
        recorded.status = status;
      },
      recordException: (exception) => void recorded.exceptions.push(String(exception)),
      spanContext: () => ({ traceId: 'a'.repeat(32), spanId: recorded.id, traceFlags: 1 }),
      end: () => void recorded.ends++,
    };
  }
}

it('each request is a span with what it was about and how it ended, under the span it was made in', async () => {
  await using server = await startTestServer();
  const tracer = new Recorder();
  await using client = await adminOf(server, { tracer });
  const maps = client.resource(configMaps);
  await traced(tracer, 'work', {}, async () => {
    await maps.create({ metadata: { name: 'a' } });
    await maps.list({ limit: 5 });
    await expect(maps.get('missing')).rejects.toMatchObject({ code: 404 });
  });
  const [work, create, list, get] = tracer.spans;
  expect(tracer.spans.map(({ name, ends }) => [name, ends])).toEqual([
    ['work', 1],
    ['POST configmaps', 1],
    ['LIST configmaps', 1],
    ['GET configmaps', 1],
  ]);
  expect([create, list, get].map((span) => span?.parent)).toEqual([work?.id, work?.id, work?.id]);
  expect(work).toMatchObject({ status: undefined, exceptions: [] });
  expect(create).toMatchObject({ kind: 2, status: undefined });
  expect(get?.attributes).toEqual({
    'http.request.method': 'GET',
    'http.response.status_code': 404,
    'url.path': '/api/v1/namespaces/default/configmaps/missing',
    'url.template': '/api/v1/namespaces/{namespace}/configmaps/{name}',
    'server.address': new URL(server.url).hostname,
    'server.port': Number(new URL(server.url).port),
    'k8s.verb': 'GET',
    'k8s.resource': 'configmaps',
    'k8s.namespace.name': 'default',
    'error.type': '404',
  });
  expect(get?.status).toEqual({ code: 2 });
});

it('the span of a watch lasts as long as the watch; giving it up is no error, a break is one', async () => {
  await using server = await scriptedServer();
  const tracer = new Recorder();
  const transport = server.transport({ tracer });
  const open = async (signal?: AbortSignal) => {
    const seen: string[] = [];
    const events = watch(transport, configMaps, signal ? { signal } : {});
    const reading = (async () => {
      for await (const { type } of events) seen.push(type);
    })();
    const { response } = await server.next();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1' } } })}\n`);
    await until(() => seen.length === 1);
    return { reading, response };
  };

  const stop = new AbortController();
  const given = await open(stop.signal);
  expect(tracer.spans[0]).toMatchObject({ name: 'WATCH configmaps', ends: 0 });
  stop.abort(new Error('enough'));
  await expect(given.reading).rejects.toThrow('enough');
  expect(tracer.spans[0]).toMatchObject({ ends: 1, status: undefined, exceptions: [] });

  const broken = await open();
  broken.response.destroy();
  await expect(broken.reading).rejects.toMatchObject({ phase: 'body' });
  expect(tracer.spans[1]).toMatchObject({ ends: 1, status: { code: 2 } });
  expect(tracer.spans[1]?.attributes).toMatchObject({ 'error.type': 'body', 'http.response.status_code': 200 });
  expect(tracer.spans[1]?.attributes['http.request.resend_count']).toBeUndefined();
  expect(tracer.spans[1]?.exceptions).toHaveLength(1);

  const ended = await open();
  ended.response.end();
  await ended.reading;
  expect(tracer.spans[2]).toMatchObject({ ends: 1, status: undefined });
});

it('a failure without an answer is recorded; of a Secret without its text', async () => {
  await using server = await scriptedServer();
  const tracer = new Recorder();
  const transport = server.transport({ tracer });
  for (const path of ['/api/v1/pods', '/api/v1/secrets']) {
    const broken = transport.request('GET', path);
    const { response } = await server.next();
    response.writeHead(200, { 'content-type': 'application/json' }).end('hidden');
    await expect(broken).rejects.toMatchObject({ phase: 'body' });
  }
  const [pods, secrets] = tracer.spans;
  expect(pods).toMatchObject({ ends: 1, status: { code: 2, message: expect.stringContaining('Cannot read GET') } });
  expect(secrets).toMatchObject({ ends: 1, exceptions: ['body'], status: { code: 2, message: 'body' } });
  await transport.close();
  await expect(traced(tracer, 'outer', { a: 1 }, () => Promise.reject(new TypeError('bug')))).rejects.toThrow('bug');
  expect(tracer.spans[2]).toMatchObject({
    exceptions: ['TypeError: bug'],
    status: { code: 2, message: 'bug' },
    ends: 1,
  });
});

it('a request that is repeated is one span; what failed on the way is not its end', async () => {
  await using server = await scriptedServer();
  const tracer = new Recorder();
  const transport = server.transport({ tracer });
  const asked = transport.request('GET', '/version');
  (await server.next()).request.socket.destroy();
  const second = await server.next();
  expect(second.request.headers.traceparent).toBe(`00-${'a'.repeat(32)}-${tracer.spans[0]?.id}-01`);
  answer(second, 200, {});
  await asked;
  expect(tracer.spans).toHaveLength(1);
  expect(tracer.spans[0]).toMatchObject({ name: 'GET /version', status: undefined, exceptions: [], ends: 1 });
  expect(tracer.spans[0]?.attributes['http.request.resend_count']).toBe(1);
});
