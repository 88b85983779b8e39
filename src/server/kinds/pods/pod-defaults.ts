/**
 * What a pod spec says when its writer does not: alike for pods and for the templates of pods in other kinds.
 *
 * Values are kube-apiserver's, kept as data where they are no more than that. What only real pods get beyond
 * (service links, requests from limits, ports of the host) is in `setPodDefaults`.
 */
import type { JsonObject } from '../../../api/index.ts';
import { roundAmounts, roundResources } from '../../strategy/validation/amounts.ts';
import {
  ensureObject,
  fill,
  fillAbsent,
  isEmptyMap,
  isObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from '../../strategy/validation/fields.ts';
import { isHugePages } from '../../strategy/validation/resource-names.ts';
import { aggregateAmounts } from './containers/aggregate-requests.ts';
import { pullPolicyOf } from './containers/image-name.ts';
import { isOfPods } from './containers/resources.ts';

const specDefaults: JsonObject = {
  restartPolicy: 'Always',
  terminationGracePeriodSeconds: 30,
  dnsPolicy: 'ClusterFirst',
  schedulerName: 'default-scheduler',
};
const containerDefaults: JsonObject = {
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
};
const probeDefaults: JsonObject = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
const httpGetDefaults: JsonObject = { path: '/', scheme: 'HTTP' };
const portDefaults: JsonObject = { protocol: 'TCP' };
const fieldRefDefaults: JsonObject = { apiVersion: 'v1' };
const fileMode: JsonObject = { defaultMode: 420 };

/** By the kind of volume; those that are not here have no defaults. */
const volumeDefaults: Readonly<Record<string, JsonObject>> = {
  secret: fileMode,
  configMap: fileMode,
  downwardAPI: fileMode,
  projected: fileMode,
  hostPath: { type: '' },
  iscsi: { iscsiInterface: 'default' },
  rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
};

/** The same for what may be empty and yet said. */
const optionalDefaults: Readonly<Record<string, JsonObject>> = {
  azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
};

function setPodSpecDefaults(spec: JsonObject): void {
  fill(spec, specDefaults);
  if (!isObject(spec.securityContext)) spec.securityContext = {};
  joinServiceAccountNames(spec);
  if (spec.overhead) roundAmounts(objectAt(spec, 'overhead'));
  const whole = objectAt(spec, 'resources');
  if (whole) roundResources(whole);
  for (const volume of objectsAt(spec, 'volumes')) setVolumeDefaults(volume);
  for (const list of containerLists) {
    for (const container of objectsAt(spec, list)) setContainerDefaults(container);
  }
}

/**
 * Of a pod itself: what is limited is requested, on the network of the host a port is a port of the host, and less time
 * than none to end is a second.
 */
export function setPodDefaults(spec: JsonObject): void {
  setPodSpecDefaults(spec);
  fill(spec, { enableServiceLinks: true });
  if (numberAt(spec, 'terminationGracePeriodSeconds')! < 0) spec.terminationGracePeriodSeconds = 1;
  for (const list of ['containers', 'initContainers']) {
    for (const container of objectsAt(spec, list)) {
      const resources = objectAt(container, 'resources');
      const limits = objectAt(resources, 'limits');
      if (resources && limits) fill(ensureObject(resources, 'requests'), limits);
      if (spec.hostNetwork !== true) continue;
      for (const port of objectsAt(container, 'ports'))
        if (!numberAt(port, 'hostPort') && port.containerPort !== undefined) port.hostPort = port.containerPort;
    }
  }
  setWholeDefaults(spec);
}

/**
 * Pages of a pod that says something of itself as a whole are limited as its containers are together, unless it requests
 * some. If it is limited so, it requests what its containers do together, or else its limits.
 */
function setWholeDefaults(spec: JsonObject): void {
  const resources = objectAt(spec, 'resources');
  if (!resources) return;
  const limits: JsonObject = { ...objectAt(resources, 'limits') };
  const requests: JsonObject = { ...objectAt(resources, 'requests') };
  if (isEmptyMap(limits) && isEmptyMap(requests)) return;
  for (const [name, amount] of aggregateAmounts(spec, 'limits'))
    if (isHugePages(name) && requests[name] === undefined) limits[name] ??= amount.toString();
  if (isEmptyMap(limits)) return;
  resources.limits = limits;
  for (const [name, amount] of aggregateAmounts(spec, 'requests'))
    if (isOfPods(name) && !isHugePages(name)) requests[name] ??= amount.toString();
  for (const [name, amount] of Object.entries(limits)) if (isOfPods(name)) requests[name] ??= amount;
  if (!isEmptyMap(requests)) resources.requests = requests;
}

const containerLists = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** `metadata` and `spec` of a template, made if missing. */
export function setPodTemplateDefaults(owner: JsonObject, name = 'template'): void {
  const template = ensureObject(owner, name);
  dropFormerContainers(ensureObject(template, 'metadata'));
  setPodSpecDefaults(ensureObject(template, 'spec'));
}

/** What runs first, from the time before it had a field: nobody heeds it, so nobody is to find it. */
const formerContainers = ['alpha', 'beta'].flatMap((stage) =>
  ['init-containers', 'init-container-statuses'].map((name) => `pod.${stage}.kubernetes.io/${name}`),
);

export function dropFormerContainers(metadata: JsonObject): void {
  const annotations = objectAt(metadata, 'annotations');
  if (!annotations || !formerContainers.some((name) => Object.hasOwn(annotations, name))) return;
  for (const name of formerContainers) delete annotations[name];
  if (isEmptyMap(annotations)) delete metadata.annotations;
}

/** The old name of the field is kept in step with the new one, which wins. */
function joinServiceAccountNames(spec: JsonObject): void {
  const name = textAt(spec, 'serviceAccountName') || textAt(spec, 'serviceAccount');
  if (name === '') return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

function setContainerDefaults(container: JsonObject): void {
  roundResources(ensureObject(container, 'resources'));
  fill(container, containerDefaults);
  if (textAt(container, 'imagePullPolicy') === '') container.imagePullPolicy = pullPolicyOf(textAt(container, 'image'));
  for (const port of objectsAt(container, 'ports')) fill(port, portDefaults);
  for (const variable of objectsAt(container, 'env')) {
    const fieldRef = objectAt(objectAt(variable, 'valueFrom'), 'fieldRef');
    if (fieldRef) fill(fieldRef, fieldRefDefaults);
  }
  setProbeDefaults(objectAt(container, 'livenessProbe'));
  setProbeDefaults(objectAt(container, 'readinessProbe'));
  setProbeDefaults(objectAt(container, 'startupProbe'));
  const lifecycle = objectAt(container, 'lifecycle');
  if (!lifecycle) return;
  setHandlerDefaults(objectAt(lifecycle, 'postStart'));
  setHandlerDefaults(objectAt(lifecycle, 'preStop'));
}

function setProbeDefaults(probe: JsonObject | undefined): void {
  if (!probe) return;
  fill(probe, probeDefaults);
  for (const name in probeDefaults) if (probe[name] === 0) probe[name] = probeDefaults[name];
  setHandlerDefaults(probe);
  const grpc = objectAt(probe, 'grpc');
  if (grpc && grpc.service === undefined) grpc.service = '';
}

function setHandlerDefaults(handler: JsonObject | undefined): void {
  const httpGet = objectAt(handler, 'httpGet');
  if (httpGet) fill(httpGet, httpGetDefaults);
}

function setVolumeDefaults(volume: JsonObject): void {
  let hasSource = false;
  for (const source in volume) {
    const value = volume[source];
    if (!isObject(value)) continue;
    hasSource = true;
    if (Object.hasOwn(volumeDefaults, source)) fill(value, volumeDefaults[source]!);
    if (Object.hasOwn(optionalDefaults, source)) fillAbsent(value, optionalDefaults[source]!);
  }
  if (!hasSource) {
    volume.emptyDir = {};
    return;
  }
  setItemDefaults(objectAt(volume, 'downwardAPI'));
  for (const source of objectsAt(objectAt(volume, 'projected'), 'sources')) {
    setItemDefaults(objectAt(source, 'downwardAPI'));
    const token = objectAt(source, 'serviceAccountToken');
    if (token) fill(token, { expirationSeconds: 3600 });
  }
  const claimSpec = objectAt(objectAt(objectAt(volume, 'ephemeral'), 'volumeClaimTemplate'), 'spec');
  if (claimSpec) {
    fillAbsent(claimSpec, { volumeMode: 'Filesystem' });
    roundResources(objectAt(claimSpec, 'resources'));
  }
  const image = objectAt(volume, 'image');
  if (image) fill(image, { pullPolicy: pullPolicyOf(textAt(image, 'reference')) });
}

function setItemDefaults(downwardApi: JsonObject | undefined): void {
  for (const item of objectsAt(downwardApi, 'items')) {
    const fieldRef = objectAt(item, 'fieldRef');
    if (fieldRef) fill(fieldRef, fieldRefDefaults);
  }
}
