/**
 * The level `restricted`: what hardened Pods do beyond `baseline`. Some checks are done instead of one of that level, since
 * they ask for more of the same.
 */
import type { JsonObject } from '../../../api/index.ts';
import { numberAt, objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { addedBeyond, procMount, seccompOf, seccompProfile } from './baseline-checks.ts';
import {
  type Check,
  type CheckPod,
  containers,
  containersOf,
  contextOf,
  hasOwnUsers,
  isWindows,
  namesWhere,
  plural,
  quoted,
  setters,
  sorted,
} from './check.ts';

const unlessWindows =
  (check: CheckPod): CheckPod =>
  (pod) =>
    isWindows(pod) ? undefined : check(pod);
const unlessOwnUsers =
  (check: CheckPod): CheckPod =>
  (pod) =>
    hasOwnUsers(pod) ? undefined : check(pod);

const allowPrivilegeEscalation: CheckPod = (pod) => {
  const names = namesWhere(pod, (container) => contextOf(container)?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  const detail = `${containers(names)} must set securityContext.allowPrivilegeEscalation=false`;
  return { reason: 'allowPrivilegeEscalation != false', detail };
};

const capabilities: CheckPod = (pod) => {
  const isKeeping = (container: JsonObject) =>
    !textsAt(objectAt(contextOf(container), 'capabilities'), 'drop').includes('ALL');
  const added = (container: JsonObject) => addedBeyond(container, ['NET_BIND_SERVICE']);
  const keeping = namesWhere(pod, isKeeping);
  const adding = namesWhere(pod, (container) => added(container).length > 0);
  const details: string[] = [];
  if (keeping.length > 0) details.push(`${containers(keeping)} must set securityContext.capabilities.drop=["ALL"]`);
  if (adding.length > 0) {
    const all = quoted(sorted(containersOf(pod).flatMap(added)));
    details.push(`${containers(adding)} must not include ${all} in securityContext.capabilities.add`);
  }
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const ALLOWED_VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

const restrictedVolumes: CheckPod = ({ spec }) => {
  const typeOf = (volume: JsonObject) => Object.keys(volume).find((field) => field !== 'name') ?? 'unknown';
  const bad = objectsAt(spec, 'volumes').filter((volume) => !ALLOWED_VOLUMES.some((type) => objectAt(volume, type)));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map(typeOf));
  const volumes = `${plural('volume', 'volumes', bad.length)} ${quoted(bad.map((volume) => textAt(volume, 'name')))}`;
  const uses = plural('uses restricted volume', 'use restricted volume', bad.length);
  const detail = `${volumes} ${uses} ${plural('type', 'types', types.length)} ${quoted(types)}`;
  return { reason: 'restricted volume types', detail };
};

const runAsNonRoot: CheckPod = (pod) => {
  const said = (owner: JsonObject) => contextOf(owner)?.runAsNonRoot;
  const reason = 'runAsNonRoot != true';
  const who = setters(
    said(pod.spec) === false,
    namesWhere(pod, (container) => said(container) === false),
  );
  if (who !== '') return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  if (said(pod.spec) === true) return undefined;
  const silent = namesWhere(pod, (container) => said(container) !== true);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containers(silent)} must set securityContext.runAsNonRoot=true` };
};

const runAsUser: CheckPod = (pod) => {
  const isRoot = (owner: JsonObject) => numberAt(contextOf(owner), 'runAsUser') === 0;
  const who = setters(isRoot(pod.spec), namesWhere(pod, isRoot));
  return who === '' ? undefined : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` };
};

const seccomp: CheckPod = (pod) => {
  const bad = seccompProfile(pod);
  if (bad || seccompOf(pod.spec)) return bad;
  const silent = namesWhere(pod, (container) => seccompOf(container) === undefined);
  if (silent.length === 0) return undefined;
  const detail = `pod or ${containers(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  return { reason: 'seccompProfile', detail };
};

export const restrictedChecks: readonly Check[] = [
  {
    id: 'allowPrivilegeEscalation',
    versions: [
      { since: 8, check: allowPrivilegeEscalation },
      { since: 25, check: unlessWindows(allowPrivilegeEscalation) },
    ],
  },
  {
    id: 'capabilities_restricted',
    versions: [
      { since: 22, check: capabilities, instead: ['capabilities_baseline'] },
      { since: 25, check: unlessWindows(capabilities), instead: ['capabilities_baseline'] },
    ],
  },
  { id: 'procMount_restricted', versions: [{ since: 35, check: procMount, instead: ['procMount'] }] },
  {
    id: 'restrictedVolumes',
    versions: [{ since: 0, check: restrictedVolumes, instead: ['hostPathVolumes'] }],
  },
  {
    id: 'runAsNonRoot',
    versions: [
      { since: 0, check: runAsNonRoot },
      { since: 35, check: unlessOwnUsers(runAsNonRoot) },
    ],
  },
  {
    id: 'runAsUser',
    versions: [
      { since: 23, check: runAsUser },
      { since: 35, check: unlessOwnUsers(runAsUser) },
    ],
  },
  {
    id: 'seccompProfile_restricted',
    versions: [
      { since: 19, check: seccomp, instead: ['seccompProfile_baseline'] },
      { since: 25, check: unlessWindows(seccomp), instead: ['seccompProfile_baseline'] },
    ],
  },
];
