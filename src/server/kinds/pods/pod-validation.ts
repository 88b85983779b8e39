/**
 * What is refused in a pod spec, in pods and in templates alike. Containers, volumes, scheduling and security have
 * rooms of their own; here they meet.
 *
 * `path` is the path of the spec.
 */
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  tooLong,
  unsupportedValue,
} from '../../../api/index.ts';
import { ownValue } from '../../codec/json/json-objects.ts';
import { quantityOf } from '../../strategy/validation/amounts.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { between, named, oneOf, required } from '../../strategy/validation/checks.ts';
import type { Check } from '../../strategy/validation/field-table.ts';
import { mapAt, numberAt, objectAt, objectsAt, sortedEntries, textAt } from '../../strategy/validation/fields.ts';
import { validateAnnotations, validateLabels } from '../../strategy/validation/metadata-validation.ts';
import { isHugePages } from '../../strategy/validation/resource-names.ts';
import { checkStruct, checkStructs, type StructCheck, structChecks } from '../../strategy/validation/struct-checks.ts';
import { checkTolerations } from '../../strategy/validation/tolerations.ts';
import { aggregateAmounts } from './containers/aggregate-requests.ts';
import { validateContainers } from './containers/containers.ts';
import { hasWholeResources, validateContainerResources, validatePodResources } from './containers/resources.ts';
import { containerPath, containersOf } from './fields/each-container.ts';
import { validatePodAnnotations } from './pod-annotations.ts';
import { validateDnsConfig, validateHostAliases } from './pod-network.ts';
import { checkAffinity, validateGates, validateSpreading } from './scheduling.ts';
import { validateProfilePairs } from './security/profile-annotations.ts';
import { validatePodContext } from './security/security-context.ts';
import { validateForSystem, validateHostProcess } from './security/windows-options.ts';
import { type VolumesOwner, validateVolumes } from './volumes/volumes.ts';

const template: VolumesOwner = { isPod: false, podName: '' };

/** Also an empty text is a value, and a bad one. */
const subdomain: Check = (value, path) =>
  checkDnsSubdomain(String(value)).map((problem) => invalidValue(path, value, problem));

/** Nothing may be said, and then not nothing. */
const notEmpty: Check = (value, path) => (value === '' ? [requiredValue(path)] : []);

