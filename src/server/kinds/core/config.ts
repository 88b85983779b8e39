/**
 * Config maps and secrets: maps of keys to texts or bytes, of 1 MiB at most, which may be sealed once and for all.
 */
import {
  checkConfigKey,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
  tooLong,
} from '../../../api/index.ts';
import { jsonEqual } from '../../codec/json/json-objects.ts';
import { JsonSyntaxError, readJson } from '../../codec/json/json-reader.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { immutable } from '../../strategy/validation/field-table.ts';
import { isEmpty, mapAt, sameValue, sortedEntries, textAt } from '../../strategy/validation/fields.ts';
import { keyPairProblem } from './key-pair.ts';

const limitBytes = 1024 * 1024;

export const configMapStrategy: Strategy = {
  validate: (object) => {
    const [data, binaryData] = [mapAt(object as JsonObject, 'data'), mapAt(object as JsonObject, 'binaryData')];
    const errors: FieldError[] = [];
    let bytes = 0;
    for (const [key, value] of sortedEntries(data)) {
      checkKey(errors, `data[${key}]`, key);
      if (binaryData && Object.hasOwn(binaryData, key))
        errors.push(invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
      bytes += Buffer.byteLength(value);
    }
    for (const [key, value] of sortedEntries(binaryData)) {
      checkKey(errors, `binaryData[${key}]`, key);
      bytes += decodedBytes(value);
    }
    if (bytes > limitBytes) errors.push(tooLong('', limitBytes));
    return errors;
  },
  validateUpdate: (object, old) => sealed(object, old, ['data', 'binaryData']),
};

/** What each type of secret must hold; kube-apiserver names all that is missing. */
const neededKeys: Readonly<Record<string, readonly string[]>> = {
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
};
const dockerTypes: ReadonlySet<string> = new Set(['kubernetes.io/dockercfg', 'kubernetes.io/dockerconfigjson']);
const basicAuthKeys = ['username', 'password'];
const serviceAccountName = 'kubernetes.io/service-account.name';

export const secretStrategy: Strategy = {
  setDefaults: (secret) => {
    if (isEmpty(secret.type)) secret.type = 'Opaque';
    const texts = mapAt(secret as JsonObject, 'stringData');
    delete secret.stringData;
    if (!texts || isEmpty(Object.keys(texts))) return;
    const encoded = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    const all: [string, string][] = Object.entries({
      ...mapAt(secret as JsonObject, 'data'),
      ...(Object.fromEntries(encoded) as Record<string, string>),
    });
    secret.data = Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)));
  },
  validate: (secret) => {
    const data = mapAt(secret as JsonObject, 'data') ?? {};
    const errors: FieldError[] = [];
    let bytes = 0;
    for (const [key, value] of sortedEntries(data)) {
      checkKey(errors, `data[${key}]`, key);
      bytes += decodedBytes(value);
    }
    if (bytes > limitBytes) errors.push(tooLong('data', limitBytes));
    return [...errors, ...validateSecretType(secret, data)];
  },
  validateUpdate: (secret, old) => {
    const errors = sameValue(secret.type, old.type) ? [] : [immutable('type', secret.type)];
    return [...errors, ...sealed(secret, old, ['data'])];
  },
  warnings: (secret) => {
    if (secret.type !== 'kubernetes.io/tls') return [];
    const data = mapAt(secret as JsonObject, 'data') ?? {};
    const problem = keyPairProblem(bytesOf(data['tls.crt']), bytesOf(data['tls.key']));
    return problem ? [problem] : [];
  },
};

function bytesOf(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString('latin1');
}

function validateSecretType(secret: KubeObject, data: Readonly<Record<string, string>>): FieldError[] {
  const type = textAt(secret as JsonObject, 'type');
  const has = (key: string) => Object.hasOwn(data, key);
  const missing = (keys: readonly string[]) =>
    keys.filter((key) => !has(key)).map((key) => requiredValue(`data[${key}]`));
  if (type === 'kubernetes.io/service-account-token') {
    const path = `metadata.annotations[${serviceAccountName}]`;
    return secret.metadata.annotations?.[serviceAccountName] ? [] : [requiredValue(path)];
  }
  if (type === 'kubernetes.io/basic-auth') return basicAuthKeys.some(has) ? [] : missing(basicAuthKeys);
  const keys = Object.hasOwn(neededKeys, type) ? neededKeys[type]! : [];
  const errors = missing(keys);
  if (errors.length === 0 && type === 'kubernetes.io/ssh-auth' && data[keys[0]!] === '')
    return [requiredValue(`data[${keys[0]}]`)];
  const [key = ''] = dockerTypes.has(type) ? keys : [];
  if (errors.length > 0 || key === '') return errors;
  const problem = jsonProblem(data[key]!);
  return problem ? [invalidValue(`data[${key}]`, '<secret contents redacted>', problem)] : [];
}

/** Once `immutable` is true neither it nor the content changes. */
function sealed(object: KubeObject, old: KubeObject, fields: readonly string[]): FieldError[] {
  if (old.immutable !== true) return [];
  const why = 'field is immutable when `immutable` is set';
  const errors = object.immutable === true ? [] : [forbiddenValue('immutable', why)];
  for (const field of fields)
    if (!jsonEqual(object[field] ?? {}, old[field] ?? {})) errors.push(forbiddenValue(field, why));
  return errors;
}

function checkKey(errors: FieldError[], path: string, key: string): void {
  for (const problem of checkConfigKey(key)) errors.push(invalidValue(path, key, problem));
}

function decodedBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return (base64.length / 4) * 3 - padding;
}

/** Why these bytes are no JSON object. */
function jsonProblem(base64: string): string | undefined {
  try {
    const { value } = readJson(Buffer.from(base64, 'base64').toString());
    if (value === null || (typeof value === 'object' && !Array.isArray(value))) return undefined;
    const found = Array.isArray(value)
      ? 'array'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value === 'string'
          ? 'string'
          : 'number';
    return `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`;
  } catch (err) {
    if (err instanceof JsonSyntaxError) return err.message;
    throw err;
  }
}
