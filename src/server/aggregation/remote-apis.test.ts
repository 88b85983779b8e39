import { expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import type { Cacher } from '../storage/cacher/cacher.ts';
import type { StoredObject } from '../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../storage/resource-storage.ts';
import { RemoteApis } from './remote-apis.ts';
import type { RemoteParts } from './remote-server.ts';

type Listener = (current: StoredObject | undefined, previous: StoredObject | undefined) => void;

/** An APIService that is available, of the Service of that name. */
const serviceOf = (service: string): StoredObject => {
  const spec = {
    group: 'sea.example.com',
    version: 'v1',
    service: { namespace: 'default', name: service },
    insecureSkipTLSVerify: true,
  };
  const status = { conditions: [{ type: 'Available', status: 'True' }] };
  const name = 'v1.sea.example.com';
  return { name, parse: () => ({ metadata: { name }, spec, status }) } as unknown as StoredObject;
};

it('an APIService that moves while its old server is asked has the new one asked at once', async () => {
  let tell: Listener = () => {};
  const storage = {
    objects: {
      follow(listener: Listener) {
        tell = listener;
      },
    },
  };
  let failOld = (_error: Error) => {};
  const asked: string[] = [];
  const resources = { kind: 'APIResourceList', groupVersion: 'sea.example.com/v1', resources: [{ name: 'boats' }] };
  const pool = {
    request: async ({ path }: { path: string }) => ({
      statusCode: path === '/apis/sea.example.com/v1' ? 200 : 404,
      headers: {},
      body: (async function* () {
        yield Buffer.from(JSON.stringify(resources));
      })(),
    }),
  };
  const parts = {
    connections: { poolOf: () => pool },
    resolve: (_namespace: string, name: string) => {
      asked.push(name);
      if (name === 'new') return Promise.resolve({ host: '127.0.0.1', port: 1 });
      return new Promise((_resolve, reject) => {
        failOld = reject;
      });
    },
    clientCertificate: () => undefined,
  };
  const apis = new RemoteApis(storage as unknown as ResourceStorage<Cacher>, parts as unknown as RemoteParts);
  apis.start();
  const old = serviceOf('old');
  tell(old, undefined);
  expect(asked).toEqual(['old']);
  tell(serviceOf('new'), old);
  failOld(new Error('connection refused'));
  await eventually(() => {
    const { resources, isFresh } = apis.find('sea.example.com', 'v1')!;
    expect({ resources: resources?.length, isFresh }).toEqual({ resources: 1, isFresh: true });
  });
  await apis.close();
});
