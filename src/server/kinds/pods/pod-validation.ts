/**
 * What is refused in a pod spec, in pods and in templates alike. Containers have a room of their own.
 *
 * `path` is the path of the spec. Refusals come in the order in which the reference server finds them.
 */
import {
  checkConfigKey,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelValue,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll } from '../engine/append-all.ts';
import { between, oneOf, selects } from '../engine/checks.ts';
import { isObject, mapAt, numberAt, objectAt, objectsAt, textAt } from '../engine/fields.ts';
import { validateAnnotations, validateLabels } from '../metadata-validation.ts';
import { validateContainer, validateLocalPath, validateResources } from './container-validation.ts';

const restartPolicy = oneOf('Always', 'OnFailure', 'Never');
const dnsPolicy = oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None');
const preemptionPolicy = oneOf('Never', 'PreemptLowerPriority');
const activeDeadline = between(1, 2 ** 31 - 1);

export function validatePodSpec(spec: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const volumes = validateVolumes(objectsAt(spec, 'volumes'), `${path}.volumes`, errors);
  const scope = { names: new Set<string>(), volumes };
  const containers = objectsAt(spec, 'containers');
  if (containers.length === 0) errors.push(requiredValue(`${path}.containers`));
  for (const list of ['containers', 'initContainers', 'ephemeralContainers']) {
    for (const [index, container] of objectsAt(spec, list).entries()) {
      appendAll(errors, validateContainer(container, `${path}.${list}[${index}]`, scope));
    }
  }
  errors.push(
    ...restartPolicy(spec.restartPolicy ?? undefined, `${path}.restartPolicy`, spec),
    ...dnsPolicy(spec.dnsPolicy ?? undefined, `${path}.dnsPolicy`, spec),
    ...validateLabels(mapAt(spec, 'nodeSelector'), `${path}.nodeSelector`),
  );
  for (const [index, secret] of objectsAt(spec, 'imagePullSecrets').entries()) {
    if (textAt(secret, 'name') === '') errors.push(requiredValue(`${path}.imagePullSecrets[${index}].name`));
  }
  validateSpread(objectsAt(spec, 'topologySpreadConstraints'), `${path}.topologySpreadConstraints`, errors);
  checkName(checkDnsSubdomain, spec, 'serviceAccountName', path, errors);
  checkName(checkDnsSubdomain, spec, 'nodeName', path, errors);
  appendAll(errors, activeDeadline(spec.activeDeadlineSeconds ?? undefined, `${path}.activeDeadlineSeconds`, spec));
  checkName(checkDnsLabel, spec, 'hostname', path, errors);
  checkName(checkDnsLabel, spec, 'subdomain', path, errors);
  validateTolerations(objectsAt(spec, 'tolerations'), `${path}.tolerations`, errors);
  for (const [index, alias] of objectsAt(spec, 'hostAliases').entries()) {
    if (textAt(alias, 'ip') === '') errors.push(requiredValue(`${path}.hostAliases[${index}].ip`));
  }
  checkName(checkDnsSubdomain, spec, 'priorityClassName', path, errors);
  checkName(checkDnsSubdomain, spec, 'runtimeClassName', path, errors);
  appendAll(errors, preemptionPolicy(spec.preemptionPolicy ?? undefined, `${path}.preemptionPolicy`, spec));
  const resources = objectAt(spec, 'resources');
  if (resources) validateResources(resources, `${path}.resources`, errors);
  return errors;
}

/** A template in `owner.template`: labels, annotations and spec. */
export function validatePodTemplate(template: JsonObject | undefined, path: string): FieldError[] {
  const metadata = objectAt(template, 'metadata');
  return [
    ...validateLabels(mapAt(metadata, 'labels'), `${path}.labels`),
    ...validateAnnotations(mapAt(metadata, 'annotations'), `${path}.annotations`),
    ...validatePodSpec(objectAt(template, 'spec') ?? {}, `${path}.spec`),
  ];
}

/** What a selector selects must be what the template makes. */
export function validateTemplateLabels(
  selector: JsonObject | undefined,
  template: JsonObject | undefined,
  path: string,
): FieldError[] {
  const labels = mapAt(objectAt(template, 'metadata'), 'labels');
  if (selects(selector, labels)) return [];
  return [invalidValue(`${path}.metadata.labels`, labels ?? null, '`selector` does not match template `labels`')];
}

function checkName(
  check: (name: string) => string[],
  spec: JsonObject,
  field: string,
  path: string,
  errors: FieldError[],
): void {
  const value = spec[field];
  if (typeof value !== 'string' || value === '') return;
  for (const problem of check(value)) errors.push(invalidValue(`${path}.${field}`, value, problem));
}

