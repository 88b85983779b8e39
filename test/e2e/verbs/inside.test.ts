/**
 * `longwatch watches`, `history`, `why-gone` and `top` against a real server, `top` as built and in a pseudo-terminal; and
 * what they say of a cluster that cannot tell.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { history } from '../../../src/cli/commands/inside/history.ts';
import { watches } from '../../../src/cli/commands/inside/watches.ts';
import { whyGone } from '../../../src/cli/commands/inside/why-gone.ts';
import { top } from '../../../src/cli/commands/top/top-command.ts';
import { watchResource } from '../../../src/cli/commands/watch/follow.ts';
import { startFaultProxy, startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { hasScript, Terminal } from '../../support/cli/terminal.ts';
import { runToEnd, TestIo } from '../../support/cli/test-io.ts';
import { until } from '../../support/client/client-under-test.ts';
import { COMMAND } from '../cli/serve-command.ts';

/** A server for tests does not tell of itself unless it is asked to. */
const TELLS = { introspection: true };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(TELLS);
});
afterAll(() => server[Symbol.asyncDispose]());

const path = '/api/v1/namespaces/default/configmaps';
const cluster = () => ({ kubeconfig: server.kubeconfigPath });
const list = async () => JSON.parse((await runToEnd(watches({ ...cluster(), sort: 'lag', output: 'json' }))).out);
const mine = async () =>
  (await list()).filter(
    ({ spec }: { spec: { resource: string; userAgent: string } }) =>
      spec.resource === 'secrets' && spec.userAgent.includes('longwatch'),
  );

describe('longwatch watches', () => {
  it('shows a watch with who has it, and ends one; its client goes on', async () => {
    await using follower = new TestIo(watchResource('secrets', undefined, { ...cluster(), namespace: 'default' }));
    await until(async () => (await mine()).length === 1);
    const [{ metadata }] = await mine();
    const { code, lines } = await runToEnd(watches({ ...cluster(), sort: 'lag' }));
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^NAME +USER +RESOURCE +NAMESPACE +STATE +BEHIND/);
    expect(lines.find((line) => line.startsWith(metadata.name))).toMatch(/secrets +default +Live +0/);
    expect((await runToEnd(watches({ ...cluster(), sort: 'lag', end: metadata.name }))).out).toBe(
      `ended ${metadata.name}\n`,
    );
    await until(async () => {
      const [again] = await mine();
      return again !== undefined && again.metadata.name !== metadata.name;
    });
    await server.client.create('/api/v1/namespaces/default/secrets', { metadata: { name: 'seen' } });
    await follower.until(({ out }) => out.includes('default/seen'));
  });

  it('one that is not there is said', async () => {
    expect(await runToEnd(watches({ ...cluster(), sort: 'lag', end: 'nothing-1' }))).toMatchObject({
      code: 1,
      err: expect.stringContaining('not found'),
    });
  });
});

describe('longwatch history', () => {
  it('lists revisions, shows what is different, and what was', async () => {
    const first = await server.client.create(path, { metadata: { name: 'lamp' }, data: { state: 'off' } });
    const second = await server.client.ask('PUT', `${path}/lamp`, {
      body: { metadata: { name: 'lamp' }, data: { state: 'on' } },
    });
    const [a, b] = [first, JSON.parse(String(second.body)) as typeof first].map(
      ({ metadata }) => metadata.resourceVersion!,
    ) as [string, string];
    const flags = { ...cluster(), namespace: 'default' };
    const { code, lines } = await runToEnd(history('cm', 'lamp', flags));
    expect(code).toBe(0);
    expect(lines[1]).toMatch(new RegExp(`^${b} .*Updated.*data\\.state`));
    expect(lines[2]).toMatch(new RegExp(`^${a} .*Created`));
    const diff = await runToEnd(history('cm', 'lamp', { ...flags, diff: [a, b] }));
    expect(diff.out).toContain('~ data.state: "off" -> "on"');
    const then = await runToEnd(history('cm', 'lamp', { ...flags, revision: Number(a) }));
    expect(then.out).toContain("state: 'off'");
  });

  it.each([['one'], ['1', '2', '3'], ['1', 'x']])('--diff %s %s is a mistake', async (...diff) => {
    expect((await runToEnd(history('cm', 'lamp', { ...cluster(), diff }))).code).toBe(2);
  });

  it('an object without a history is said', async () => {
    const { code, err } = await runToEnd(history('cm', 'never', { ...cluster(), namespace: 'default' }));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('not found') });
  });
});

