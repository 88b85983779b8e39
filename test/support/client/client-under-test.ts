/** Clients of a real server over TLS, as any user has them: made from kubeconfigs. */
import type { AccessOptions } from '../../../src/client/advanced.ts';
import { type ClusterAccess, KubeClient, KubeConfig, type TransportOptions } from '../../../src/client/index.ts';
import type { TestServer } from '../../../src/testing/index.ts';

export async function accessOf(server: TestServer, options: AccessOptions = {}): Promise<ClusterAccess> {
  return (await KubeConfig.load({ paths: [server.kubeconfigPath] })).access({ env: {}, ...options });
}

export async function adminOf(server: TestServer, options: TransportOptions = {}): Promise<KubeClient> {
  return new KubeClient(await accessOf(server), options);
}

/** The same, through something that listens on another port of this machine. */
export async function adminThrough(
  server: TestServer,
  port: number,
  options: TransportOptions = {},
): Promise<KubeClient> {
  const access = await accessOf(server);
  return new KubeClient({ ...access, server: new URL(`https://127.0.0.1:${port}`) }, options);
}

/** Waits for something that no event tells of. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
