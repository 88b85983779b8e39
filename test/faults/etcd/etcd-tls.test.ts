/** The etcd store over TLS with client certificates, and what it says when one side does not accept the other. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { type EtcdCluster, etcdVersion, startEtcd } from '../../support/etcd-server.ts';
import { hasOpenssl, makeCertificates } from './certificates.ts';

const missing = [...(etcdVersion() ? [] : ['etcd']), ...(hasOpenssl() ? [] : ['openssl'])].join(' and ');

describe.skipIf(missing)(`etcd over TLS${missing && ` (skipped: no ${missing} on the PATH)`}`, () => {
  let folder = '';
  let cluster: EtcdCluster;
  let tls: { ca: Buffer; cert: Buffer; key: Buffer };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'longwatch-tls-'));
    const paths = makeCertificates(folder);
    tls = { ca: readFileSync(paths.ca), cert: readFileSync(paths.cert), key: readFileSync(paths.key) };
    cluster = await startEtcd({ tls: paths });
  });
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (options: object) => openEtcdStore({ endpoints: cluster.urls, requestTimeoutMs: 200, ...options });

  it.each([{}, { serverName: 'etcd.test' }])(
    'reads, writes and watches with a client certificate and %j',
    async (more) => {
      await using store = await open({ tls: { ...tls, ...more }, requestTimeoutMs: 5000 });
      await using watch = store.watch({ key: 'k' });
      await watch.started();
      const { revision } = await store.txn({ then: [{ kind: 'put', key: 'k', value: Buffer.from('v') }] });
      expect((await store.get('k')).kv?.modRevision).toBe(revision);
      expect((await watch.next()).value?.revision).toBe(revision);
    },
  );

  it.each<[claim: string, options: () => object, found: RegExp]>([
    ['without a client certificate', () => ({ tls: { ca: tls.ca } }), /alert|closed|reset|hang/i],
    ['of an authority it does not trust', () => ({ tls: { cert: tls.cert, key: tls.key } }), /certificate/],
    ['for another name', () => ({ tls: { ...tls, serverName: 'other.test' } }), /other\.test/],
    ['that speaks TLS when it does not', () => ({ endpoints: [cluster.urls[0]!.replace('https', 'http')] }), /./],
  ])('refuses a connection %s: Unavailable, since nothing can have been sent', async (_claim, options, found) => {
    const error = await open(options()).then(
      (store) => store.close(),
      (err: unknown) => err as Error,
    );
    expect(error).toMatchObject({ name: 'StoreError', code: 'Unavailable', message: expect.stringMatching(found) });
  });
});
