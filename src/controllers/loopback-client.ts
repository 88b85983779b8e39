/**
 * The clients of controllers that run beside a server, in its process: over connections in memory, each controller as the
 * account it has in a real cluster, by a secret that only that process knows.
 *
 * What they write is theirs as it is of kube-controller-manager, kube-scheduler and kubelet: so it says in managedFields.
 */
import type { Duplex } from 'node:stream';
import { KubeClient, KubeConfig, tokenCredentials } from '../client/index.ts';

export type LoopbackOptions = {
  /** Where the server has written how to reach it: for its authority. */
  readonly kubeconfigPath: string;
  readonly token: string;
  /** A new connection to the server. */
  readonly dial: () => Duplex;
};

/** The client of a controller, by its name in `--controllers`, or of the scheduler or the kubelet. */
export type ClientFor = (name: string) => KubeClient;

export type Loopback = {
  /** Of whoever runs them. It is the caller's to close, and all others with it. */
  readonly client: KubeClient;
  readonly clientFor: ClientFor;
  /** What the server's certificate leads to. */
  readonly authorityPem: string;
};

const MANAGER = 'kube-controller-manager';
/** Where the account of a controller is not called as the controller is. */
const ACCOUNTS: Readonly<Record<string, string>> = {
  'garbage-collector-controller': 'generic-garbage-collector',
  'serviceaccount-controller': 'service-account-controller',
  'token-cleaner-controller': 'token-cleaner',
  'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
  'persistentvolumeclaim-protection-controller': 'pvc-protection-controller',
  'persistentvolume-protection-controller': 'pv-protection-controller',
  'persistentvolume-binder-controller': 'persistent-volume-binder',
  'persistentvolume-binder-controller-volumes': 'persistent-volume-binder',
  'daemonset-controller': 'daemon-set-controller',
  'replicationcontroller-controller': 'replication-controller',
  'endpoints-controller': 'endpoint-controller',
  'pod-garbage-collector-controller': 'pod-garbage-collector',
  'certificatesigningrequest-cleaner-controller': 'certificate-controller',
  scheduler: 'kube-scheduler',
};
/** It makes what accounts are known by, and so has none itself. */
const TOKENS = 'serviceaccount-token-controller';
/** Who writes as somebody else than kube-controller-manager. */
const PROGRAMS: Readonly<Record<string, string>> = { scheduler: 'kube-scheduler', kubelet: 'kubelet' };

export async function connectLoopback({ kubeconfigPath, token, dial }: LoopbackOptions): Promise<Loopback> {
  const config = await KubeConfig.load({ paths: [kubeconfigPath] });
  const { namespace, authority } = config.access({ env: {} });
  const server = new URL('http://localhost');
  const userAgent = `${MANAGER}/longwatch`;
  const client = new KubeClient({ server, namespace, dial, credentials: tokenCredentials(token) }, { userAgent });
  const clients = new Map<string, KubeClient>();
  return {
    client,
    authorityPem: typeof authority === 'string' ? authority : '',
    clientFor(name) {
      if (name === TOKENS) return client;
      let found = clients.get(name);
      if (!found) {
        const account = ACCOUNTS[name] ?? name;
        const agent = `${PROGRAMS[name] ?? MANAGER}/longwatch ${account}`;
        found = client.as(tokenCredentials(`${token}.${account}`), { userAgent: agent });
        clients.set(name, found);
      }
      return found;
    },
  };
}
