/**
 * Nodes that are only pretended: what `kubectl get nodes` shows of them, and what Pods select them by. They are Ready from the
 * beginning and stay so, and have room for everything.
 */
import { isPretendNode, PRETEND_LABEL, rfc3339, wallNow } from '../../api/index.ts';
import { corev1, type KubeClient, mergePatch } from '../../client/index.ts';

const NOT_READY = 'node.kubernetes.io/not-ready';
/** That of the API that is served. */
const VERSION = 'v1.36.4';
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
const architecture = ARCHITECTURES[process.arch] ?? process.arch;
const ROOM = { cpu: '64', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '1000' };

export function pretendNodeNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `node-${index + 1}`);
}

/** Makes the nodes, or takes over those of an earlier run. Refuses a cluster that has nodes of its own. */
export async function registerNodes(client: KubeClient, names: readonly string[], signal: AbortSignal): Promise<void> {
  const known = (await client.resource(corev1.nodes).list({ signal })).items;
  const real = known.find((node) => !isPretendNode(node));
  if (real)
    throw new Error(`Cannot pretend to be a cluster: node "${real.metadata.name}" is real, and so are its controllers`);
  for (const [index, name] of names.entries()) {
    const labels = {
      [PRETEND_LABEL]: 'true',
      'kubernetes.io/hostname': name,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': architecture,
    };
    const nodes = client.resource(corev1.nodes);
    const before = known.find(({ metadata }) => metadata.name === name);
    if (!before) await nodes.create({ metadata: { name, labels }, spec: {} }, { signal });
    else if (Object.entries(labels).some(([key, value]) => before.metadata.labels?.[key] !== value))
      await nodes.patch(name, mergePatch<corev1.Node>({ metadata: { labels } } as object), { signal });
    const status = nodeStatus(name, index);
    const node = await nodes.status.patch(name, mergePatch<corev1.Node>({ status }), { signal });
    // A new node is kept free until it is ready; whoever looks after real ones would say so now.
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== NOT_READY);
    const spec = { taints: taints.length > 0 ? taints : null };
    if (taints.length !== (node.spec?.taints ?? []).length)
      await client.resource(corev1.nodes).patch(name, mergePatch<corev1.Node>({ spec }), { signal });
  }
}

export function addressOfNode(index: number): string {
  return `10.63.${(index + 1) >> 8}.${(index + 1) & 255}`;
}

function nodeStatus(name: string, index: number): NonNullable<corev1.Node['status']> {
  const now = rfc3339(wallNow());
  const condition = (type: string, status: 'True' | 'False', reason: string, message: string) => ({
    ...{ type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime: now },
  });
  return {
    conditions: [
      condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
      condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
      condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
      condition('Ready', 'True', 'KubeletReady', 'this node is only pretended'),
    ],
    addresses: [
      { type: 'InternalIP', address: addressOfNode(index) },
      { type: 'Hostname', address: name },
    ],
    capacity: ROOM,
    allocatable: ROOM,
    nodeInfo: {
      architecture,
      operatingSystem: 'linux',
      osImage: 'only pretended',
      kernelVersion: 'none',
      containerRuntimeVersion: 'pretended://0',
      kubeletVersion: VERSION,
      kubeProxyVersion: '',
      machineID: '',
      systemUUID: '',
      bootID: '',
    },
  };
}
