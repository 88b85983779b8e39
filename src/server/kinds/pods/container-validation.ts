/**
 * What is refused in a container: names, images, ports, variables, mounts, resources, probes.
 *
 * Shared by pods and templates; `path` is where the list of containers stands. Refusals come in the order in which the
 * reference server finds them.
 */
import {
  checkConfigKey,
  checkDnsLabel,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  valueNotFound,
} from '../../../api/index.ts';
import { ownValue } from '../../codec/json-objects.ts';
import { quantityOf } from '../engine/amounts.ts';
import { appendAll } from '../engine/append-all.ts';
import { atLeast, checkPortName, oneOf, portNumber, portOrName, required } from '../engine/checks.ts';
import type { Check } from '../engine/field-table.ts';
import { isEmpty, numberAt, objectAt, objectsAt, sortedEntries, textAt } from '../engine/fields.ts';

/** What containers of one pod share: names must differ, mounts must name a volume. */
export type ContainerScope = { readonly names: Set<string>; readonly volumes: ReadonlySet<string> };

const portProtocol = oneOf('SCTP', 'TCP', 'UDP');
const pullPolicy = oneOf('Always', 'IfNotPresent', 'Never');
const messagePolicy = oneOf('File', 'FallbackToLogsOnError');
const scheme = oneOf('HTTP', 'HTTPS');
const notNegative = atLeast(0);

export function validateContainer(container: JsonObject, path: string, scope: ContainerScope): FieldError[] {
  const errors: FieldError[] = [];
  const [name, image] = [textAt(container, 'name'), textAt(container, 'image')];
  if (name === '') errors.push(requiredValue(`${path}.name`));
  else for (const problem of checkDnsLabel(name)) errors.push(invalidValue(`${path}.name`, name, problem));
  if (scope.names.has(name)) errors.push(duplicateValue(`${path}.name`, name));
  else scope.names.add(name);
  if (image === '') errors.push(requiredValue(`${path}.image`));
  else if (image !== image.trim())
    errors.push(invalidValue(`${path}.image`, image, 'must not have leading or trailing whitespace'));
  if (container.ports) validatePorts(objectsAt(container, 'ports'), `${path}.ports`, errors);
  run(errors, messagePolicy, container, 'terminationMessagePolicy', path);
  run(errors, pullPolicy, container, 'imagePullPolicy', path);
  if (container.env) validateEnv(objectsAt(container, 'env'), `${path}.env`, errors);
  if (container.envFrom) validateEnvFrom(objectsAt(container, 'envFrom'), `${path}.envFrom`, errors);
  if (container.volumeMounts) validateMounts(container, `${path}.volumeMounts`, scope, errors);
  const resources = objectAt(container, 'resources');
  if (resources?.limits || resources?.requests) validateResources(resources, `${path}.resources`, errors);
  const lifecycle = objectAt(container, 'lifecycle');
  validateHandler(objectAt(lifecycle, 'postStart'), `${path}.lifecycle.postStart`, errors);
  validateHandler(objectAt(lifecycle, 'preStop'), `${path}.lifecycle.preStop`, errors);
  validateProbe(objectAt(container, 'livenessProbe'), `${path}.livenessProbe`, errors, true);
  validateProbe(objectAt(container, 'readinessProbe'), `${path}.readinessProbe`, errors, false);
  validateProbe(objectAt(container, 'startupProbe'), `${path}.startupProbe`, errors, true);
  return errors;
}

function run(errors: FieldError[], check: Check, owner: JsonObject, field: string, path: string): void {
  const value = owner[field];
  if (value !== undefined) appendAll(errors, check(value, `${path}.${field}`, owner));
}

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
    else run(errors, portNumber, port, 'containerPort', at);
    if (numberAt(port, 'hostPort')) run(errors, portNumber, port, 'hostPort', at);
    if (textAt(port, 'protocol') === '') errors.push(requiredValue(`${at}.protocol`));
    else run(errors, portProtocol, port, 'protocol', at);
  }
}

