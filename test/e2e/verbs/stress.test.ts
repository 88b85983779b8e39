/** `longwatch stress` against a real server: its bounds, its report, and that it finds what it is there to find. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StressFlags, stress } from '../../../src/cli/commands/stress/stress-command.ts';
import { startFaultProxy, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { runToEnd, TestIo } from '../../support/cli/test-io.ts';
import { until } from '../../support/client/client-under-test.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const flags = (more: Partial<StressFlags> = {}): StressFlags => ({
  kubeconfig: server.kubeconfigPath,
  rate: 1000,
  watchers: 3,
  count: 40,
  duration: 60_000,
  size: 10,
  ...more,
});
const left = async () => {
  const { items } = await server.client.list('/api/v1/namespaces/default/configmaps?labelSelector=longwatch-stress');
  return items.length;
};

describe('longwatch stress', () => {
  it('ends after the count; every watcher was told of everything, and nothing is left', async () => {
    const { code, out } = await runToEnd(stress(flags({ output: 'json' })));
    const report = JSON.parse(out);
    expect(report).toMatchObject({ objects: 40, deleted: 40, watchers: 3, gaps: 0, expired: 0, errors: {} });
    expect(report.events).toBe(3 * 80);
    expect(report.eventMs.p50).toBeGreaterThan(0);
    expect(report.memoryBytes.most).toBeGreaterThan(0);
    expect({ code, left: await left() }).toEqual({ code: 0, left: 0 });
  });

  it('ends after the time', async () => {
    const { code, out } = await runToEnd(stress(flags({ rate: 1, count: 1_000_000, duration: 50, output: 'json' })));
    expect({ code, made: JSON.parse(out).objects }).toEqual({ code: 0, made: 1 });
  });

  it('prints a table for people', async () => {
    const { lines } = await runToEnd(stress(flags({ count: 3 })));
    expect(lines.map((line) => line.split('  ')[0])).toEqual([
      'objects',
      'writes',
      'events',
      '410s',
      'gaps',
      'errors',
      'server memory',
    ]);
    expect(lines[4]).toContain('none');
  });

  it('counts 410s and the lists that follow, and these close every gap', async () => {
    await using proxy = await startFaultProxy(server);
    const verb = stress(flags({ kubeconfig: proxy.kubeconfigPath, count: 100, rate: 50, watchers: 2, output: 'json' }));
    await using io = new TestIo(verb);
    await until(() => proxy.requests.filter(({ method }) => method === 'POST').length > 5);
    expect(proxy.sendError('watch', 410)).toBe(2);
    await until(() => proxy.requests.filter(({ kind }) => kind === 'list').length >= 4);
    await io.ended;
    expect(JSON.parse(io.out)).toMatchObject({ expired: 2, relists: 2, gaps: 0 });
  }, 60_000);

  it('a watcher that is told nothing any more is a gap, and exit code 3', async () => {
    await using proxy = await startFaultProxy(server);
    const verb = stress(flags({ kubeconfig: proxy.kubeconfigPath, count: 20, watchers: 1, output: 'json' }), {
      drainMs: 200,
    });
    await using io = new TestIo(verb);
    await until(() => proxy.open.some(({ kind, code }) => kind === 'watch' && code === 200));
    expect(proxy.stall('watch')).toBe(1);
    expect(await io.ended).toBe(3);
    expect(JSON.parse(io.out).gaps).toBeGreaterThan(0);
  }, 60_000);

  it('an interrupt leaves nothing behind', async () => {
    await using proxy = await startFaultProxy(server);
    const endless = { kubeconfig: proxy.kubeconfigPath, rate: 50, count: 1_000_000, duration: 600_000 };
    await using io = new TestIo(stress(flags(endless)));
    await until(() => proxy.requests.some(({ method, code }) => method === 'POST' && code === 201));
    await io.interrupt();
    await until(async () => (await left()) === 0);
  });

  it('what is out of bounds is refused', async () => {
    expect(await runToEnd(stress(flags({ watchers: 100_000 })))).toMatchObject({ code: 2, err: /--watchers 100000/ });
  });
});