const checkScalars = structChecks([
  ['terminationGracePeriodSeconds', required],
  ['restartPolicy', required, oneOf('Always', 'OnFailure', 'Never')],
  ['dnsPolicy', required, oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None')],
  ['serviceAccountName', named(checkDnsSubdomain)],
  ['nodeName', named(checkDnsSubdomain)],
  ['activeDeadlineSeconds', between(1, 2 ** 31 - 1)],
  ['hostname', named(checkDnsLabel)],
  ['subdomain', named(checkDnsLabel)],
  ['priorityClassName', named(checkDnsSubdomain)],
  ['runtimeClassName', subdomain],
  ['preemptionPolicy', notEmpty, oneOf('PreemptLowerPriority', 'Never')],
]);

const checkReadinessGate: StructCheck = (gate, path, errors) => {
  const type = textAt(gate, 'conditionType');
  for (const problem of checkQualifiedName(type)) errors.push(invalidValue(`${path}.conditionType`, type, problem));
};

export function validatePodSpec(spec: JsonObject, path: string, owner: VolumesOwner = template): FieldError[] {
  const errors: FieldError[] = [];
  const volumes = validateVolumes(objectsAt(spec, 'volumes'), `${path}.volumes`, owner, errors);
  const given = objectsAt(spec, 'resourceClaims');
  if (owner.isStatic)
    for (const _ of given) errors.push(forbiddenValue('', 'static pods do not support resource claims'));
  const claims = validateResourceClaims(given, `${path}.resourceClaims`, owner.isStatic ? [] : errors);
  const scope = {
    volumes,
    claims,
    grace: numberAt(spec, 'terminationGracePeriodSeconds'),
    restartPolicy: textAt(spec, 'restartPolicy'),
    usesHostUsers: spec.hostUsers !== false,
    isPod: owner.isPod,
  };
  validateContainers(spec, path, scope, errors);
  checkScalars(spec, path, errors);
  if (spec.resources) checkWholePod(spec, `${path}.resources`, claims, errors);
  if (spec.hostNetwork === true) checkHostNetwork(spec, path, owner.isPod, errors);
  if (spec.nodeSelector) appendAll(errors, validateLabels(mapAt(spec, 'nodeSelector'), `${path}.nodeSelector`));
  const context = objectAt(spec, 'securityContext');
  if (context) validatePodContext(context, `${path}.securityContext`, spec, errors);
  checkStruct(checkAffinity, spec, 'affinity', path, errors);
  validateDnsConfig(spec, `${path}.dnsConfig`, errors);
  checkStructs(checkReadinessGate, spec, 'readinessGates', path, errors);
  if (spec.schedulingGates) validateGates(objectsAt(spec, 'schedulingGates'), `${path}.schedulingGates`, errors);
  if (spec.topologySpreadConstraints)
    validateSpreading(objectsAt(spec, 'topologySpreadConstraints'), `${path}.topologySpreadConstraints`, errors);
  validateHostProcess(spec, path, errors);
  if (spec.hostUsers === false) checkOwnUsers(spec, path, errors);
  if (spec.tolerations) appendAll(errors, checkTolerations(objectsAt(spec, 'tolerations'), `${path}.tolerations`));
  if (spec.hostAliases) validateHostAliases(objectsAt(spec, 'hostAliases'), `${path}.hostAliases`, errors);
  const overhead = objectAt(spec, 'overhead');
  if (overhead) validateContainerResources({ limits: overhead }, `${path}.overhead`, [], errors);
  if (spec.hostnameOverride !== undefined) checkHostname(spec, `${path}.hostnameOverride`, errors);
  const system = objectAt(spec, 'os');
  if (system) checkSystem(spec, textAt(system, 'name'), path, errors);
  return errors;
}

function validateResourceClaims(claims: readonly JsonObject[], path: string, errors: FieldError[]): readonly string[] {
  const names = new Set<string>();
  for (const [index, claim] of claims.entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(claim, 'name');
    if (name === '') errors.push(requiredValue(`${at}.name`));
    else if (names.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    else for (const problem of checkDnsLabel(name)) errors.push(invalidValue(`${at}.name`, name, problem));
    if (name !== '') names.add(name);
    const { resourceClaimName: one, resourceClaimTemplateName: made } = claim;
    if (one !== undefined && made !== undefined) {
      const why = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      errors.push(invalidValue(at, claim, why));
    }
    if (one === undefined && made === undefined) {
      const why = 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`';
      errors.push(invalidValue(at, claim, why));
    }
    if (one !== undefined) appendAll(errors, subdomain(one, `${at}.resourceClaimName`, claim));
    if (made !== undefined) appendAll(errors, subdomain(made, `${at}.resourceClaimTemplateName`, claim));
  }
  return [...names].sort();
}

/** Limits add up only where what is limited cannot be promised twice. */
function checkSums(
  spec: JsonObject,
  part: 'requests' | 'limits',
  given: JsonObject,
  path: string,
  errors: FieldError[],
): void {
  for (const [name, needed] of aggregateAmounts(spec, part)) {
    if (part === 'limits' && !isHugePages(name)) continue;
    const own = ownValue(given, name);
    if (own === undefined || needed.compare(quantityOf(String(own))) <= 0) continue;
    const why = `must be greater than or equal to aggregate container ${part} of ${needed}`;
    errors.push(invalidValue(`${path}.${part}[${name}]`, own, why));
  }
}

/** What a pod requests as a whole is at least what its containers do; their limits are within its own. */
function checkWholePod(spec: JsonObject, path: string, claims: readonly string[], errors: FieldError[]): void {
  if (textAt(objectAt(spec, 'os'), 'name') === 'windows') {
    errors.push(forbiddenValue(path, 'may not be set for a windows pod'));
    return;
  }
  const resources = objectAt(spec, 'resources') ?? {};
  validatePodResources(resources, path, claims, errors);
  if (!hasWholeResources(resources)) return;
  const limits = objectAt(resources, 'limits') ?? {};
  checkSums(spec, 'requests', objectAt(resources, 'requests') ?? {}, path, errors);
  if (Object.keys(limits).some(isHugePages)) checkSums(spec, 'limits', limits, path, errors);
  for (const [index, container] of objectsAt(spec, 'containers').entries()) {
    for (const [name, limit] of sortedEntries(objectAt(objectAt(container, 'resources'), 'limits'))) {
      const most = limits[name];
      if (most === undefined || quantityOf(String(limit)).compare(quantityOf(String(most))) <= 0) continue;
      const why = `must be less than or equal to pod limits of ${most}`;
      errors.push(invalidValue(`${path}.containers[${index}][${name}].limits`, limit, why));
    }
  }
}

function checkHostNetwork(spec: JsonObject, path: string, isPod: boolean, errors: FieldError[]): void {
  for (const [index, container] of objectsAt(spec, 'containers').entries()) {
    for (const [at, port] of objectsAt(container, 'ports').entries()) {
      const [own, host] = [numberAt(port, 'containerPort') ?? 0, numberAt(port, 'hostPort') ?? 0];
      if (host === own || (host === 0 && !isPod)) continue;
      const why = 'must match `containerPort` when `hostNetwork` is true';
      errors.push(invalidValue(`${path}.containers[${index}].ports[${at}].hostPort`, host, why));
    }
  }
}

const ownUsersText = 'when `hostUsers` is false';

/** A pod with users of its own shares nothing else with the host. */
function checkOwnUsers(spec: JsonObject, path: string, errors: FieldError[]): void {
  if (spec.hostNetwork === true) errors.push(forbiddenValue(`${path}.hostNetwork`, ownUsersText));
  if (spec.hostPID === true) errors.push(forbiddenValue(`${path}.HostPID`, ownUsersText));
  if (spec.hostIPC === true) errors.push(forbiddenValue(`${path}.HostIPC`, ownUsersText));
  containersOf(spec).forEach((container, place) => {
    if (objectsAt(container, 'volumeDevices').length > 0)
      errors.push(forbiddenValue(`${containerPath(spec, path, place)}.volumeDevices`, ownUsersText));
  });
}

const hostnameLimit = 64;

function checkHostname(spec: JsonObject, path: string, errors: FieldError[]): void {
  const name = textAt(spec, 'hostnameOverride');
  for (const problem of checkDnsSubdomain(name)) errors.push(invalidValue(path, name, problem));
  if (Buffer.byteLength(name) > hostnameLimit) errors.push(tooLong(path, hostnameLimit));
  if (spec.hostNetwork === true) errors.push(forbiddenValue(path, 'may not be specified when hostNetwork is true'));
  if (spec.setHostnameAsFQDN === true)
    errors.push(forbiddenValue(path, 'may not be specified when setHostnameAsFQDN is true'));
}

function checkSystem(spec: JsonObject, name: string, path: string, errors: FieldError[]): void {
  if (name === '') errors.push(requiredValue(`${path}.os.name`));
  else if (name !== 'linux' && name !== 'windows')
    errors.push(unsupportedValue(`${path}.os`, name, ['linux', 'windows']));
  else validateForSystem(spec, name, path, errors);
}

/** A template in `owner.template`: labels, annotations and spec. */
export function validatePodTemplate(template: JsonObject | undefined, path: string): FieldError[] {
  const metadata = objectAt(template, 'metadata');
  const spec = objectAt(template, 'spec') ?? {};
  const errors = [
    ...validateLabels(mapAt(metadata, 'labels'), `${path}.labels`),
    ...validateAnnotations(mapAt(metadata, 'annotations'), `${path}.annotations`),
  ];
  const annotations = mapAt(metadata, 'annotations');
  const hasProfiles = validatePodAnnotations(annotations, spec, `${path}.annotations`, errors);
  appendAll(errors, validatePodSpec(spec, `${path}.spec`));
  if (hasProfiles) validateProfilePairs(annotations, spec, `${path}.spec`, errors);
  if (objectsAt(spec, 'ephemeralContainers').length > 0)
    errors.push(forbiddenValue(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'));
  return errors;
}
