/** Looking inside with a real kubectl: tables, `-w`, `describe`, `explain`, refusals, and ending a watch. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startTestServer } from '../../../src/testing/index.ts';
import { eventually } from '../../support/eventually.ts';
import { Kubectl, kubectls } from './kubectl.ts';

const found = kubectls();
if (found.length === 0) it.skip('kubectl (skipped: there is none, and none could be fetched)', () => {});

const GROUP = 'introspection.longwatch.dev';

it.each(found)(
  'kubectl $version looks inside',
  async ({ path }) => {
    const home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
    await using server = await startTestServer({ introspection: true });
    try {
      const kubectl = new Kubectl(path, server.kubeconfigPath, home);
      const resources = await kubectl.run('api-resources', '--api-group', GROUP);
      for (const kind of ['Watch', 'WatchCache', 'Expiration', 'FlowLevel', 'ObjectHistory'])
        expect(resources).toMatch(new RegExp(` ${kind}\\s*$`, 'm'));

      await kubectl.run('create', 'configmap', 'a', '--from-literal=k=1');
      await using watching = kubectl.start('get', 'configmaps', '-w');
      await watching.until(/^a /m);
      const name = await eventually(async () => {
        const table = await kubectl.run('get', 'watches');
        expect(table).toMatch(/^NAME +USER +RESOURCE +NAMESPACE +STATE +REVISION +BEHIND +SECONDS +UNREAD +AGE$/m);
        const [, found] =
          /^(configmaps-\d+) +kubernetes-admin +configmaps +default +Live +\d+ +0 +0 +0 /m.exec(table) ?? [];
        expect(found).toBeDefined();
        return found!;
      });
      expect(await kubectl.run('get', 'watches', '-A')).toContain(name);
      expect(await kubectl.run('get', 'wa', '-o', 'wide')).toMatch(/EVENTS +BYTES +BOOKMARKS .* ADDRESS +AGENT/);
      const described = await kubectl.run('describe', 'watch', name);
      expect(described).toMatch(/User: +kubernetes-admin/);
      expect(described).toMatch(/State: +Live/);
      expect(await kubectl.run('explain', 'watches.status.behind')).toMatch(/seconds\s+<integer>/);

      await using looking = kubectl.start('get', 'watches', '-w');
      await looking.until(new RegExp(`^${name} `, 'm'));
      expect(await kubectl.run('delete', 'watch', name)).toContain(`"${name}" deleted`);
      await watching.ended(); // a clean end of the stream is an end of `get -w`
      await using another = kubectl.start('get', 'secrets', '-w');
      await looking.until(/^secrets-\d+ +kubernetes-admin/m);
      await another[Symbol.asyncDispose]();

      expect(await kubectl.run('get', 'watchcaches')).toMatch(/^configmaps +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +\d/m);
      expect(await kubectl.run('get', 'flowlevels')).toMatch(/^workload-low +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +\d+$/m);
      expect(await kubectl.run('get', 'expirations')).toBe('');

      await kubectl.run('patch', 'configmap', 'a', '-p', '{"data":{"k":"2"}}');
      const history = await kubectl.run('get', 'objecthistory', 'cm:a');
      expect(history).toMatch(
        /^REVISION +AGE +CHANGE +MANAGER +USER +FIELDS\n\d+ +\S+ +Updated +kubectl-patch +kubernetes-admin +data\.k\n\d+ +\S+ +Created +kubectl-create +kubernetes-admin/,
      );
      expect(await kubectl.run('describe', 'objecthistory', 'configmaps:a')).toMatch(/Change: +Created/);

      const denied = await kubectl.try(['get', 'watches', '--as', 'alice']);
      expect(denied.code).toBe(1);
      expect(denied.err).toContain(
        `watches.${GROUP} is forbidden: User "alice" cannot list resource "watches" in API group "${GROUP}" at the cluster scope`,
      );
      await kubectl.run('create', 'clusterrole', 'look', '--verb=get,list,watch', `--resource=watches.${GROUP}`);
      await kubectl.run('create', 'clusterrolebinding', 'look', '--clusterrole=look', '--user=alice');
      await eventually(() => kubectl.run('get', 'watches', '--as', 'alice'));
      const refused = await kubectl.try(['delete', 'watches', 'none', '--as', 'alice']);
      expect(refused.err).toContain('cannot delete resource "watches"');
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
  120_000,
);