const envNameText = "a valid environment variable name must consist only of printable ASCII characters other than '='";
const valueSources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;
const needsSource = 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`';

function validateEnv(env: readonly JsonObject[], path: string, errors: FieldError[]): void {
  for (const [index, variable] of env.entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(variable, 'name');
    if (name === '') errors.push(requiredValue(`${at}.name`));
    else if (!/^[ -<>-~]+$/.test(name)) errors.push(invalidValue(`${at}.name`, name, envNameText));
    const from = objectAt(variable, 'valueFrom');
    if (!from) continue;
    const given = valueSources.filter((source) => from[source]);
    if (given.length === 0) errors.push(invalidValue(`${at}.valueFrom`, '', needsSource));
    else if (textAt(variable, 'value') !== '') {
      errors.push(invalidValue(`${at}.valueFrom`, '', 'may not be specified when `value` is not empty'));
    } else if (given.length > 1) {
      errors.push(invalidValue(`${at}.valueFrom`, '', 'may not have more than one field specified at a time'));
    }
    if (from.fieldRef) run(errors, required, objectAt(from, 'fieldRef')!, 'fieldPath', `${at}.valueFrom.fieldRef`);
    validateKeyRef(objectAt(from, 'configMapKeyRef'), `${at}.valueFrom.configMapKeyRef`, errors);
    validateKeyRef(objectAt(from, 'secretKeyRef'), `${at}.valueFrom.secretKeyRef`, errors);
  }
}

function validateKeyRef(reference: JsonObject | undefined, path: string, errors: FieldError[]): void {
  if (!reference) return;
  const key = textAt(reference, 'key');
  if (key === '') errors.push(requiredValue(`${path}.key`));
  else for (const problem of checkConfigKey(key)) errors.push(invalidValue(`${path}.key`, key, problem));
}

function validateEnvFrom(sources: readonly JsonObject[], path: string, errors: FieldError[]): void {
  for (const [index, source] of sources.entries()) {
    const at = `${path}[${index}]`;
    const given = ['configMapRef', 'secretRef'].filter((name) => source[name]);
    if (given.length === 0) errors.push(invalidValue(at, '', 'must specify one of: `configMapRef` or `secretRef`'));
    else if (given.length > 1)
      errors.push(invalidValue(at, '', 'may not have more than one field specified at a time'));
    for (const name of given) {
      if (textAt(objectAt(source, name), 'name') === '') errors.push(requiredValue(`${at}.${name}.name`));
    }
  }
}

function validateMounts(container: JsonObject, path: string, { volumes }: ContainerScope, errors: FieldError[]): void {
  const paths = new Set<string>();
  for (const [index, mount] of objectsAt(container, 'volumeMounts').entries()) {
    const at = `${path}[${index}]`;
    const [name, mountPath] = [textAt(mount, 'name'), textAt(mount, 'mountPath')];
    if (name === '') errors.push(requiredValue(`${at}.name`));
    else if (!volumes.has(name)) errors.push(valueNotFound(`${at}.name`, name));
    if (mountPath === '') errors.push(requiredValue(`${at}.mountPath`));
    if (paths.has(mountPath)) errors.push(invalidValue(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    for (const field of ['subPath', 'subPathExpr']) validateLocalPath(textAt(mount, field), `${at}.${field}`, errors);
    if (textAt(mount, 'subPath') !== '' && textAt(mount, 'subPathExpr') !== '') {
      const why = 'subPathExpr and subPath are mutually exclusive';
      errors.push(invalidValue(`${at}.subPathExpr`, textAt(mount, 'subPathExpr'), why));
    }
  }
}

export function validateLocalPath(value: string, path: string, errors: FieldError[]): void {
  if (value.startsWith('/')) errors.push(invalidValue(path, value, 'must be a relative path'));
  if (value.split('/').includes('..')) errors.push(invalidValue(path, value, "must not contain '..'"));
}

const plainResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

export function validateResources(resources: JsonObject, path: string, errors: FieldError[]): void {
  const limits = objectAt(resources, 'limits') ?? {};
  for (const part of ['limits', 'requests']) {
    for (const [name, amount] of sortedEntries(objectAt(resources, part))) {
      const at = `${path}.${part}[${name}]`;
      const problems = checkQualifiedName(name);
      for (const problem of problems) errors.push(invalidValue(at, name, problem));
      const isKnown = plainResources.has(name) || name.startsWith('hugepages-') || name.includes('/');
      if (problems.length === 0 && !isKnown)
        errors.push(invalidValue(at, name, 'must be a standard resource for containers'));
      const quantity = quantityOf(String(amount));
      if (quantity.sign < 0) errors.push(invalidValue(at, amount, 'must be greater than or equal to 0'));
      if (name.includes('/') && quantity.toBigInt(-9) % 1_000_000_000n !== 0n)
        errors.push(invalidValue(at, amount, 'must be an integer'));
      if (part === 'limits') continue;
      const limit = ownValue(limits, name);
      if (limit === undefined) {
        if (name.includes('/'))
          errors.push(requiredValue(`${path}.limits`, 'Limit must be set for non overcommitable resources'));
        continue;
      }
      const difference = quantity.compare(quantityOf(String(limit)));
      if (name.includes('/') && difference !== 0)
        errors.push(invalidValue(`${path}.requests`, amount, `must be equal to ${name} limit of ${limit}`));
      else if (difference > 0)
        errors.push(
          invalidValue(`${path}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`),
        );
    }
  }
}

const handlers = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

function validateHandler(handler: JsonObject | undefined, path: string, errors: FieldError[]): void {
  if (!handler) return;
  const given = handlers.filter((name) => handler[name]);
  if (given.length === 0) errors.push(requiredValue(path, 'must specify a handler type'));
  for (const name of given.slice(1))
    errors.push(forbiddenValue(`${path}.${name}`, 'may not specify more than 1 handler type'));
  const [exec, httpGet, tcpSocket] = [
    objectAt(handler, 'exec'),
    objectAt(handler, 'httpGet'),
    objectAt(handler, 'tcpSocket'),
  ];
  if (exec && isEmpty(exec.command)) errors.push(requiredValue(`${path}.exec.command`));
  if (httpGet) {
    if (textAt(httpGet, 'path') === '') errors.push(requiredValue(`${path}.httpGet.path`));
    run(errors, portOrName, httpGet, 'port', `${path}.httpGet`);
    run(errors, scheme, httpGet, 'scheme', `${path}.httpGet`);
  }
  if (tcpSocket) run(errors, portOrName, tcpSocket, 'port', `${path}.tcpSocket`);
  const grpc = objectAt(handler, 'grpc');
  if (grpc) run(errors, portNumber, grpc, 'port', `${path}.grpc`);
}

const probeNumbers = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'successThreshold', 'failureThreshold'];

function validateProbe(probe: JsonObject | undefined, path: string, errors: FieldError[], mayEnd: boolean): void {
  if (!probe) return;
  validateHandler(probe, path, errors);
  for (const field of probeNumbers) run(errors, notNegative, probe, field, path);
  const grace = numberAt(probe, 'terminationGracePeriodSeconds');
  if (grace !== undefined && grace <= 0)
    errors.push(invalidValue(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  if (!mayEnd) {
    if (grace !== undefined)
      errors.push(invalidValue(`${path}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes'));
    return;
  }
  const threshold = numberAt(probe, 'successThreshold') ?? 1;
  if (threshold !== 1) errors.push(invalidValue(`${path}.successThreshold`, threshold, 'must be 1'));
}
