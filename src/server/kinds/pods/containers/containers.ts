/**
 * The containers of a pod: those that run, those that run before them (or beside them, if they are always
 * restarted), and those that are added to a running pod for a look around. They share most rules and differ in what
 * they may have beyond.
 */
import { isGivenEmpty } from '../../../../api/given-empty.ts';
import {
  checkDnsLabel,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  tooMany,
  unsupportedValue,
  valueNotFound,
} from '../../../../api/index.ts';
import { appendAll } from '../../../strategy/validation/append-all.ts';
import { checkPortName, oneOf, portNumber, required } from '../../../strategy/validation/checks.ts';
import { numberAt, objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { structChecks } from '../../../strategy/validation/struct-checks.ts';
import { validateContainerContext } from '../security/security-context.ts';
import { validateEnv, validateEnvFrom } from './environment.ts';
import { type GracePeriod, validateLifecycle, validateProbes } from './handlers.ts';
import { validateDevices, validateMounts } from './mounts.ts';
import { validateContainerResources } from './resources.ts';

/** What the containers of one pod have in common. */
export type ContainerScope = {
  readonly volumes: ReadonlyMap<string, JsonObject>;
  /** Names of the claims of devices, in order. */
  readonly claims: readonly string[];
  readonly grace: GracePeriod;
  readonly restartPolicy: string;
  readonly usesHostUsers: boolean;
  /** Whether it is a pod, not the template of one. */
  readonly isPod: boolean;
};

export function validateContainers(spec: JsonObject, path: string, scope: ContainerScope, errors: FieldError[]): void {
  const [running, initial] = [objectsAt(spec, 'containers'), objectsAt(spec, 'initContainers')];
  const names = new Set<string>();
  if (running.length === 0) errors.push(requiredValue(`${path}.containers`));
  for (const [index, container] of running.entries()) {
    const at = `${path}.containers[${index}]`;
    validateCommon(container, at, scope, errors);
    takeName(container, at, names, errors);
    validateLifecycle(container, at, scope.grace, errors);
    validateProbes(container, at, scope.grace, errors);
    validateRestarts(container, at, errors, true);
  }
  checkHostPorts(running, (index) => `${path}.containers[${index}]`, errors);
  for (const [index, container] of initial.entries()) {
    const at = `${path}.initContainers[${index}]`;
    validateCommon(container, at, scope, errors);
    validateRestarts(container, at, errors, false);
    if (textAt(container, 'name') !== '' || names.has('')) takeName(container, at, names, errors);
    checkHostPorts([container], () => `${path}.initContainers[0]`, errors);
    if (container.restartPolicy === 'Always') {
      validateLifecycle(container, at, scope.grace, errors);
      validateProbes(container, at, scope.grace, errors);
    } else refuseFields(container, at, notBefore, notBeforeText, errors);
  }
  const added = objectsAt(spec, 'ephemeralContainers');
  const targets = added.length > 0 ? new Set(names) : names;
  for (const [index, container] of added.entries())
    validateEphemeral(container, `${path}.ephemeralContainers[${index}]`, names, targets, scope, errors);
}

const notBefore = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'];
const notBeforeText = 'may not be set for init containers without restartPolicy=Always';
const notAdded = ['ports', 'resizePolicy', 'restartPolicy', 'restartPolicyRules', ...notBefore];
const notAddedText = 'cannot be set for an Ephemeral Container';

function refuseFields(
  container: JsonObject,
  path: string,
  fields: readonly string[],
  why: string,
  errors: FieldError[],
): void {
  for (const field of fields)
    if ((container[field] !== undefined && container[field] !== null) || isGivenEmpty(container, field))
      errors.push(forbiddenValue(`${path}.${field}`, why));
}

function takeName(container: JsonObject, path: string, names: Set<string>, errors: FieldError[]): void {
  const name = textAt(container, 'name');
  if (names.has(name)) errors.push(duplicateValue(`${path}.name`, name));
  else names.add(name);
}

/** `names` are those of all containers before, ephemeral ones too; only `targets` can be looked at. */
function validateEphemeral(
  container: JsonObject,
  path: string,
  names: Set<string>,
  targets: ReadonlySet<string>,
  scope: ContainerScope,
  errors: FieldError[],
): void {
  validateCommon(container, path, { ...scope, isPod: true }, errors);
  const target = textAt(container, 'targetContainerName');
  if (target !== '' && !targets.has(target)) errors.push(valueNotFound(`${path}.targetContainerName`, target));
  takeName(container, path, names, errors);
  refuseFields(container, path, notAdded, notAddedText, errors);
  const resources = objectAt(container, 'resources');
  if (resources && Object.keys(resources).length > 0) errors.push(forbiddenValue(`${path}.resources`, notAddedText));
  for (const [index, mount] of objectsAt(container, 'volumeMounts').entries()) {
    for (const field of ['subPath', 'subPathExpr'])
      if (textAt(mount, field) !== '')
        errors.push(forbiddenValue(`${path}.volumeMounts[${index}].${field}`, notAddedText));
  }
}

const checkPolicies = structChecks([
  ['terminationMessagePolicy', required, oneOf('File', 'FallbackToLogsOnError')],
  ['imagePullPolicy', required, oneOf('Always', 'IfNotPresent', 'Never')],
]);

function validateCommon(container: JsonObject, path: string, scope: ContainerScope, errors: FieldError[]): void {
  const [name, image] = [textAt(container, 'name'), textAt(container, 'image')];
  if (name === '') errors.push(requiredValue(`${path}.name`));
  else for (const problem of checkDnsLabel(name)) errors.push(invalidValue(`${path}.name`, name, problem));
  if (image === '') errors.push(requiredValue(`${path}.image`));
  else if (scope.isPod && image !== image.trim())
    errors.push(invalidValue(`${path}.image`, image, 'must not have leading or trailing whitespace'));
  checkPolicies(container, path, errors);
  if (container.ports) validatePorts(objectsAt(container, 'ports'), `${path}.ports`, errors);
  if (container.env) validateEnv(objectsAt(container, 'env'), `${path}.env`, scope.volumes, errors);
  if (container.envFrom) validateEnvFrom(objectsAt(container, 'envFrom'), `${path}.envFrom`, errors);
  if (container.volumeMounts) validateMounts(container, `${path}.volumeMounts`, scope.volumes, errors);
  if (container.volumeDevices) validateDevices(container, `${path}.volumeDevices`, scope.volumes, errors);
  const resources = objectAt(container, 'resources');
  if (resources) validateContainerResources(resources, `${path}.resources`, scope.claims, errors);
  if (container.resizePolicy) validateResizePolicy(container, `${path}.resizePolicy`, scope.restartPolicy, errors);
  const context = objectAt(container, 'securityContext');
  if (context) validateContainerContext(context, `${path}.securityContext`, scope.usesHostUsers, errors);
}

const checkPort = structChecks([['protocol', required, oneOf('SCTP', 'TCP', 'UDP')]]);

function validatePorts(ports: readonly JsonObject[], path: string, errors: FieldError[]): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(port, 'name');
    if (name !== '') {
      const problems = checkPortName(name);
      for (const problem of problems) errors.push(invalidValue(`${at}.name`, name, problem));
      if (problems.length === 0 && names.has(name)) errors.push(duplicateValue(`${at}.name`, name));
      names.add(name);
    }
    if (!numberAt(port, 'containerPort')) errors.push(requiredValue(`${at}.containerPort`));
    else appendAll(errors, portNumber(port.containerPort, `${at}.containerPort`, port));
    if (numberAt(port, 'hostPort')) appendAll(errors, portNumber(port.hostPort, `${at}.hostPort`, port));
    checkPort(port, at, errors);
  }
}

