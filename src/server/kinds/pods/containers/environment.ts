/** The variables of a container, one by one and from whole objects. */
import {
  checkConfigKey,
  checkDnsLabel,
  checkDnsSubdomain,
  type FieldError,
  invalidValue,
  type JsonObject,
  requiredValue,
  valueNotFound,
} from '../../../../api/index.ts';
import { required } from '../../../strategy/validation/checks.ts';
import type { Check } from '../../../strategy/validation/field-table.ts';
import { objectAt, textAt } from '../../../strategy/validation/fields.ts';
import { checkStruct, type StructCheck, structChecks } from '../../../strategy/validation/struct-checks.ts';
import { checkFieldRef, checkResourceFieldRef, variableFields } from '../fields/field-refs.ts';
import { checkNoBacksteps } from '../fields/paths.ts';

type Volumes = ReadonlyMap<string, JsonObject>;

const variableText = "a valid environment variable name must consist only of printable ASCII characters other than '='";

function checkVariableName(name: string, path: string, errors: FieldError[]): void {
  if (!/^[ -<>-~]+$/.test(name)) errors.push(invalidValue(path, name, variableText));
}

/** Also an empty one is a name here, and a bad one. */
const subdomain: Check = (value, path) => {
  const name = typeof value === 'string' ? value : '';
  return checkDnsSubdomain(name).map((problem) => invalidValue(path, name, problem));
};
const configKey: Check = (value, path) =>
  checkConfigKey(String(value)).map((problem) => invalidValue(path, value, problem));

const checkKey = structChecks([['key', required, configKey]]);
const checkKeyRef: StructCheck = (reference, path, errors) => {
  for (const error of subdomain(reference.name ?? undefined, `${path}.name`, reference)) errors.push(error);
  checkKey(reference, path, errors);
};
/** Another text may follow a dash at the end. */
const subdomainStart: Check = (value, path) =>
  checkDnsSubdomain(String(value), true).map((problem) => invalidValue(path, value, problem));
const checkObjectRef = structChecks([['name', required, subdomainStart]]);

const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;
const needsSource =
  'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
const onlyOne = 'may not have more than one field specified at a time';

export function validateEnv(env: readonly JsonObject[], path: string, volumes: Volumes, errors: FieldError[]): void {
  for (const [index, variable] of env.entries()) {
    const at = `${path}[${index}]`;
    const name = textAt(variable, 'name');
    if (name === '') errors.push(requiredValue(`${at}.name`));
    else checkVariableName(name, `${at}.name`, errors);
    const from = objectAt(variable, 'valueFrom');
    if (from) validateValueFrom(from, textAt(variable, 'value'), `${at}.valueFrom`, volumes, errors);
  }
}

function validateValueFrom(
  from: JsonObject,
  value: string,
  path: string,
  volumes: Volumes,
  errors: FieldError[],
): void {
  const fieldRef = objectAt(from, 'fieldRef');
  if (fieldRef) checkFieldRef(fieldRef, `${path}.fieldRef`, variableFields, errors);
  const resourceRef = objectAt(from, 'resourceFieldRef');
  if (resourceRef) checkResourceFieldRef(resourceRef, `${path}.resourceFieldRef`, false, errors);
  checkStruct(checkKeyRef, from, 'configMapKeyRef', path, errors);
  checkStruct(checkKeyRef, from, 'secretKeyRef', path, errors);
  const fileRef = objectAt(from, 'fileKeyRef');
  if (fileRef) checkFileRef(fileRef, `${path}.fileKeyRef`, volumes, errors);
  const given = sources.filter((source) => from[source]).length;
  if (given === 0) errors.push(invalidValue(path, '', needsSource));
  else if (value !== '') errors.push(invalidValue(path, '', 'may not be specified when `value` is not empty'));
  else if (given > 1) errors.push(invalidValue(path, '', onlyOne));
}

function checkFileRef(reference: JsonObject, path: string, volumes: Volumes, errors: FieldError[]): void {
  const [key, volume, file] = [textAt(reference, 'key'), textAt(reference, 'volumeName'), textAt(reference, 'path')];
  if (key === '') errors.push(requiredValue(`${path}.key`));
  else checkVariableName(key, `${path}.key`, errors);
  if (volume === '') errors.push(requiredValue(`${path}.volumeName`));
  else for (const problem of checkDnsLabel(volume)) errors.push(invalidValue(`${path}.volumeName`, volume, problem));
  const found = volumes.get(volume);
  if (!found) errors.push(valueNotFound(`${path}.volumeName`, volume));
  else if (!found.emptyDir)
    errors.push(invalidValue(`${path}.volumeName`, volume, 'referenced volume must be of type emptyDir'));
  if (file === '') errors.push(requiredValue(`${path}.path`));
  else checkNoBacksteps(file, `${path}.path`, errors);
}

/** kube-apiserver names the list where the number of sources is wrong. */
export function validateEnvFrom(sources: readonly JsonObject[], path: string, errors: FieldError[]): void {
  for (const [index, source] of sources.entries()) {
    const at = `${path}[${index}]`;
    const prefix = textAt(source, 'prefix');
    if (prefix !== '') checkVariableName(prefix, `${at}.prefix`, errors);
    checkStruct(checkObjectRef, source, 'configMapRef', at, errors);
    checkStruct(checkObjectRef, source, 'secretRef', at, errors);
    const given = Number(Boolean(source.configMapRef)) + Number(Boolean(source.secretRef));
    if (given === 0) errors.push(invalidValue(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    else if (given > 1) errors.push(invalidValue(path, '', onlyOne));
  }
}
