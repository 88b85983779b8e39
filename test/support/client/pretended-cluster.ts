/** A server with all controllers and so many pretended nodes, for all tests of a file; it ends with them. */
import { afterAll } from 'vitest';
import { corev1, type KubeClient } from '../../../src/client/index.ts';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { adminOf, until } from './client-under-test.ts';

type PretendedCluster = {
  readonly server: TestServer;
  readonly client: KubeClient;
  /** The name of one that nothing is in but what every namespace has. */
  readonly newNamespace: () => Promise<string>;
};

export async function pretendedCluster(pretendNodes: number): Promise<PretendedCluster> {
  const server = await startTestServer({ controllers: ['*'], pretendNodes });
  afterAll(() => server[Symbol.asyncDispose]());
  const client = await adminOf(server);
  afterAll(() => client.close()); // before the server: the last goes first
  let count = 0;
  const newNamespace = async () => {
    const name = `ns-${count++}`;
    await client.resource(corev1.namespaces).create({ metadata: { name } });
    await until(async () => (await client.resource(corev1.serviceAccounts, name).find('default')) !== undefined);
    return name;
  };
  return { server, client, newNamespace };
}
