/** Which Pods a Service means, and by which of their ports. */
import { corev1, type discoveryv1 } from '../../client/index.ts';
import type { MapContext } from '../../controller/index.ts';

function selects(selector: Readonly<Record<string, string>> = {}, { metadata }: corev1.Pod): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([label, value]) => metadata.labels?.[label] === value);
}

/** The Services that mean a Pod: what has to be looked at when it changes. */
export function servicesOf(
  pod: corev1.Pod,
  { cache }: Pick<MapContext<corev1.Pod>, 'cache'>,
): readonly corev1.Service[] {
  return cache
    .of(corev1.services)
    .list({ namespace: pod.metadata.namespace! })
    .filter(({ spec }) => selects(spec?.selector, pod));
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
