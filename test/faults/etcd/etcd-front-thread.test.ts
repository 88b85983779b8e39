/** The thread of the etcd front dies, again and again: clients go on at the same address, and nothing is lost or told twice. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { expect, it } from 'vitest';
import { makeAuthority } from '../../../src/certificates/certificate.ts';
import { startServer } from '../../../src/server/index.ts';
import { startFrontInThread } from '../../../src/server/workers/etcd-front-owner.ts';
import { isStoreError, openEtcdStore } from '../../../src/store/index.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { eventually } from '../../support/eventually.ts';
import { openTemporaryEmbedded } from '../../support/store/embedded-under-test.ts';
import { withOther } from '../../support/store/other-store.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const tls = { cert: '', key: '', clientAuthorities: [] };

it('another takes the place of one that dies: what was answered is there, and a watch has all of it, once', async () => {
  await using embedded = await openTemporaryEmbedded();
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  await using front = await startFrontInThread({ store: embedded.store, urls: ['http://127.0.0.1:0'], tls, log });
  const [url] = front.urls;
  await using client = await openEtcdStore({ endpoints: [url!] });
  const watch = client.watch({ prefix: '/w/' });
  await watch.started();

  const answered: string[] = [];
  for (let i = 0; answered.length < 60; i++) {
    if (i === 20 || i === 40) void front.terminate();
    const key = `/w/${String(i).padStart(4, '0')}`;
    try {
      await client.txn({ then: [{ kind: 'put', key, value: Buffer.from('x') }] });
      answered.push(key);
    } catch (err) {
      // Cut off on its way, or before: whoever writes must look; here the next key is written.
      if (!isStoreError(err, 'OutcomeUnknown') && !isStoreError(err, 'Unavailable')) throw err;
    }
  }
  const { kvs } = await embedded.store.range({ prefix: '/w/' });
  const stored = kvs.map(({ key }) => key);
  expect(stored).toEqual(expect.arrayContaining(answered));
  const seen: string[] = [];
  for await (const { events } of watch) {
    seen.push(...events.map(({ kv }) => kv.key));
    if (seen.length >= stored.length) break;
  }
  expect(seen).toEqual(stored);
  expect(front.urls).toEqual([url]);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toMatch(/^longwatch: the thread of the etcd front has ended with code 1; another takes its place$/);
});

it('a server with workers has it in a thread of its own, and says why it cannot listen', async () => {
  await using server = await startTestServer({ workers: 1, etcdListenClientUrls: ['http://127.0.0.1:0'] });
  await using client = await openEtcdStore({ endpoints: [...server.etcdUrls] });
  expect((await client.range({ prefix: '/registry/namespaces/' })).count).toBeGreaterThan(0);

  await using dir = await temporaryDir();
  const taken = new URL(server.etcdUrls[0]!).port;
  const start = (url: string) =>
    startServer({ dataDir: dir.path, securePort: 0, durability: 'none', workers: 1, etcdListenClientUrls: [url] });
  await expect(start(`http://127.0.0.1:${taken}`)).rejects.toThrow(
    `Cannot listen on 127.0.0.1 port ${taken}: another process has it; stop that one, or choose another with ` +
      '--etcd-listen-client-urls (port 0 picks a free one)',
  );
  await expect(start('http://0.0.0.0:0')).rejects.toThrow(/without TLS anybody who reaches it/);
});

it('certificates that change while another thread starts are those it serves with', async () => {
  await using embedded = await openTemporaryEmbedded();
  const validity = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 3_600_000) };
  const named = (commonName: string) => {
    const { certPem, keyPem } = makeAuthority({ commonName }, validity);
    return { cert: certPem, key: keyPem, clientAuthorities: [certPem] };
  };
  let onStart = () => {};
  const store = withOther(embedded.store, {
    get history() {
      queueMicrotask(onStart); // it is asked for when a thread is told to start
      return embedded.store.history!;
    },
  });
  const log = () => {};
  await using front = await startFrontInThread({ store, urls: ['https://127.0.0.1:0'], tls: named('old'), log });
  onStart = () => front.setTls(named('new'));
  await front.terminate();
  const { port } = new URL(front.urls[0]!);
  const servedName = async () => {
    const socket = connect({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    socket.destroy();
    return subject.CN;
  };
  expect(await eventually(servedName)).toBe('new');
});
