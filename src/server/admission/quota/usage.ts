/**
 * What an object uses of what quotas count, by kind: Pods, Services and claims, for volumes and for devices, in several
 * ways, everything else as one of its kind. Which names of a quota a kind is counted under is known here too.
 */
import { type JsonObject, type KubeObject, Quantity } from '../../../api/index.ts';
import { qualifiedName, type Resource } from '../../registry/resource.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { isExtendedResource, isHugePages, isNative } from '../../strategy/validation/resource-names.ts';
import { type Amounts, chargedPodAmounts } from '../pod-amounts.ts';

export type Usage = {
  /** Whether a quota's resource of this name counts objects of the kind. */
  counts(name: string): boolean;
  /** `now` in milliseconds. */
  of(object: KubeObject, now: number): Map<string, Quantity>;
};

/** In front of a device class: what stands for its devices where resources of containers are named. */
const DEVICE_PREFIX = 'deviceclass.resource.kubernetes.io/';
const DEVICE_SUFFIX = '.deviceclass.resource.k8s.io/devices';
const DEVICE_CLAIMS = 'resourceclaims.resource.k8s.io';
/** As many as one claim can get: what "all" may come to. */
const MOST_DEVICES = 32;
const CLASS_SUFFIX = '.storageclass.storage.k8s.io/';
const COMPUTE = ['cpu', 'memory', 'ephemeral-storage'];
/** Counted by their bare names too. */
const BARE = ['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas'];

const count = (number: number): Quantity => new Quantity(BigInt(number), 0, 'DecimalSI');

export function usageOf(resource: Resource): Usage {
  if (resource.isCustom) return countOf(resource);
  return ofKind[qualifiedName(resource)] ?? countOf(resource);
}

function countOf(resource: Resource): Usage {
  const name = qualifiedName(resource);
  const names = [`count/${name}`, ...(BARE.includes(name) && !resource.isCustom ? [name] : [])];
  return {
    counts: (counted) => names.includes(counted),
    of: () => new Map(names.map((one) => [one, count(1)])),
  };
}

const podNames: ReadonlySet<string> = new Set([
  'pods',
  'count/pods',
  ...COMPUTE,
  ...COMPUTE.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
]);
const serviceNames = ['services', 'count/services', 'services.nodeports', 'services.loadbalancers'];
const claimNames = ['persistentvolumeclaims', 'requests.storage'];

const ofKind: Readonly<Record<string, Usage>> = {
  pods: {
    counts: (name) =>
      podNames.has(name) ||
      isHugePages(name) ||
      name.startsWith('requests.hugepages-') ||
      (name.startsWith('requests.') && !isNative(name)) ||
      name.startsWith(`requests.${DEVICE_PREFIX}`),
    of: podUsage,
  },
  services: { counts: (name) => serviceNames.includes(name), of: serviceUsage },
  persistentvolumeclaims: {
    counts: (name) =>
      name === 'count/persistentvolumeclaims' ||
      claimNames.includes(name) ||
      claimNames.some((one) => name.endsWith(CLASS_SUFFIX + one)),
    of: claimUsage,
  },
  [DEVICE_CLAIMS]: {
    counts: (name) => name === `count/${DEVICE_CLAIMS}` || name.endsWith(DEVICE_SUFFIX),
    of: deviceUsage,
  },
};

/** A Pod that has ended, or should have, is only an object. */
function podUsage(pod: KubeObject, now: number): Map<string, Quantity> {
  const counted = new Map([['count/pods', count(1)]]);
  const phase = textAt(objectAt(pod as JsonObject, 'status'), 'phase');
  if (phase === 'Failed' || phase === 'Succeeded' || isOverdue(pod, now)) return counted;
  const [requests, limits] = [chargedPodAmounts(pod, 'requests'), chargedPodAmounts(pod, 'limits')];
  return new Map([...counted, ['pods', count(1)], ...computeUsage(requests, limits)]);
}

function isOverdue({ metadata }: KubeObject, now: number): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds: grace } = metadata;
  if (deletionTimestamp === undefined || grace === undefined) return false;
  return now > Date.parse(deletionTimestamp) + grace * 1000;
}

