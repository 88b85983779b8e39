/** The level `baseline`: nothing that is known to lead out of a container. Each check with the versions it changed in. */
import type { JsonObject } from '../../../api/index.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import {
  type Check,
  type CheckPod,
  containers,
  containersOf,
  contextOf,
  hasOwnUsers,
  namesWhere,
  type PodLike,
  plural,
  quoted,
  setters,
  sorted,
} from './check.ts';

const APPARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';
const SECCOMP_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER_ANNOTATION = 'container.seccomp.security.alpha.kubernetes.io/';

const isKnownProfile = (type: string) => type === 'RuntimeDefault' || type === 'Localhost';

const appArmorProfile: CheckPod = (pod) => {
  const typeOf = (owner: JsonObject) => {
    const profile = objectAt(contextOf(owner), 'appArmorProfile');
    return profile && !isKnownProfile(textAt(profile, 'type')) ? textAt(profile, 'type') : undefined;
  };
  const ofPod = typeOf(pod.spec);
  const names = namesWhere(pod, (container) => typeOf(container) !== undefined);
  const isAllowed = (value: string) => value === '' || value === 'runtime/default' || value.startsWith('localhost/');
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(APPARMOR_ANNOTATION) && !isAllowed(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const types = [ofPod, ...containersOf(pod).map(typeOf)].filter((type) => type !== undefined);
  const values = [...sorted(types), ...annotations];
  if (values.length === 0) return undefined;
  const who = [setters(ofPod !== undefined, names)].filter((text) => text !== '');
  if (annotations.length > 0) who.push(plural('annotation', 'annotations', annotations.length));
  return {
    reason: plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', values.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(values)}`,
  };
};

const DEFAULT_CAPABILITIES =
  'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'.split(
    ' ',
  );

export function addedBeyond(container: JsonObject, allowed: readonly string[]): string[] {
  return textsAt(objectAt(contextOf(container), 'capabilities'), 'add').filter((one) => !allowed.includes(one));
}

const capabilities: CheckPod = (pod) => {
  const names = namesWhere(pod, (container) => addedBeyond(container, DEFAULT_CAPABILITIES).length > 0);
  if (names.length === 0) return undefined;
  const added = sorted(containersOf(pod).flatMap((container) => addedBeyond(container, DEFAULT_CAPABILITIES)));
  const detail = `${containers(names)} must not include ${quoted(added)} in securityContext.capabilities.add`;
  return { reason: 'non-default capabilities', detail };
};

const hostNamespaces: CheckPod = ({ spec }) => {
  const shared = ['hostNetwork', 'hostPID', 'hostIPC'].filter((field) => spec[field] === true);
  if (shared.length === 0) return undefined;
  return { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') };
};

const hostPathVolumes: CheckPod = ({ spec }) => {
  const names = objectsAt(spec, 'volumes')
    .filter((volume) => objectAt(volume, 'hostPath'))
    .map((volume) => textAt(volume, 'name'));
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${plural('volume', 'volumes', names.length)} ${quoted(names)}` };
};

const hostPorts: CheckPod = (pod) => {
  const portsOf = (container: JsonObject) =>
    objectsAt(container, 'ports')
      .map((port) => numberAt(port, 'hostPort') ?? 0)
      .filter((port) => port !== 0);
  const names = namesWhere(pod, (container) => portsOf(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = sorted(containersOf(pod).flatMap(portsOf).map(String));
  const uses = `${plural('uses', 'use', names.length)} ${plural('hostPort', 'hostPorts', ports.length)}`;
  return { reason: 'hostPort', detail: `${containers(names)} ${uses} ${ports.join(', ')}` };
};

/** A probe or a hook that lets the kubelet talk to somebody else. */
function handlerHosts(container: JsonObject): string[] {
  const lifecycle = objectAt(container, 'lifecycle');
  const handlers = [
    ...['livenessProbe', 'readinessProbe', 'startupProbe'].map((probe) => objectAt(container, probe)),
    ...['postStart', 'preStop'].map((hook) => objectAt(lifecycle, hook)),
  ];
  return handlers
    .flatMap((handler) => ['httpGet', 'tcpSocket'].map((way) => textAt(objectAt(handler, way), 'host')))
    .filter((host) => host !== '');
}

const hostProbes: CheckPod = (pod) => {
  const names = sorted(namesWhere(pod, (container) => handlerHosts(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = sorted(containersOf(pod).flatMap(handlerHosts));
  const what = plural('probe or lifecycle host', 'probe or lifecycle hosts', hosts.length);
  const detail = `${containers(names)} ${plural('uses', 'use', names.length)} ${what} ${quoted(hosts)}`;
  return { reason: 'probe or lifecycle host', detail };
};

const privileged: CheckPod = (pod) => {
  const names = namesWhere(pod, (container) => contextOf(container)?.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${containers(names)} must not set securityContext.privileged=true` };
};

export const procMount: CheckPod = (pod) => {
  const mountOf = (container: JsonObject) => textAt(contextOf(container), 'procMount') || 'Default';
  const names = namesWhere(pod, (container) => mountOf(container) !== 'Default');
  if (names.length === 0) return undefined;
  const types = sorted(containersOf(pod).map(mountOf)).filter((type) => type !== 'Default');
  return {
    reason: 'procMount',
    detail: `${containers(names)} must not set securityContext.procMount to ${quoted(types)}`,
  };
};

function seLinuxOptions(allowedTypes: readonly string[]): CheckPod {
  return (pod) => {
    const optionsOf = (owner: JsonObject) => objectAt(contextOf(owner), 'seLinuxOptions');
    const isBadType = (options: JsonObject | undefined) => {
      const type = textAt(options, 'type');
      return type !== '' && !allowedTypes.includes(type);
    };
    const has = (options: JsonObject | undefined, field: string) => textAt(options, field) !== '';
    const isBad = (owner: JsonObject) => {
      const options = optionsOf(owner);
      return isBadType(options) || has(options, 'user') || has(options, 'role');
    };
    const who = setters(isBad(pod.spec), namesWhere(pod, isBad));
    if (who === '') return undefined;
    const all = [pod.spec, ...containersOf(pod)].map(optionsOf);
    const types = sorted(all.filter(isBadType).map((options) => textAt(options, 'type')));
    const faults = types.length > 0 ? [`${plural('type', 'types', types.length)} ${quoted(types)}`] : [];
    for (const field of ['user', 'role'])
      if (all.some((options) => has(options, field))) faults.push(`${field} may not be set`);
    const detail = `${who} set forbidden securityContext.seLinuxOptions: ${faults.join('; ')}`;
    return { reason: 'seLinuxOptions', detail };
  };
}

const SE_LINUX_TYPES = ['container_t', 'container_init_t', 'container_kvm_t'];

/** Profiles were annotations once. */
const seccompAnnotations: CheckPod = (pod) => {
  const isAllowed = (value: string) =>
    value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');
  const keys = containersOf(pod).map((container) => SECCOMP_CONTAINER_ANNOTATION + textAt(container, 'name'));
  const bad = sorted([SECCOMP_ANNOTATION, ...keys])
    .filter((key) => Object.hasOwn(pod.annotations, key) && !isAllowed(pod.annotations[key]!))
    .map((key) => `${key}=${JSON.stringify(pod.annotations[key])}`);
  if (bad.length === 0) return undefined;
  const detail = `forbidden ${plural('annotation', 'annotations', bad.length)} ${bad.join(', ')}`;
  return { reason: 'seccompProfile', detail };
};

/** What is said of seccomp that may not be. */
export const seccompProfile: CheckPod = (pod) => {
  const badOf = (owner: JsonObject) => {
    const profile = seccompOf(owner);
    return profile && !isKnownProfile(textAt(profile, 'type')) ? textAt(profile, 'type') : undefined;
  };
  const isBad = (owner: JsonObject) => badOf(owner) !== undefined;
  const who = setters(isBad(pod.spec), namesWhere(pod, isBad));
  if (who === '') return undefined;
  const types = sorted([pod.spec, ...containersOf(pod)].map(badOf).filter((type) => type !== undefined));
  const detail = `${who} must not set securityContext.seccompProfile.type to ${quoted(types)}`;
  return { reason: 'seccompProfile', detail };
};

export function seccompOf(owner: JsonObject): JsonObject | undefined {
  return objectAt(contextOf(owner), 'seccompProfile');
}

function sysctls(allowed: readonly string[]): CheckPod {
  return ({ spec }: PodLike) => {
    const names = objectsAt(contextOf(spec), 'sysctls').map((sysctl) => textAt(sysctl, 'name'));
    const bad = names.filter((name) => !allowed.includes(name));
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
  };
}

const SYSCTLS = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
];
const SYSCTLS_27 = [...SYSCTLS, 'net.ipv4.ip_local_reserved_ports'];
const SYSCTLS_29 = [
  ...SYSCTLS_27,
  ...['tcp_keepalive_time', 'tcp_fin_timeout', 'tcp_keepalive_intvl', 'tcp_keepalive_probes'].map(
    (name) => `net.ipv4.${name}`,
  ),
];
const SYSCTLS_32 = [...SYSCTLS_29, 'net.ipv4.tcp_rmem', 'net.ipv4.tcp_wmem'];