/** No two of these may take the same port of the host. */
function checkHostPorts(
  containers: readonly JsonObject[],
  pathOf: (index: number) => string,
  errors: FieldError[],
): void {
  const taken = new Set<string>();
  for (const [index, container] of containers.entries()) {
    if (!container.ports) continue;
    for (const [at, port] of objectsAt(container, 'ports').entries()) {
      const number = numberAt(port, 'hostPort');
      if (!number) continue;
      const text = `${textAt(port, 'protocol')}/${textAt(port, 'hostIP')}/${number}`;
      if (taken.has(text)) errors.push(duplicateValue(`${pathOf(index)}.ports[${at}].hostPort`, text));
      else taken.add(text);
    }
  }
}

const resizable = ['cpu', 'memory'];
const resizeRestarts = ['NotRequired', 'RestartContainer'];

function validateResizePolicy(container: JsonObject, path: string, podPolicy: string, errors: FieldError[]): void {
  const seen = new Set<string>();
  for (const [index, policy] of objectsAt(container, 'resizePolicy').entries()) {
    const [name, restart] = [textAt(policy, 'resourceName'), textAt(policy, 'restartPolicy')];
    if (seen.has(name)) errors.push(duplicateValue(`${path}[${index}]`, name));
    seen.add(name);
    if (name === '') errors.push(requiredValue(path));
    else if (!resizable.includes(name)) errors.push(unsupportedValue(path, name, resizable));
    if (restart === '') errors.push(requiredValue(path));
    else if (!resizeRestarts.includes(restart)) errors.push(unsupportedValue(path, restart, resizeRestarts));
    if (podPolicy === 'Never' && restart !== 'NotRequired')
      errors.push(invalidValue(path, restart, "must be 'NotRequired' when `restartPolicy` is 'Never'"));
  }
}

const restartPolicies = ['Always', 'Never', 'OnFailure'];
const restartActions = ['Restart', 'RestartAllContainers'];
const mostRules = 20;
const mostExitCodes = 255;

/** When a single container is restarted, whatever the pod says. */
function validateRestarts(container: JsonObject, path: string, errors: FieldError[], isRunning: boolean): void {
  const policy = container.restartPolicy;
  if (typeof policy === 'string' && !restartPolicies.includes(policy))
    errors.push(unsupportedValue(`${path}.restartPolicy`, policy, restartPolicies));
  const rules = objectsAt(container, 'restartPolicyRules');
  if (rules.length === 0) return;
  if (policy === undefined) {
    errors.push(requiredValue(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
    if (!isRunning) return;
  }
  if (rules.length > mostRules) errors.push(tooMany(`${path}.restartPolicyRules`, rules.length, mostRules));
  for (const [index, rule] of rules.entries()) {
    const at = `${path}.restartPolicyRules[${index}]`;
    const action = textAt(rule, 'action');
    if (!restartActions.includes(action)) errors.push(unsupportedValue(`${at}.action`, action, restartActions));
    const codes = objectAt(rule, 'exitCodes');
    if (!codes) {
      errors.push(requiredValue(`${at}.exitCodes`, 'must be specified'));
      continue;
    }
    const operator = textAt(codes, 'operator');
    if (operator !== 'In' && operator !== 'NotIn')
      errors.push(unsupportedValue(`${at}.exitCodes.operator`, operator, ['In', 'NotIn']));
    const values = Array.isArray(codes.values) ? codes.values.length : 0;
    if (values > mostExitCodes) errors.push(tooMany(`${at}.exitCodes.values`, values, mostExitCodes));
  }
}
