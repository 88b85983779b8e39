/** The typed client through a network that misbehaves. Between server and client stands a proxy that the test commands. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Interruption } from '../../../src/client/advanced.ts';
import { isTransportError, mergePatch } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf, adminThrough, until } from '../../support/client/client-under-test.ts';
import { networkFaults, startTcpProxyTo } from '../../support/tcp-proxy.ts';

const portOf = (server: TestServer) => Number(new URL(server.url).port);

it.each(networkFaults)(
  'a network that %s, again and again, loses no event and repeats none',
  async (_fault, strike) => {
    await using server = await startTestServer();
    await using proxy = await startTcpProxyTo(server);
    await using writer = await adminOf(server);
    await using client = await adminThrough(server, proxy.port);
    const maps = writer.resource(configMaps);
    const { resourceVersion } = (await maps.create({ metadata: { name: 'a' } })).metadata;
    const seen: string[] = [];
    const interruptions: Interruption[] = [];
    const stop = new AbortController();
    const run = (async () => {
      const watch = client.watchResuming(configMaps, {
        resourceVersion,
        signal: stop.signal,
        backoff: { minMs: 1, maxMs: 10 },
        idleTimeoutMs: 200,
        onInterruption: (interruption) => void interruptions.push(interruption),
      });
      for await (const { type, object } of watch) if (type !== 'BOOKMARK') seen.push(object.metadata.resourceVersion);
    })();
    const written: string[] = [];
    const write = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const changed = await maps.patch('a', mergePatch({ data: { v: `${written.length}-ü` } }));
        written.push(changed.metadata.resourceVersion);
      }
    };
    for (let round = 0; round < 5; round++) {
      await write(5);
      await until(() => seen.length > 0 && proxy.open > 0);
      strike(proxy);
      await write(5);
    }
    await until(() => seen.length >= written.length);
    stop.abort(new Error('over'));
    await expect(run).rejects.toThrow('over');
    expect(seen).toEqual(written);
    expect(interruptions.length).toBeGreaterThan(0);
    for (const { error } of interruptions) expect(error === undefined || isTransportError(error)).toBe(true);
  },
  60_000,
);

it('a server that refuses connections for a while is waited for', async () => {
  await using server = await startTestServer();
  await using proxy = await startTcpProxyTo(server);
  await using writer = await adminOf(server);
  await using client = await adminThrough(server, proxy.port);
  const { resourceVersion } = (await writer.resource(configMaps).list()).metadata;
  proxy.refuses = true;
  await expect(client.resource(configMaps).list()).rejects.toMatchObject({ name: 'TransportError', phase: 'connect' });
  const failures: unknown[] = [];
  const next = client
    .watchResuming(configMaps, {
      resourceVersion,
      backoff: { minMs: 1, maxMs: 10 },
      onInterruption: ({ error }) => void failures.push(error),
    })
    .next();
  await until(() => failures.length >= 3);
  proxy.refuses = false;
  await writer.resource(configMaps).create({ metadata: { name: 'a' } });
  expect((await next).value).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } });
  expect(failures.every((error) => isTransportError(error, 'connect'))).toBe(true);
});

it('connections do not pile up: many broken watches leave none behind', async () => {
  await using server = await startTestServer();
  await using proxy = await startTcpProxyTo(server);
  await using client = await adminThrough(server, proxy.port);
  for (let i = 0; i < 20; i++) {
    const stop = new AbortController();
    const reason = new Error('enough');
    const onOpen = () => stop.abort(reason);
    const watch = client.watch(configMaps, { resourceVersion: '1', signal: stop.signal, onOpen });
    await expect(watch.next()).rejects.toBe(reason);
  }
  await until(() => proxy.open === 0);
  expect(proxy.opened).toBe(20); // one each
});

it('a certificate of another name or authority is refused before anything is sent', async () => {
  await using server = await startTestServer();
  // In a folder of its own: those of one process share their authority else.
  await using other = await startTestServer({ dataDir: mkdtempSync(join(server.dataDir, 'other-')) });
  await using client = await adminThrough(server, portOf(other));
  await expect(client.resource(configMaps).list()).rejects.toMatchObject({
    name: 'TransportError',
    phase: 'connect',
    code: expect.stringMatching(/CERT|SIGN/),
  });
});
