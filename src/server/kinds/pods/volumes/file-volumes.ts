/**
 * Volumes of files that the server's own objects make: secrets, config maps, the downward API, and projections of
 * all of them into one folder.
 */
import {
  checkDnsSubdomain,
  checkQualifiedName,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../../api/index.ts';
import { appendAll } from '../../../strategy/validation/append-all.ts';
import { labelSelector, required } from '../../../strategy/validation/checks.ts';
import type { Check } from '../../../strategy/validation/field-table.ts';
import { isNumber, numberAt, objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { allOf, checkStructs, type StructCheck, structChecks } from '../../../strategy/validation/struct-checks.ts';
import { checkFieldRef, checkResourceFieldRef, fileFields } from '../fields/field-refs.ts';
import { checkOwnPath } from '../fields/paths.ts';

const modeText = 'must be a number between 0 and 0777 (octal), both inclusive';
const fileMode: Check = (value, path) =>
  isNumber(value) && (value < 0 || value > 0o777) ? [invalidValue(path, value, modeText)] : [];
const ownPath: Check = (value, path) => {
  const errors: FieldError[] = [];
  checkOwnPath(String(value), path, errors);
  return errors;
};

const checkKeyToPath = structChecks([
  ['key', required],
  ['path', required, ownPath],
  ['mode', fileMode],
]);
const checkItems: StructCheck = (source, path, errors) => checkStructs(checkKeyToPath, source, 'items', path, errors);

export const checkSecretVolume: StructCheck = allOf(
  structChecks([
    ['secretName', required],
    ['defaultMode', fileMode],
  ]),
  checkItems,
);
export const checkConfigMapVolume: StructCheck = allOf(
  structChecks([
    ['name', required],
    ['defaultMode', fileMode],
  ]),
  checkItems,
);

const checkFileBase = structChecks([
  ['path', required, ownPath],
  ['mode', fileMode],
]);

/** A file of the downward API; kube-apiserver names the volume's path, not that of the item. */
const checkDownwardFile: StructCheck = (file, path, errors) => {
  checkFileBase(file, path, errors);
  const [fieldRef, resourceRef] = [objectAt(file, 'fieldRef'), objectAt(file, 'resourceFieldRef')];
  if (fieldRef) {
    checkFieldRef(fieldRef, `${path}.fieldRef`, fileFields, errors);
    if (resourceRef)
      errors.push(invalidValue(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
  } else if (resourceRef) checkResourceFieldRef(resourceRef, `${path}.resourceFieldRef`, true, errors);
  else errors.push(requiredValue(path, 'one of fieldRef and resourceFieldRef is required'));
};

const checkDefaultMode = structChecks([['defaultMode', fileMode]]);

export const checkDownwardVolume: StructCheck = (source, path, errors) => {
  checkDefaultMode(source, path, errors);
  for (const file of objectsAt(source, 'items')) checkDownwardFile(file, path, errors);
};

type Projection = (source: JsonObject, path: string, all: Paths) => void;

/** What all sources of one projected volume share: its path, the paths that are taken, what was refused. */
type Paths = { readonly volume: string; readonly taken: Set<string>; readonly errors: FieldError[] };

function take(path: string, shown: string, { volume, taken, errors }: Paths): void {
  if (taken.has(path)) errors.push(invalidValue(volume, shown, 'conflicting duplicate paths'));
  else taken.add(path);
}

const projectKeys: Projection = (source, path, all) => {
  const name = textAt(source, 'name');
  if (name === '') all.errors.push(requiredValue(`${path}.name`));
  for (const [index, item] of objectsAt(source, 'items').entries()) {
    checkKeyToPath(item, `${path}.items[${index}]`, all.errors);
    if (textAt(item, 'path') !== '') take(textAt(item, 'path'), name, all);
  }
};

const projectDownward: Projection = (source, path, all) => {
  for (const file of objectsAt(source, 'items')) {
    checkDownwardFile(file, path, all.errors);
    const target = textAt(file, 'path');
    if (target !== '') take(target, target, all);
  }
};

const projectToken: Projection = (source, path, { volume, errors }) => {
  const seconds = numberAt(source, 'expirationSeconds') ?? 0;
  const at = `${path}.expirationSeconds`;
  if (seconds < 600) errors.push(invalidValue(at, seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > 2 ** 32)
    errors.push(invalidValue(at, source.expirationSeconds, 'may not specify a duration larger than 2^32 seconds'));
  const target = textAt(source, 'path');
  if (target === '') errors.push(requiredValue(`${volume}.path`));
  else checkOwnPath(target, `${volume}.path`, errors);
};

const projectTrustBundle: Projection = (source, path, all) => {
  const { errors } = all;
  const [usesName, usesSigner] = [source.name !== undefined, source.signerName !== undefined];
  if (usesName && usesSigner) errors.push(invalidValue(path, source, 'only one of name and signerName may be used'));
  else if (usesName) {
    const name = textAt(source, 'name');
    if (name === '') errors.push(requiredValue(`${path}.name`, 'must be a valid object name'));
    for (const problem of checkDnsSubdomain(name))
      errors.push(invalidValue(`${path}.name`, name, `not a valid clustertrustbundlename: ${problem}`));
    if (source.labelSelector !== undefined) {
      const why = 'labelSelector must be unset if name is specified';
      errors.push(invalidValue(`${path}.labelSelector`, source.labelSelector, why));
    }
  } else if (usesSigner) {
    checkSignerName(textAt(source, 'signerName'), `${path}.signerName`, errors);
    appendAll(errors, labelSelector(source.labelSelector ?? undefined, `${path}.labelSelector`, source));
  } else errors.push(requiredValue(path, 'either name or signerName must be specified'));
  const target = textAt(source, 'path');
  if (target === '') errors.push(requiredValue(`${path}.path`));
  checkOwnPath(target, `${path}.path`, errors);
  take(target, target, all);
};

function checkSignerName(name: string, path: string, errors: FieldError[]): void {
  if (name === '') errors.push(requiredValue(path, 'must be a valid signer name'));
  const slashes = name.split('/').length - 1;
  if (name !== '' && slashes !== 1) {
    const why = 'must be a fully qualified domain and path of the form "example.com/signer-name"';
    errors.push(invalidValue(path, name, why));
  } else if (name !== '')
    for (const problem of checkQualifiedName(name)) errors.push(invalidValue(path, name, problem));
}

const keyTypes = ['ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519', 'RSA3072', 'RSA4096'];

const projectCertificate: Projection = (source, path, all) => {
  const { errors } = all;
  checkSignerName(textAt(source, 'signerName'), `${path}.signerName`, errors);
  const keyType = textAt(source, 'keyType');
  if (!keyTypes.includes(keyType)) errors.push(unsupportedValue(`${path}.keyType`, keyType, keyTypes));
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath']) {
    const target = textAt(source, field);
    if (target === '') continue;
    checkOwnPath(target, `${path}.${field}`, errors);
    take(target, target, all);
  }
};

const projections: readonly (readonly [string, Projection])[] = [
  ['secret', projectKeys],
  ['configMap', projectKeys],
  ['downwardAPI', projectDownward],
  ['serviceAccountToken', projectToken],
  ['clusterTrustBundle', projectTrustBundle],
  ['podCertificate', projectCertificate],
];

export const checkProjectedVolume: StructCheck = (volume, path, errors) => {
  checkDefaultMode(volume, path, errors);
  const all: Paths = { volume: path, taken: new Set(), errors };
  for (const [index, source] of objectsAt(volume, 'sources').entries()) {
    const at = `${path}.sources[${index}]`;
    let found = 0;
    for (const [name, check] of projections) {
      const one = objectAt(source, name);
      if (!one) continue;
      found++;
      check(one, `${at}.${name}`, all);
    }
    if (found > 1) errors.push(forbiddenValue(at, 'may not specify more than 1 volume type per source'));
  }
};
