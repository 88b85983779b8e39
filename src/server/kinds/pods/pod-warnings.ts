/**
 * What is accepted in a pod or a template of pods, but is likely a mistake: the writer is told. Asked only about
 * objects that are stored.
 */
import { checkDnsLabel, type JsonObject, type KubeObject, quote } from '../../../api/index.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import {
  mapAt,
  numberAt,
  objectAt,
  objectsAt,
  sortedEntries,
  textAt,
  textsAt,
} from '../../strategy/validation/fields.ts';
import { warningsForAddress } from '../../strategy/validation/ip-address.ts';
import {
  labelWarning,
  warningsForExpressions,
  warningsForTerms,
  warningsForValues,
} from '../../strategy/validation/node-selector.ts';
import { containerPath, containersOf } from './fields/each-container.ts';
import { appArmor, appArmorText } from './security/profile-annotations.ts';
import { volumeWarnings } from './volumes/volume-warnings.ts';

type Warn = (text: string) => void;

/** For kinds whose pods are named after them. */
export function podNamesWarning(name: string): string[] {
  return nameWarning(name, 'Pod names and hostnames');
}

export function hostnameWarning(name: string): string[] {
  return nameWarning(name, "the Pod's hostname");
}

function nameWarning(name: string, what: string): string[] {
  const problems = checkDnsLabel(name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in ${what}, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
  ];
}

/** A template is looked at when it is new or the object changed. */
export function templateWarnings(
  template: JsonObject | undefined,
  path: string,
  { metadata }: KubeObject,
  old: KubeObject | undefined,
): string[] {
  if (!template || (old && old.metadata.generation === metadata.generation)) return [];
  return podWarnings(template, `${path}.`);
}

