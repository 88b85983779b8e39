/**
 * The body of an apply request: YAML or JSON, as it was sent, with the type the URL wants. It is not brought into any
 * other form, because what it leaves out matters. Faults are 400s in the words of kube-apiserver.
 */
import { badRequest } from '../../api/errors/status-error.ts';
import type { JsonObject } from '../../api/json.ts';
import {
  applyFieldValidation,
  type BodyType,
  type FieldValidation,
  jsonWord,
  readYamlBytes,
  YamlSyntaxError,
} from '../codec/index.ts';
import { isObject } from '../codec/json/json-objects.ts';

export function readApplyBody(bytes: Uint8Array, resource: BodyType, fieldValidation: FieldValidation): JsonObject {
  const { value: read, duplicates } = readBody(bytes);
  const value = read ?? {}; // nothing is an object that says nothing
  if (!isObject(value)) {
    const why = `json: cannot unmarshal ${jsonWord(value)} into Go value of type map[string]interface {}`;
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
  }
  const { strictError } = applyFieldValidation(fieldValidation, {
    unknownFields: [],
    duplicateFields: [],
    otherFaults: duplicates.map((text) => `yaml: unmarshal errors:\n  ${text}`),
  });
  if (strictError !== undefined && fieldValidation === 'Strict')
    throw badRequest(`error strict decoding YAML: ${strictError}`);
  checkType(value, resource);
  const metadata = isObject(value.metadata) ? value.metadata : {};
  if (metadata.managedFields !== undefined && metadata.managedFields !== null)
    throw badRequest('metadata.managedFields must be nil');
  return value;
}

function readBody(bytes: Uint8Array): ReturnType<typeof readYamlBytes> {
  try {
    return readYamlBytes(bytes);
  } catch (err) {
    if (!(err instanceof YamlSyntaxError)) throw err;
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${err.message}`);
  }
}

function checkType(value: JsonObject, { groupVersion, kind }: BodyType): void {
  const found = typeof value.apiVersion === 'string' ? value.apiVersion : '';
  if (found === groupVersion && value.kind === kind) return;
  const group = (apiVersion: string) => (apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '');
  if (value.kind === kind && found !== '' && group(found) === group(groupVersion))
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${found}, expected: ${groupVersion}`,
    );
  const shown = found.includes('/') ? found : `/${found}`;
  throw badRequest(`invalid object type: ${shown}, Kind=${typeof value.kind === 'string' ? value.kind : ''}`);
}