const windowsHostProcess: CheckPod = (pod) => {
  const isHostProcess = (owner: JsonObject) => objectAt(contextOf(owner), 'windowsOptions')?.hostProcess === true;
  const who = setters(isHostProcess(pod.spec), namesWhere(pod, isHostProcess));
  if (who === '') return undefined;
  return { reason: 'hostProcess', detail: `${who} must not set securityContext.windowsOptions.hostProcess=true` };
};

export const baselineChecks: readonly Check[] = [
  { id: 'appArmorProfile', versions: [{ since: 0, check: appArmorProfile }] },
  { id: 'capabilities_baseline', versions: [{ since: 0, check: capabilities }] },
  { id: 'hostNamespaces', versions: [{ since: 0, check: hostNamespaces }] },
  { id: 'hostPathVolumes', versions: [{ since: 0, check: hostPathVolumes }] },
  { id: 'hostPorts', versions: [{ since: 0, check: hostPorts }] },
  { id: 'hostProbesAndHostLifecycle', versions: [{ since: 34, check: hostProbes }] },
  { id: 'privileged', versions: [{ since: 0, check: privileged }] },
  {
    id: 'procMount',
    versions: [
      { since: 0, check: procMount },
      { since: 35, check: (pod) => (hasOwnUsers(pod) ? undefined : procMount(pod)) },
    ],
  },
  {
    id: 'seLinuxOptions',
    versions: [
      { since: 0, check: seLinuxOptions(SE_LINUX_TYPES) },
      { since: 31, check: seLinuxOptions([...SE_LINUX_TYPES, 'container_engine_t']) },
    ],
  },
  {
    id: 'seccompProfile_baseline',
    versions: [
      { since: 0, check: seccompAnnotations },
      { since: 19, check: seccompProfile },
    ],
  },
  {
    id: 'sysctls',
    versions: [
      { since: 0, check: sysctls(SYSCTLS) },
      { since: 27, check: sysctls(SYSCTLS_27) },
      { since: 29, check: sysctls(SYSCTLS_29) },
      { since: 32, check: sysctls(SYSCTLS_32) },
    ],
  },
  { id: 'windowsHostProcess', versions: [{ since: 0, check: windowsHostProcess }] },
];