/** Under the names that quotas have for what containers ask for. */
export function computeUsage(requests: Amounts, limits: Amounts): Map<string, Quantity> {
  const usage = new Map<string, Quantity>();
  for (const [name, amount] of requests) {
    if (COMPUTE.includes(name) || isHugePages(name)) usage.set(name, amount).set(`requests.${name}`, amount);
    else if (isExtendedResource(name) || name.startsWith(DEVICE_PREFIX)) usage.set(`requests.${name}`, amount);
  }
  for (const [name, amount] of limits) if (COMPUTE.includes(name)) usage.set(`limits.${name}`, amount);
  return usage;
}

/** Node ports are counted by what will be given out, not by what is. */
function serviceUsage(service: KubeObject): Map<string, Quantity> {
  const spec = objectAt(service as JsonObject, 'spec');
  const ports = objectsAt(spec, 'ports');
  const type = textAt(spec, 'type');
  const isBalanced = type === 'LoadBalancer';
  const asksForNone = isBalanced && spec?.allocateLoadBalancerNodePorts === false;
  const asked = asksForNone ? ports.filter((port) => (numberAt(port, 'nodePort') ?? 0) !== 0) : ports;
  return new Map([
    ['count/services', count(1)],
    ['services', count(1)],
    ['services.loadbalancers', count(isBalanced ? 1 : 0)],
    ['services.nodeports', count(isBalanced || type === 'NodePort' ? asked.length : 0)],
  ]);
}

function claimUsage(claim: KubeObject): Map<string, Quantity> {
  const usage = new Map([
    ['persistentvolumeclaims', count(1)],
    ['count/persistentvolumeclaims', count(1)],
  ]);
  const spec = objectAt(claim as JsonObject, 'spec');
  const storage = storageOf(claim);
  if (storage) usage.set('requests.storage', storage);
  const beta = claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'];
  const storageClass = beta ?? textAt(spec, 'storageClassName');
  if (storageClass !== '')
    for (const name of claimNames) {
      const amount = usage.get(name);
      if (amount) usage.set(storageClass + CLASS_SUFFIX + name, amount);
    }
  return usage;
}

/** What is asked for, or while that shrinks what is still held; in whole bytes. */
function storageOf(claim: KubeObject): Quantity | undefined {
  const asked = objectAt(objectAt(objectAt(claim as JsonObject, 'spec'), 'resources'), 'requests')?.storage;
  if (asked === undefined) return undefined;
  const held = objectAt(objectAt(claim as JsonObject, 'status'), 'allocatedResources')?.storage;
  const [wanted, kept] = [quantityOf(String(asked)), quantityOf(String(held ?? '0'))];
  const greater = kept.compare(wanted) > 0 ? kept : wanted;
  return greater.scale >= 0 ? greater : new Quantity(greater.toBigInt(), 0, greater.format);
}

/** The most that it may get: of several ways to serve a request, of each class the one that takes most. */
function deviceUsage(claim: KubeObject): Map<string, Quantity> {
  const byClass = new Map<string, number>();
  for (const request of objectsAt(objectAt(objectAt(claim as JsonObject, 'spec'), 'devices'), 'requests')) {
    const most = new Map<string, number>();
    for (const way of waysToServe(request)) {
      const name = textAt(way, 'deviceClassName');
      most.set(name, Math.max(most.get(name) ?? 0, devicesOf(way)));
    }
    for (const [name, devices] of most) byClass.set(name, (byClass.get(name) ?? 0) + devices);
  }
  const usage = new Map([[`count/${DEVICE_CLAIMS}`, count(1)]]);
  for (const [name, devices] of byClass) usage.set(name + DEVICE_SUFFIX, count(devices));
  for (const [name, devices] of byClass) if (devices > 0) usage.set(`requests.${DEVICE_PREFIX}${name}`, count(devices));
  return usage;
}

function waysToServe(request: JsonObject): readonly JsonObject[] {
  const several = objectsAt(request, 'firstAvailable');
  if (several.length > 0) return several;
  const exactly = objectAt(request, 'exactly');
  return exactly ? [exactly] : [];
}

function devicesOf(way: JsonObject): number {
  switch (textAt(way, 'allocationMode')) {
    case 'ExactCount':
      return numberAt(way, 'count') ?? 0;
    case 'All':
      return MOST_DEVICES;
    default:
      return 0;
  }
}
