/** What is told about services that are accepted: fields that are ignored, that are going away, or written oddly. */
import { type JsonObject, type KubeObject, quote } from '../../../api/index.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { warningsForAddress, warningsForRange } from '../../strategy/validation/ip-address.ts';

const hintsAnnotation = 'service.kubernetes.io/topology-aware-hints';
const modeAnnotation = 'service.kubernetes.io/topology-mode';

export function warningsForService(service: KubeObject): string[] {
  const spec = objectAt(service as JsonObject, 'spec') ?? {};
  const [type, balancerIp] = [textAt(spec, 'type'), textAt(spec, 'loadBalancerIP')];
  const [external, name] = [textsAt(spec, 'externalIPs'), textAt(spec, 'externalName')];
  const isHeadless = type === 'ClusterIP' && textAt(spec, 'clusterIP') === 'None';
  const isExternal = type === 'ExternalName';
  const warnings: string[] = [];
  const told: readonly (readonly [holds: boolean, text: string])[] = [
    [
      service.metadata.annotations?.[hintsAnnotation] !== undefined,
      `annotation ${hintsAnnotation} is deprecated, please use ${modeAnnotation} instead`,
    ],
    [isHeadless && balancerIp !== '', 'spec.loadBalancerIP is ignored for headless services'],
    [isHeadless && external.length > 0, 'spec.externalIPs is ignored for headless services'],
    [isHeadless && textAt(spec, 'sessionAffinity') !== 'None', 'spec.SessionAffinity is ignored for headless services'],
    [
      external.length > 0 && !isHeadless && !isExternal,
      'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    ],
    [external.length > 0 && isExternal, 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [name !== '' && !isExternal, 'spec.externalName is ignored when spec.type is not "ExternalName"'],
    [
      spec.trafficDistribution === 'PreferClose',
      `spec.trafficDistribution: ${quote('PreferClose')} is deprecated; use ${quote('PreferSameZone')}`,
    ],
  ];
  for (const [holds, text] of told) if (holds) warnings.push(text);
  for (const field of ['clusterIPs', 'externalIPs'])
    for (const [index, one] of textsAt(spec, field).entries())
      appendAll(warnings, warningsForAddress(`spec.${field}[${index}]`, one ?? ''));
  if (balancerIp !== '') appendAll(warnings, warningsForAddress('spec.loadBalancerIP', balancerIp));
  for (const [index, one] of textsAt(spec, 'loadBalancerSourceRanges').entries())
    appendAll(warnings, warningsForRange(`spec.loadBalancerSourceRanges[${index}]`, one ?? ''));
  return warnings;
}

/** Of the addresses under which it can be reached. */
export function warningsForBalancer(service: KubeObject): string[] {
  const balancer = objectAt(objectAt(service as JsonObject, 'status'), 'loadBalancer');
  return faultsOf(objectsAt(balancer, 'ingress'), (one, index) =>
    warningsForAddress(`status.loadBalancer.ingress[${index}]`, textAt(one, 'ip')),
  );
}
