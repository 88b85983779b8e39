/**
 * Parts of objects in the form in which kube-apiserver compares two of them, and shows one that is refused as a whole: its
 * internal types as JSON, all fields, in their order.
 *
 * The table holds the types people meet there; a part of another type is shown with its fields as they are written.
 */
import type { JsonObject, JsonValue } from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { isObject } from './fields.ts';

/**
 * Fields in order. Bare: nothing is null. `:s`, `:n`, `:b`: nothing is an empty text, 0, false. `=T`: a T, or null;
 * `+T`: always a T; `*T`: a list of T, or null.
 */
const container =
  'Name:s Image:s Command Args WorkingDir:s Ports*ContainerPort EnvFrom Env*EnvVar Resources+Resources ' +
  'ResizePolicy RestartPolicy RestartPolicyRules VolumeMounts*VolumeMount VolumeDevices LivenessProbe=Probe ' +
  'ReadinessProbe=Probe StartupProbe=Probe Lifecycle TerminationMessagePath:s TerminationMessagePolicy:s ' +
  'ImagePullPolicy:s SecurityContext=SecurityContext Stdin:b StdinOnce:b TTY:b';
const types: Readonly<Record<string, string>> = {
  PodSpec:
    'Volumes*Volume InitContainers*Container Containers*Container EphemeralContainers*EphemeralContainer ' +
    'RestartPolicy:s TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy:s NodeSelector ' +
    'ServiceAccountName:s AutomountServiceAccountToken NodeName:s SecurityContext=PodSecurityContext ' +
    'ImagePullSecrets*Named Hostname:s Subdomain:s SetHostnameAsFQDN Affinity SchedulerName:s ' +
    'Tolerations*Toleration HostAliases*HostAlias PriorityClassName:s Priority PreemptionPolicy DNSConfig ' +
    'ReadinessGates RuntimeClassName Overhead EnableServiceLinks TopologySpreadConstraints OS ' +
    'SchedulingGates*Named ResourceClaims Resources=Resources HostnameOverride',
  Container: container,
  EphemeralContainer: `${container} TargetContainerName:s`,
  ContainerPort: 'Name:s HostPort:n ContainerPort:n Protocol:s HostIP:s',
  EnvVar: 'Name:s Value:s ValueFrom',
  Resources: 'Limits Requests Claims',
  VolumeMount: 'Name:s ReadOnly:b RecursiveReadOnly MountPath:s SubPath:s MountPropagation SubPathExpr:s',
  Probe:
    'Exec HTTPGet TCPSocket GRPC InitialDelaySeconds:n TimeoutSeconds:n PeriodSeconds:n SuccessThreshold:n ' +
    'FailureThreshold:n TerminationGracePeriodSeconds',
  SecurityContext:
    'Capabilities Privileged SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot ' +
    'ReadOnlyRootFilesystem AllowPrivilegeEscalation ProcMount SeccompProfile AppArmorProfile',
  PodSecurityContext:
    'HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace HostUsers SELinuxOptions WindowsOptions RunAsUser ' +
    'RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy FSGroup FSGroupChangePolicy Sysctls ' +
    'SeccompProfile AppArmorProfile SELinuxChangePolicy',
  Toleration: 'Key:s Operator:s Value:s Effect:s TolerationSeconds',
  HostAlias: 'IP:s Hostnames',
  Named: 'Name:s',
  PersistentVolumeClaimSpec:
    'AccessModes Selector Resources+ClaimResources VolumeName:s StorageClassName VolumeMode DataSource DataSourceRef ' +
    'VolumeAttributesClassName',
  ClaimResources: 'Limits Requests',
  PodDisruptionBudgetSpec: 'MinAvailable Selector MaxUnavailable UnhealthyPodEvictionPolicy',
  VolumeNodeAffinity: 'Required=NodeSelector',
  NodeSelector: 'NodeSelectorTerms*NodeSelectorTerm',
  NodeSelectorTerm: 'MatchExpressions*NodeSelectorRequirement MatchFields*NodeSelectorRequirement',
  NodeSelectorRequirement: 'Key:s Operator:s Values',
};

/** These stand in the spec on the wire and in its security context there. */
const hostFields = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers'];

export function podSpecText(spec: JsonObject): string {
  return jsonText(internalPodSpec(spec), 1);
}

export function internalPodSpec(spec: JsonObject): JsonObject {
  const securityContext: JsonObject = { ...(spec.securityContext as JsonObject | undefined) };
  for (const field of hostFields) if (spec[field] !== undefined) securityContext[field] = spec[field];
  return typed({ ...spec, securityContext }, 'PodSpec');
}

/** Its metadata has a form of its own, and no name. */
export function internalTemplate({ metadata, spec }: JsonObject): JsonObject {
  return { ...(isObject(metadata) ? metadata : {}), Spec: internalPodSpec(isObject(spec) ? spec : {}) };
}

export function claimSpecText(spec: JsonObject): string {
  return jsonText(typed(spec, 'PersistentVolumeClaimSpec'), 1);
}

/** The types that are shown by themselves. */
export type ShownType = 'EphemeralContainer' | 'PodDisruptionBudgetSpec' | 'VolumeNodeAffinity';

export function internalForm(value: JsonObject, type: ShownType): JsonObject {
  return typed(value, type);
}

type Field = { readonly name: string; readonly mark: string; readonly type: string };

const zeros: Readonly<Record<string, JsonValue>> = { s: '', n: 0, b: false };
const marks = [':', '=', '+', '*'];
const fieldsOf: ReadonlyMap<string, readonly Field[]> = new Map(
  Object.entries(types).map(([type, fields]) => [type, fields.split(' ').map(readField)]),
);

function readField(text: string): Field {
  const at = [...text].findIndex((character) => marks.includes(character));
  if (at < 0) return { name: text, mark: '', type: '' };
  return { name: text.slice(0, at), mark: text[at]!, type: text.slice(at + 1) };
}

function typed(value: JsonObject, type: string): JsonObject {
  const fields = fieldsOf.get(type);
  if (fields === undefined) return plain(value) as JsonObject;
  const byName = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  const result: JsonObject = {};
  for (const { name, mark, type: inner } of fields) result[name] = fieldOf(byName.get(name.toLowerCase()), mark, inner);
  return result;
}

function fieldOf(value: JsonValue | undefined, mark: string, rest: string): JsonValue {
  if (mark === ':') return value ?? zeros[rest]!;
  if (mark === '+') return typed(isObject(value) ? value : {}, rest);
  if (value === undefined || value === null) return null;
  if (mark === '=') return isObject(value) ? typed(value, rest) : value;
  if (mark === '*') return Array.isArray(value) ? value.map((item) => typed(item as JsonObject, rest)) : value;
  return isObject(value) ? value : plain(value);
}

function plain(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  const named = Object.entries(value).map(([name, field]) => [
    name.charAt(0).toUpperCase() + name.slice(1), // a key of a map may be empty
    plain(field ?? null),
  ]);
  return Object.fromEntries(named) as JsonObject;
}
