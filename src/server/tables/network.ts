/** The tables of how things are reached: services, endpoints, ingresses, policies, addresses. */

import type { KubeObject } from '../../api/objects.ts';
import { type LabelSelectorObject, showLabelSelector } from '../../api/selectors/label-selector.ts';
import {
  ageColumn,
  column,
  firstOf,
  get,
  type KindTables,
  labelsText,
  list,
  nameColumn,
  number,
  scalarText,
  text,
  texts,
  wideColumn,
  withNameAndAge,
} from './columns.ts';

const shownInList = 3;

export const networkTables: KindTables = {
  '/services': {
    columns: [
      nameColumn,
      column('Type', (service) => text(service, 'spec', 'type')),
      column('Cluster-IP', (service) => texts(service, 'spec', 'clusterIPs')[0] ?? '<none>'),
      column('External-IP', externalIps),
      column('Port(s)', (service) => list(service, 'spec', 'ports').map(portText).join(',') || '<none>'),
      ageColumn,
      wideColumn('Selector', (service) => labelsText(service, 'spec', 'selector')),
    ],
  },
  '/endpoints': withNameAndAge(column('Endpoints', endpointAddresses)),
  'discovery.k8s.io/endpointslices': withNameAndAge(
    column('AddressType', (slice) => text(slice, 'addressType')),
    column('Ports', (slice) => {
      const ports = list(slice, 'ports').map((port) => scalarText(port, 'port') || '*');
      return firstOf(ports, shownInList) || '<unset>';
    }),
    column('Endpoints', (slice) => {
      const addresses = list(slice, 'endpoints').flatMap((endpoint) => texts(endpoint, 'addresses'));
      return firstOf(addresses, shownInList) || '<unset>';
    }),
  ),
  'networking.k8s.io/ingresses': withNameAndAge(
    column('Class', ingressClass),
    column('Hosts', (ingress) => {
      const hosts = list(ingress, 'spec', 'rules').map((rule) => text(rule, 'host'));
      return firstOf(hosts.filter(Boolean), shownInList) || '*';
    }),
    column('Address', loadBalancerAddresses),
    column('Ports', (ingress) => (list(ingress, 'spec', 'tls').length > 0 ? '80, 443' : '80')),
  ),
  'networking.k8s.io/ingressclasses': withNameAndAge(
    column('Controller', (object) => text(object, 'spec', 'controller')),
    column('Parameters', (object) => {
      const parameters = get(object, 'spec', 'parameters');
      if (!parameters) return '<none>';
      const group = text(parameters, 'apiGroup');
      const kind = text(parameters, 'kind');
      return `${group ? `${kind}.${group}` : kind}/${text(parameters, 'name')}`;
    }),
  ),
  'networking.k8s.io/networkpolicies': withNameAndAge(
    column('Pod-Selector', (policy) =>
      showLabelSelector(get(policy, 'spec', 'podSelector') as LabelSelectorObject | undefined),
    ),
  ),
  'networking.k8s.io/servicecidrs': withNameAndAge(
    column('CIDRs', (object) => texts(object, 'spec', 'cidrs').join(',')),
  ),
  'networking.k8s.io/ipaddresses': { columns: [nameColumn, column('ParentRef', parentReference)] },
};

function externalIps(service: KubeObject): string {
  const own = texts(service, 'spec', 'externalIPs').join(',');
  switch (text(service, 'spec', 'type')) {
    case 'ClusterIP':
    case 'NodePort':
      return own || '<none>';
    case 'LoadBalancer':
      return [loadBalancerAddresses(service), own].filter(Boolean).join(',') || '<pending>';
    case 'ExternalName':
      return text(service, 'spec', 'externalName');
    default:
      return '<unknown>';
  }
}

/** What the balancer of a service or an ingress answers at, sorted. */
function loadBalancerAddresses(object: KubeObject): string {
  const points = list(object, 'status', 'loadBalancer', 'ingress');
  const addresses = points.map((point) => text(point, 'ip') || text(point, 'hostname'));
  return [...new Set(addresses.filter(Boolean))].sort().join(',');
}

function portText(port: unknown): string {
  const nodePort = number(port, 'nodePort');
  const protocol = text(port, 'protocol');
  return nodePort > 0 ? `${number(port, 'port')}:${nodePort}/${protocol}` : `${number(port, 'port')}/${protocol}`;
}

function endpointAddresses(endpoints: KubeObject): string {
  const shown = list(endpoints, 'subsets').flatMap((subset) => {
    const addresses = list(subset, 'addresses').map((address) => text(address, 'ip'));
    const ports = list(subset, 'ports');
    if (ports.length === 0) return addresses;
    return ports.flatMap((port) => addresses.map((address) => joinHostPort(address, number(port, 'port'))));
  });
  return firstOf(shown, shownInList) || '<none>';
}

function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function ingressClass(ingress: KubeObject): string {
  const annotated = ingress.metadata.annotations?.['kubernetes.io/ingress.class'];
  return text(ingress, 'spec', 'ingressClassName') || annotated || '<none>';
}

function parentReference(address: KubeObject): string {
  const parent = get(address, 'spec', 'parentRef');
  if (!parent) return '<none>';
  const resource = [text(parent, 'resource'), text(parent, 'group')].filter(Boolean).join('.');
  return [resource.toLowerCase(), text(parent, 'namespace'), text(parent, 'name')].filter(Boolean).join('/');
}
