/** `longwatch snapshot`: online over etcd's protocol, with certificates; from a folder; restored, and looked at. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { restore } from '../../../src/cli/commands/snapshot/restore.ts';
import { save } from '../../../src/cli/commands/snapshot/save.ts';
import { status } from '../../../src/cli/commands/snapshot/status.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { runToEnd } from '../../support/cli/test-io.ts';
import { etcdVersion, startEtcd } from '../../support/etcd-server.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const path = '/api/v1/namespaces/default/configmaps';

describe('longwatch snapshot', () => {
  it('saves a server that runs, with the certificates of its kubeconfig; the copy has everything', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer({ etcdListenClientUrls: ['https://127.0.0.1:0'] });
    await server.client.create(path, { metadata: { name: 'kept' } });
    const file = join(folder.path, 'backup.db');
    const flags = { endpoints: [...server.etcdUrls], dataDir: 'none', kubeconfig: server.kubeconfigPath };
    const saved = await runToEnd(save(file, flags));
    expect(saved).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^saved .*backup\.db: .*sha256 [0-9a-f]{64}$/m),
    });
    const looked = JSON.parse((await runToEnd(status(file, { output: 'json' }))).out);
    expect(looked.records).toBeGreaterThan(0);
    const dataDir = join(folder.path, 'restored');
    const restored = await runToEnd(restore(file, { dataDir, bumpRevision: 1_000_000 }));
    expect(restored).toMatchObject({ code: 0, err: expect.stringContaining(`longwatch serve --data-dir ${dataDir}`) });
    await using again = await startTestServer({ dataDir });
    expect((await again.client.get(`${path}/kept`)).metadata.name).toBe('kept');
  });

  it('without certificates a server that asks for them is refused, with what to give', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer({ etcdListenClientUrls: ['https://127.0.0.1:0'] });
    const flags = { endpoints: [...server.etcdUrls], dataDir: 'none' };
    const { code, err } = await runToEnd(save(join(folder.path, 'b'), flags));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('--cacert') });
    expect(existsSync(join(folder.path, 'b'))).toBe(false);
  });

  it('a folder that is in use is refused with the way that works; a stopped one is saved', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer();
    const file = join(folder.path, 'backup');
    const inUse = await runToEnd(save(file, { dataDir: server.dataDir }));
    expect(inUse).toMatchObject({ code: 1, err: expect.stringContaining('--etcd-listen-client-urls') });
    await server.stop();
    const saved = await runToEnd(save(file, { dataDir: server.dataDir, output: 'json' }));
    expect(saved.code).toBe(0);
    const { sha256, revision } = JSON.parse(saved.out);
    const looked = JSON.parse((await runToEnd(status(file, { output: 'json' }))).out);
    expect(looked).toMatchObject({ sha256, revision });
    expect((await runToEnd(save(file, { dataDir: server.dataDir }))).err).toContain('exists already');
  });

  it('what is damaged or not there is said, and nothing is made of it', async () => {
    await using folder = await temporaryDir();
    await using server = await startTestServer();
    await server.stop();
    const file = join(folder.path, 'backup');
    await runToEnd(save(file, { dataDir: server.dataDir }));
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(file, bytes);
    const dataDir = join(folder.path, 'restored');
    expect(await runToEnd(status(file, {}))).toMatchObject({ code: 1, err: expect.stringContaining('checksum') });
    expect(await runToEnd(restore(file, { dataDir, bumpRevision: 0 }))).toMatchObject({ code: 1 });
    expect(existsSync(join(dataDir, 'store', 'data.mdb'))).toBe(false);
    expect(await runToEnd(status(join(folder.path, 'no'), {}))).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is none'),
    });
    expect(await runToEnd(save(join(folder.path, 'x'), { dataDir: join(folder.path, 'no') }))).toMatchObject({
      code: 1,
      err: expect.stringContaining('--endpoints'),
    });
  });

  it.skipIf(!etcdVersion())('saves a real etcd, and that becomes a folder of ours (needs etcd)', async () => {
    await using folder = await temporaryDir();
    await using etcd = await startEtcd();
    const servers = [...etcd.urls];
    {
      await using server = await startTestServer({ etcd: { servers } });
      await server.client.create(path, { metadata: { name: 'of-etcd' } });
    }
    const file = join(folder.path, 'etcd.db');
    expect((await runToEnd(save(file, { endpoints: servers, dataDir: 'none' }))).code).toBe(0);
    const dataDir = join(folder.path, 'data');
    expect((await runToEnd(restore(file, { dataDir, bumpRevision: 1000 }))).code).toBe(0);
    await using server = await startTestServer({ dataDir });
    expect((await server.client.get(`${path}/of-etcd`)).metadata.name).toBe('of-etcd');
  });
});
