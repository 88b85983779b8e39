/**
 * PodSecurity: Pods are checked against the level that the labels of their namespace name: refused by `enforce`, warned of
 * by `warn`, told in the audit log by `audit`. Templates of workloads are only warned of and told. The labels themselves
 * are checked when a namespace is written, and a stricter level says which Pods would not have been let in.
 *
 * An update is looked at if it changes what runs: an image, or a container that is new. A namespace without labels costs
 * nothing.
 */
import { invalid, type JsonObject, type KubeObject, quote } from '../../../api/index.ts';
import { qualifiedName } from '../../registry/resource.ts';
import { objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../admission.ts';
import { concerns } from '../concerns.ts';
import { type Finding, type PodLike, podLike } from './check.ts';
import { detailsOf, findingsOf } from './evaluate.ts';
import { warningsAboutPods } from './existing-pods.ts';
import { isSame, isStricter, type LevelVersion, type Mode, type Policy, policyOf, shown } from './policy.ts';

/** Where the template of a Pod is. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  podtemplates: ['template'],
  replicationcontrollers: ['spec', 'template'],
  'replicasets.apps': ['spec', 'template'],
  'deployments.apps': ['spec', 'template'],
  'statefulsets.apps': ['spec', 'template'],
  'daemonsets.apps': ['spec', 'template'],
  'jobs.batch': ['spec', 'template'],
  'cronjobs.batch': ['spec', 'jobTemplate', 'spec', 'template'],
};
const ANNOTATION = 'pod-security.kubernetes.io/';
const SECCOMP_ANNOTATION = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER_ANNOTATION = 'container.seccomp.security.alpha.kubernetes.io/';

const ofNamespaces = concerns(['CREATE', 'UPDATE'], ['namespaces']);
const ofPods = concerns(['CREATE', 'UPDATE'], ['pods'], ['', 'ephemeralcontainers', 'resize']);
const ofTemplates = concerns(['CREATE', 'UPDATE'], Object.keys(TEMPLATES));

/** Told of every check: whether the Pod passes, in which mode, by which level. */
export type SecurityObserver = (
  a: AdmissionAttributes,
  decision: 'allow' | 'deny',
  mode: Mode,
  level: LevelVersion,
) => void;

export function podSecurity(observe: SecurityObserver = () => {}): AdmissionPlugin {
  return {
    name: 'PodSecurity',
    handles: (...write) => ofNamespaces(...write) || ofPods(...write) || ofTemplates(...write),
    validate: (a) => {
      if (a.resource.plural === 'namespaces') return checkNamespace(a);
      const namespace = a.context.known('', 'namespaces', '', a.namespace);
      if (namespace instanceof Promise) return namespace.then((found) => checkPod(a, found, observe));
      checkPod(a, namespace, observe);
      return;
    },
  };
}

/** Labels that were wrong before may stay so. */
function checkNamespace(a: AdmissionAttributes): void | Promise<void> {
  const { policy, errors } = policyOf(a.object!);
  const before = a.oldObject && policyOf(a.oldObject);
  if (errors.length > 0 && JSON.stringify(errors) !== JSON.stringify(before?.errors ?? []))
    throw invalid(a.resource, a.name, errors);
  if (!before || !isTightened(policy.enforce, before.policy.enforce)) return;
  return warningsAboutPods(a, policy.enforce).then((warnings) => {
    for (const text of warnings) a.context.warn(text);
  });
}

function isTightened(enforce: LevelVersion, before: LevelVersion): boolean {
  if (isSame(enforce, before) || enforce.level === 'privileged') return false;
  return enforce.version !== before.version || isStricter(enforce.level, before.level);
}

function checkPod(a: AdmissionAttributes, namespace: KubeObject | undefined, observe: SecurityObserver): void {
  if (!namespace) return; // NamespaceLifecycle has refused it, unless it is off
  const { policy, errors } = policyOf(namespace);
  const isPod = a.resource.plural === 'pods';
  const modes: readonly Mode[] = isPod ? ['enforce', 'audit', 'warn'] : ['audit', 'warn'];
  if (errors.length === 0 && modes.every((mode) => policy[mode].level === 'privileged')) {
    if (isPod) a.annotate(`${ANNOTATION}enforce-policy`, shown(policy.enforce));
    return;
  }
  const pod = isPod ? podLike(a.object as JsonObject) : templateIn(a);
  if (!pod || (isPod && a.operation === 'UPDATE' && !changesWhatRuns(pod, podLike(a.oldObject as JsonObject)))) return;
  if (errors.length > 0) {
    const why = errors.map(({ field, message }) => `${field}: ${message}`);
    a.annotate(`${ANNOTATION}error`, `Failed to parse policy: ${why.length === 1 ? why[0] : `[${why.join(', ')}]`}`);
  }
  judge(a, policy, pod, isPod, observe);
}

function judge(a: AdmissionAttributes, policy: Policy, pod: PodLike, isPod: boolean, observe: SecurityObserver): void {
  const judged = new Map<string, Finding[]>();
  const findings = (mode: Mode) => {
    const name = shown(policy[mode]);
    let found = judged.get(name);
    if (!found) {
      found = findingsOf(policy[mode], pod);
      judged.set(name, found);
    }
    if (found.length > 0 || mode === 'enforce') observe(a, found.length > 0 ? 'deny' : 'allow', mode, policy[mode]);
    return { found, text: `PodSecurity ${quote(name)}: ${detailsOf(found)}` };
  };
  let refusal: string | undefined;
  if (isPod) {
    a.annotate(`${ANNOTATION}enforce-policy`, shown(policy.enforce));
    const { found, text } = findings('enforce');
    if (found.length > 0) refusal = `violates ${text}`;
  }
  const audit = findings('audit');
  if (audit.found.length > 0) a.annotate(`${ANNOTATION}audit-violations`, `would violate ${audit.text}`);
  if (refusal !== undefined) throw refuse(a, refusal);
  const warn = findings('warn');
  if (warn.found.length > 0) a.context.warn(`would violate ${warn.text}`);
}

function templateIn({ resource, object }: AdmissionAttributes): PodLike | undefined {
  let found: JsonObject | undefined = object as JsonObject;
  for (const field of TEMPLATES[qualifiedName(resource)]!) found = objectAt(found, field);
  return found && podLike(found);
}

function changesWhatRuns(pod: PodLike, old: PodLike): boolean {
  const differs = (key: string) => pod.annotations[key] !== old.annotations[key];
  if (differs(SECCOMP_ANNOTATION)) return true;
  return ['containers', 'initContainers', 'ephemeralContainers'].some((list) => {
    const [now, before] = [objectsAt(pod.spec, list), objectsAt(old.spec, list)];
    const isSameLength = now.length === before.length || list === 'ephemeralContainers';
    const byName = new Map(before.map((container) => [textAt(container, 'name'), container]));
    return (
      !isSameLength ||
      now.some((container) => {
        const name = textAt(container, 'name');
        const known = byName.get(name);
        if (!known || textAt(known, 'image') !== textAt(container, 'image')) return true;
        return differs(SECCOMP_CONTAINER_ANNOTATION + name);
      })
    );
  });
}
