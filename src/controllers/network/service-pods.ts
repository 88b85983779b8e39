/** Which Pods a Service means, and by which of their ports. */
import type { corev1, discoveryv1 } from '../../client/index.ts';

export function selects(selector: Readonly<Record<string, string>> = {}, { metadata }: corev1.Pod): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([label, value]) => metadata.labels?.[label] === value);
}

export function portsOf({ spec }: corev1.Service, pod: corev1.Pod): discoveryv1.EndpointPort[] {
  return (spec?.ports ?? []).flatMap(({ name = '', port, targetPort = port, protocol = 'TCP', appProtocol }) => {
    const found = typeof targetPort === 'number' ? targetPort : namedPort(pod, targetPort, protocol);
    return found === undefined ? [] : [{ name, port: found, protocol, ...(appProtocol && { appProtocol }) }];
  });
}

function namedPort({ spec }: corev1.Pod, name: string, protocol: string): number | undefined {
  return spec.containers
    .flatMap(({ ports = [] }) => ports)
    .find((port) => port.name === name && (port.protocol ?? 'TCP') === protocol)?.containerPort;
}
