/** A server whose embedded store is an etcd for others: for a second server, and for those who may do everything. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeClientCertificate } from '../../../src/certificates/certificate.ts';
import { openEtcdStore } from '../../../src/store/index.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { CONFIG_MAPS } from '../../support/server/writers.ts';

it('two servers on one store, one of them through its etcd, see each other', async () => {
  await using first = await startTestServer({ etcdListenClientUrls: ['http://127.0.0.1:0'] });
  await using second = await startTestServer({ etcd: { servers: [...first.etcdUrls] } });
  for (const [writer, reader] of [
    [first, second],
    [second, first],
  ] as const) {
    const name = writer === first ? 'a' : 'b';
    const { metadata } = await reader.client.list(CONFIG_MAPS);
    await using watch = await reader.client.watch(CONFIG_MAPS, { resourceVersion: metadata.resourceVersion });
    const made = await writer.client.create(CONFIG_MAPS, { metadata: { name }, data: { by: name } });
    expect(await reader.client.get(`${CONFIG_MAPS}/${name}`)).toEqual(made);
    expect(await watch.take(1)).toMatchObject([{ type: 'ADDED', object: { metadata: { uid: made.metadata.uid } } }]);
  }
  const [mine, theirs] = await Promise.all([first, second].map(({ client }) => client.list(CONFIG_MAPS)));
  expect(mine).toEqual(theirs);
});

it.each([0, 1])('over TLS it lets in who may do everything, and nobody else, with %i workers', async (workers) => {
  await using server = await startTestServer({ workers, etcdListenClientUrls: ['https://127.0.0.1:0'] });
  const file = (name: string) => readFileSync(join(server.dataDir, 'pki', name), 'utf8');
  const endpoints = [...server.etcdUrls];
  const ca = file('ca.crt');
  const open = (tls: object) => openEtcdStore({ endpoints, tls: { ca, ...tls }, requestTimeoutMs: 500 });

  await using admin = await open({ cert: file('admin.crt'), key: file('admin.key') });
  expect((await admin.range({ prefix: '/registry/namespaces/' })).count).toBeGreaterThan(0);

  const key = createPrivateKey(file('ca.key'));
  const authority = { subject: { commonName: 'longwatch-ca' }, key, publicKey: createPublicKey(key) };
  const validity = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 3_600_000) };
  const user = makeClientCertificate(authority, { commonName: 'jane', organizations: ['developers'] }, validity);
  await expect(open({ cert: user.certPem, key: user.keyPem })).rejects.toMatchObject({ code: 'Unavailable' });
  await expect(open({})).rejects.toMatchObject({ code: 'Unavailable' });
});