const modeText = 'must be a number between 0 and 0777 (octal), both inclusive';
const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** What a source of a volume cannot do without. */
const neededInVolume: Readonly<Record<string, readonly string[]>> = {
  secret: ['secretName'],
  configMap: ['name'],
  hostPath: ['path'],
  persistentVolumeClaim: ['claimName'],
  nfs: ['server', 'path'],
  csi: ['driver'],
  image: ['reference'],
};

function validateVolumes(volumes: readonly JsonObject[], path: string, errors: FieldError[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(volume, 'name');
    const before = errors.length;
    validateSources(volume, at, errors);
    if (name === '') errors.push(requiredValue(`${at}.name`));
    else for (const problem of checkDnsLabel(name)) errors.push(invalidValue(`${at}.name`, name, problem));
    if (names.has(name)) errors.push(duplicateValue(`${at}.name`, name));
    if (errors.length === before) names.add(name);
  }
  return names;
}

function validateSources(volume: JsonObject, path: string, errors: FieldError[]): void {
  let found = 0;
  for (const kind in volume) {
    const source = volume[kind];
    if (!isObject(source)) continue;
    const at = `${path}.${kind}`;
    if (found++ > 0) {
      errors.push(forbiddenValue(at, 'may not specify more than 1 volume type'));
      continue;
    }
    for (const field of neededInVolume[kind] ?? []) {
      if (textAt(source, field) === '') errors.push(requiredValue(`${at}.${field}`));
    }
    const mode = numberAt(source, 'defaultMode');
    if (mode !== undefined && (mode < 0 || mode > 0o777))
      errors.push(invalidValue(`${at}.defaultMode`, mode, modeText));
    for (const [index, item] of objectsAt(source, 'items').entries())
      validateItem(item, `${at}.items[${index}]`, errors);
    if (kind === 'hostPath') {
      const [target, type] = [textAt(source, 'path'), textAt(source, 'type')];
      if (target.split('/').includes('..')) errors.push(invalidValue(`${at}.path`, target, "must not contain '..'"));
      if (!hostPathTypes.includes(type)) errors.push(unsupportedValue(`${at}.type`, type, hostPathTypes));
    }
  }
  if (found === 0) errors.push(requiredValue(path, 'must specify a volume type'));
}

function validateItem(item: JsonObject, path: string, errors: FieldError[]): void {
  const [key, target, mode] = [textAt(item, 'key'), textAt(item, 'path'), numberAt(item, 'mode')];
  const isReference = isObject(item.fieldRef) || isObject(item.resourceFieldRef);
  if (!isReference && key === '') errors.push(requiredValue(`${path}.key`));
  if (key !== '') for (const problem of checkConfigKey(key)) errors.push(invalidValue(`${path}.key`, key, problem));
  if (target === '') errors.push(requiredValue(`${path}.path`));
  validateLocalPath(target, `${path}.path`, errors);
  if (mode !== undefined && (mode < 0 || mode > 0o777)) errors.push(invalidValue(`${path}.mode`, mode, modeText));
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function validateTolerations(tolerations: readonly JsonObject[], path: string, errors: FieldError[]): void {
  for (const [index, toleration] of tolerations.entries()) {
    const at = `${path}[${index}]`;
    const { key, operator, value, effect } = {
      key: textAt(toleration, 'key'),
      operator: textAt(toleration, 'operator'),
      value: textAt(toleration, 'value'),
      effect: textAt(toleration, 'effect'),
    };
    if (key !== '') for (const problem of checkQualifiedName(key)) errors.push(invalidValue(`${at}.key`, key, problem));
    if (key === '' && operator !== 'Exists') {
      const why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(invalidValue(`${at}.operator`, operator, why));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute')
      errors.push(invalidValue(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    if (operator === '' || operator === 'Equal') {
      const problems = checkLabelValue(value);
      if (problems.length > 0) errors.push(invalidValue(`${at}.operator`, value, problems.join(';')));
    } else if (operator !== 'Exists') errors.push(unsupportedValue(`${at}.operator`, operator, ['Equal', 'Exists']));
    else if (value !== '')
      errors.push(invalidValue(`${at}.operator`, toleration, "value must be empty when `operator` is 'Exists'"));
    if (effect !== '' && !effects.includes(effect)) errors.push(unsupportedValue(`${at}.effect`, effect, effects));
  }
}

function validateSpread(constraints: readonly JsonObject[], path: string, errors: FieldError[]): void {
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`;
    const skew = numberAt(constraint, 'maxSkew') ?? 0;
    if (skew <= 0) errors.push(invalidValue(`${at}.maxSkew`, skew, 'must be greater than zero'));
    if (textAt(constraint, 'topologyKey') === '') errors.push(requiredValue(`${at}.topologyKey`, 'can not be empty'));
    const when = textAt(constraint, 'whenUnsatisfiable');
    if (when !== 'DoNotSchedule' && when !== 'ScheduleAnyway')
      errors.push(unsupportedValue(`${at}.whenUnsatisfiable`, when, ['DoNotSchedule', 'ScheduleAnyway']));
  }
}
