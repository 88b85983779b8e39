/** HEAD: of custom kinds it is answered as a GET is, without the body; of built-in kinds it is no method. */
import { expect, it } from 'vitest';
import { eventually, startTestServer } from '../../../../src/testing/index.ts';

const KITES = '/apis/toys.example.com/v1/namespaces/default/kites';
const definition = {
  metadata: { name: 'kites.toys.example.com' },
  spec: {
    group: 'toys.example.com',
    scope: 'Namespaced',
    names: { plural: 'kites', kind: 'Kite' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: { status: {} },
      },
    ],
  },
};

it.each(['http1', 'http2'] as const)('a HEAD of custom objects by %s', async (protocol) => {
  await using server = await startTestServer();
  await server.client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  await eventually(() => server.client.list(KITES));
  const tail = 'long '.repeat(2_000);
  for (let i = 0; i < 20; i++)
    await server.client.create(KITES, {
      apiVersion: 'toys.example.com/v1',
      kind: 'Kite',
      metadata: { name: `a${i}` },
      spec: { tail },
    });
  const client = server.connect({ protocol, maxSockets: 1 });
  for (const path of [`${KITES}/a0`, `${KITES}/a0/status`, KITES, '/apis/toys.example.com/v1/kites', `${KITES}/none`]) {
    const got = await client.ask('GET', path);
    const { status, headers, body } = await client.ask('HEAD', path);
    expect({ status, type: headers['content-type'], length: headers['content-length'], body: body.length }).toEqual({
      status: path.endsWith('none') ? 404 : 200,
      type: got.headers['content-type'],
      length: String(got.body.length),
      body: 0,
    });
  }
  const refused = [`${KITES}?watch=1`, '/api/v1/namespaces/default/configmaps', '/api/v1/namespaces/default'];
  for (const path of refused) {
    const [plain = '', search] = path.split('?');
    const query = Object.fromEntries(new URLSearchParams(search));
    expect(await client.ask('HEAD', plain, { query })).toMatchObject({ status: 405, body: Buffer.alloc(0) });
  }
});