describe('longwatch why-gone', () => {
  it('explains the last 410, and one by its revision', async () => {
    await using other = await startTestServer(TELLS);
    const flags = { kubeconfig: other.kubeconfigPath };
    const none = await runToEnd(whyGone('last', flags));
    expect(none).toMatchObject({ code: 3, err: expect.stringContaining('Nobody was answered 410') });
    for (const name of ['a', 'b', 'c']) await other.client.create(path, { metadata: { name } });
    await other.expireHistory();
    await other.client.ask('GET', `${path}?watch=true&resourceVersion=5&timeoutSeconds=1`);
    const { code, out } = await runToEnd(whyGone('last', flags));
    expect(code).toBe(0);
    expect(out).toMatch(/asked for +watch of configmaps in default from revision 5/);
    expect(out).toMatch(/why +Compaction: /);
    expect(out).toMatch(/what to do +\w/);
    expect((await runToEnd(whyGone(5, flags))).out).toContain('revision 5');
    expect((await runToEnd(whyGone(6, flags))).code).toBe(3);
  });
});

describe('a cluster that cannot tell', () => {
  it('is said in a sentence by each of them', async () => {
    await using proxy = await startFaultProxy(server);
    proxy.answer({ code: 404, to: ({ path: asked }) => asked.includes('introspection.longwatch.dev'), times: 1e9 });
    const flags = { kubeconfig: proxy.kubeconfigPath };
    const verbs = [
      watches({ ...flags, sort: 'lag' }),
      history('cm', 'a', flags),
      whyGone('last', flags),
      top({ ...flags, interval: 1 }),
    ];
    for (const verb of verbs) {
      const { code, err } = await runToEnd(verb);
      expect(code).toBe(1);
      expect(err).toContain('does not serve introspection.longwatch.dev/v1alpha1');
      expect(err).toContain('longwatch doctor');
    }
  });
});

describe('longwatch top', () => {
  it('prints one look without a terminal', async () => {
    const { code, out } = await runToEnd(top({ ...cluster(), interval: 1000 }));
    expect(code).toBe(0);
    expect(out).toContain('longwatch top 127.0.0.1:');
    expect(out).toMatch(/store @\d+ .* -> caches \d+.* -> fan-out .* -> watches \d+/);
    expect(out).not.toContain('\x1b');
  });

  it.skipIf(!hasScript)(
    'draws, filters, opens, ends a watch and leaves the terminal as it was (needs script)',
    async () => {
      await using follower = new TestIo(watchResource('roles', undefined, { ...cluster(), namespace: 'default' }));
      const args = ['top', '--interval', '50ms', '--kubeconfig', server.kubeconfigPath];
      await using terminal = new Terminal([process.execPath, COMMAND, ...args]);
      await terminal.until((screen) => /roles\.rbac.*default/.test(screen));
      terminal.type('/roles\r');
      await terminal.until((screen) => /> (\S+).*roles\.rbac/.test(screen) && /filter: roles/.test(screen));
      terminal.type('\r');
      await terminal.until(
        (screen) => screen.includes('userAgent: longwatch-cli') && screen.includes('d end this watch'),
      );
      terminal.type('d');
      await terminal.until((screen) => /End \S+\? /.test(screen));
      terminal.type('y');
      await terminal.until((screen) => /ended \S+/.test(screen));
      terminal.type('q');
      expect((await terminal.exited)[0]).toBe(0);
      expect(terminal.output).toContain('\x1b[?1049h');
      expect(terminal.output.trimEnd().endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
      expect(await follower.interrupt()).toBe(0);
    },
  );
});