/** `prefix` is what stands before `spec` and `metadata` in paths. */
export function podWarnings(pod: JsonObject, prefix: string): string[] {
  const warnings: string[] = [];
  const warn: Warn = (text) => warnings.push(text);
  const spec = objectAt(pod, 'spec') ?? {};
  const annotations = mapAt(objectAt(pod, 'metadata'), 'annotations');
  warnOfNodeLabels(spec, `${prefix}spec`, warn);
  if (annotations) warnOfAnnotations(annotations, spec, prefix, warn);
  if (spec.volumes) volumeWarnings(objectsAt(spec, 'volumes'), `${prefix}spec.volumes`, warn);
  warnOfLists(spec, `${prefix}spec`, warn);
  warnOfFractions(objectAt(spec, 'overhead'), `${prefix}spec.overhead`, warn);
  const ports = new Map<string, Port[]>();
  for (const [place, container] of containersOf(spec).entries()) {
    const path = containerPath(spec, `${prefix}spec`, place);
    const resources = objectAt(container, 'resources');
    for (const part of ['limits', 'requests'])
      if (resources?.[part]) warnOfFractions(objectAt(resources, part), `${path}.resources.${part}`, warn);
    if (container.env) warnOfHiddenVariables(objectsAt(container, 'env'), `${path}.env`, warn);
    if (container.ports) warnOfPorts(objectsAt(container, 'ports'), `${path}.ports`, ports, warn);
  }
  if ((numberAt(spec, 'terminationGracePeriodSeconds') ?? 0) < 0)
    warn(
      `${prefix}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  return warnings;
}

const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const soft = 'preferredDuringSchedulingIgnoredDuringExecution';
const unselected = 'a null labelSelector results in matching no pod';

function warnOfNodeLabels(spec: JsonObject, path: string, warn: Warn): void {
  for (const [key] of sortedEntries(objectAt(spec, 'nodeSelector')))
    if (labelWarning(key)) warn(`${path}.nodeSelector[${key}]: ${labelWarning(key)}`);
  const affinity = objectAt(spec, 'affinity');
  if (affinity) warnOfAffinity(affinity, `${path}.affinity`, warn);
  for (const [index, constraint] of objectsAt(spec, 'topologySpreadConstraints').entries()) {
    const at = `${path}.topologySpreadConstraints[${index}]`;
    const key = textAt(constraint, 'topologyKey');
    if (labelWarning(key)) warn(`${at}.topologyKey: ${key} is ${labelWarning(key)}`);
    if (!constraint.labelSelector) warn(`${at}.labelSelector: ${unselected}`);
  }
}

function warnOfAffinity(affinity: JsonObject, path: string, warn: Warn): void {
  const nodes = objectAt(affinity, 'nodeAffinity');
  for (const text of warningsForTerms(objectAt(nodes, hard), `${path}.nodeAffinity.${hard}`)) warn(text);
  for (const [index, term] of objectsAt(nodes, soft).entries()) {
    const at = `${path}.nodeAffinity.${soft}[${index}].preference`;
    const preference = objectAt(term, 'preference');
    for (const text of [...warningsForExpressions(preference, at), ...warningsForValues(preference, at)]) warn(text);
  }
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    const terms = objectAt(affinity, kind);
    for (const [index, term] of objectsAt(terms, hard).entries())
      if (!term.labelSelector) warn(`${path}.${kind}.${hard}[${index}].labelSelector: ${unselected}`);
    for (const [index, term] of objectsAt(terms, soft).entries())
      if (!objectAt(term, 'podAffinityTerm')?.labelSelector)
        warn(`${path}.${kind}.${soft}[${index}].podAffinityTerm.labelSelector: ${unselected}`);
  }
}

const oldAnnotations: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
};
const seccompText = 'non-functional in v1.27+; use the "seccompProfile" field instead';

function warnOfAnnotations(
  annotations: Readonly<Record<string, string>>,
  spec: JsonObject,
  prefix: string,
  warn: Warn,
): void {
  if (!Object.keys(annotations).some((key) => /(?:alpha|beta)\.kubernetes\.io\//.test(key))) return;
  const say = (key: string, text: string) => {
    if (annotations[key] !== undefined) warn(`${prefix}metadata.annotations[${key}]: ${text}`);
  };
  for (const [key, text] of Object.entries(oldAnnotations)) say(key, text);
  const context = objectAt(spec, 'securityContext');
  if (!context?.seccompProfile) say('seccomp.security.alpha.kubernetes.io/pod', seccompText);
  for (const container of containersOf(spec)) {
    const name = textAt(container, 'name');
    const own = objectAt(container, 'securityContext');
    if (!own?.seccompProfile) say(`container.seccomp.security.alpha.kubernetes.io/${name}`, seccompText);
    if (prefix !== '' && !own?.appArmorProfile && !context?.appArmorProfile) say(`${appArmor}${name}`, appArmorText);
  }
}

function warnOfLists(spec: JsonObject, path: string, warn: Warn): void {
  const aliases = objectsAt(spec, 'hostAliases');
  warnOfRepeats(aliases, 'ip', `${path}.hostAliases`, warn);
  for (const [index, alias] of aliases.entries())
    for (const text of warningsForAddress(`${path}.hostAliases[${index}].ip`, textAt(alias, 'ip'))) warn(text);
  for (const [index, server] of textsAt(objectAt(spec, 'dnsConfig'), 'nameservers').entries())
    for (const text of warningsForAddress(`${path}.dnsConfig.nameservers[${index}]`, server)) warn(text);
  const secrets = objectsAt(spec, 'imagePullSecrets');
  warnOfRepeats(secrets, 'name', `${path}.imagePullSecrets`, warn);
  for (const [index, secret] of secrets.entries())
    if (textAt(secret, 'name') === '') warn(`${path}.imagePullSecrets[${index}].name: invalid empty name ""`);
}

function warnOfRepeats(list: readonly JsonObject[], field: string, path: string, warn: Warn): void {
  if (list.length < 2) return;
  const seen = new Set<string>();
  for (const [index, one] of list.entries()) {
    const value = textAt(one, field);
    if (seen.has(value)) warn(`${path}[${index}].${field}: duplicate ${field} ${quote(value)}`);
    seen.add(value);
  }
}

function warnOfFractions(amounts: JsonObject | undefined, path: string, warn: Warn): void {
  for (const name of ['memory', 'ephemeral-storage']) {
    const amount = amounts?.[name];
    if (amount === undefined) continue;
    const quantity = quantityOf(String(amount));
    if (quantity.scale >= 0 || quantity.toBigInt(-3) % 1000n === 0n) continue;
    warn(`${path}[${name}]: fractional byte value ${quote(String(amount))} is invalid, must be an integer`);
  }
}

function warnOfHiddenVariables(env: readonly JsonObject[], path: string, warn: Warn): void {
  if (env.length < 2) return;
  const seen = new Set<string>();
  for (const [index, variable] of env.entries()) {
    const [name, value] = [textAt(variable, 'name'), textAt(variable, 'value')];
    const reference = `$(${name})`;
    const isMeant = variable.valueFrom === undefined && value !== reference && value.includes(reference);
    if (seen.has(name) && !isMeant)
      warn(`${path}[${index}]: hides previous definition of ${quote(name)}, which may be dropped when using apply`);
    seen.add(name);
  }
}

/** Of ports of one number this many are compared with each other: it takes the square of them. */
const mostCompared = 50;

type Port = { readonly at: string; readonly hostIP: string; readonly hostPort: number };

function warnOfPorts(ports: readonly JsonObject[], path: string, known: Map<string, Port[]>, warn: Warn): void {
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    const [hostIP, hostPort] = [textAt(port, 'hostIP'), numberAt(port, 'hostPort') ?? 0];
    const [own, protocol] = [numberAt(port, 'containerPort') ?? 0, textAt(port, 'protocol')];
    if (hostIP !== '' && hostPort === 0) {
      const shown = `{Name:${textAt(port, 'name')} HostPort:0 ContainerPort:${own} Protocol:${protocol} HostIP:${hostIP}}`;
      warn(`${at}: hostIP set without hostPort: ${shown}`);
    }
    const key = `${own}/${protocol}`;
    const others = known.get(key) ?? [];
    for (const other of others) {
      if (hostIP === other.hostIP && hostPort === other.hostPort)
        warn(`${at}: duplicate port definition with ${other.at}`);
      else if (hostPort === 0 || other.hostPort === 0) warn(`${at}: overlapping port definition with ${other.at}`);
      else if (hostPort === other.hostPort && (hostIP === '' || other.hostIP === ''))
        warn(`${at}: dangerously ambiguous port definition with ${other.at}`);
    }
    if (others.length < mostCompared) known.set(key, [...others, { at, hostIP, hostPort }]);
  }
}
