/**
 * What a definition may say: every fault in one answer, in the order and the words of kube-apiserver, as far as
 * they fit into one. A large definition is judged in slices, with turns for others in between.
 *
 * What all versions have alike is told of under the place where older definitions had it: `spec.validation` stands for
 * a schema that all share, `spec.subresources` for subresources.
 */

import { givenEmptyIn } from '../../api/given-empty.ts';
import {
  checkDns1035Label,
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type JsonValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from '../../api/index.ts';
import {
  columnFaults,
  givenNameFaults,
  groupFaults,
  labelFaults,
  nameFaults,
  scaleFaults,
} from '../../schemas/definition-rules.ts';
import { isNothing } from '../../schemas/structural/schema-form.ts';
import { schemaAt } from '../../schemas/structural/schema-path.ts';
import { asObject } from '../../schemas/structural/structural.ts';
import { checkStructural } from '../../schemas/structural/structural-schema.ts';
import { Validation, ValidationEnd } from '../../schemas/structural/validation.ts';
import { jsonEqual } from '../codec/json/json-objects.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { appendAll } from '../strategy/validation/append-all.ts';
import { checkWebhookClient } from '../strategy/webhook-client.ts';
import { checkRules } from '../structural-schema/cel/check-rules.ts';
import { compileJsonPath, JsonPathError } from '../tables/json-path.ts';
import { approvalFaults } from './api-approval.ts';
import type { Definition, DefinitionSpec, DefinitionVersion } from './definition.ts';

/** What the root may say where the status is taken out of it: nothing that would be lost on the way. */
const ROOT_FIELDS =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';
const ROOT_WORDS: ReadonlySet<string> = new Set([
  ...ROOT_FIELDS.split(' ').map((name) => name[0]!.toLowerCase() + name.slice(1)),
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
]);
const ROOT_TEXT = `only [${ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled`;
const ROOT_TYPE_TEXT =
  'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
const LIMIT_SELECTABLE = 8;
const LIMIT_WARNING_BYTES = 256;
/** What is no letter, mark, number, sign or plain blank. */
const UNPRINTABLE = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

/** `old` is what it takes the place of, absent on create. */
export async function validateDefinition(definition: Definition, old?: Definition): Promise<FieldError[]> {
  const validation = new Validation();
  try {
    await checkDefinition(definition, old, validation);
  } catch (err) {
    if (!(err instanceof ValidationEnd)) throw err;
  }
  return validation.faults;
}

async function checkDefinition(
  definition: Definition,
  old: Definition | undefined,
  validation: Validation,
): Promise<void> {
  const { metadata, spec, status } = definition;
  const versions = spec.versions ?? [];
  const { plural = '' } = spec.names ?? {};
  // Afterwards neither of them changes, which is told for each.
  if (!old && metadata.name && metadata.name !== `${plural}.${spec.group}`)
    validation.push(invalidValue('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group'));
  validation.pushAll(groupFaults(spec.group ?? ''));
  validation.pushAll(scopeFaults(spec.scope ?? ''));
  validation.pushAll(versionFaults(spec.versions));
  validation.pushAll(nameFaults(spec.names ?? {}));
  const slices = new WorkSlices();
  const places = placesOf(versions);
  for (const [index, version] of versions.entries()) {
    const [subresources, columns, selectable] = PLACED.slice(1).map((field) => places(field, index));
    const before = old?.spec.versions?.find(({ name }) => name === version.name);
    const isKnown = before !== undefined && jsonEqual(before.schema as JsonValue, version.schema as JsonValue);
    await checkSchema(version, { index, place: places('schema', index), isKnown }, validation, slices);
    const scale = version.subresources?.scale;
    if (subresources !== undefined && scale) validation.pushAll(scaleFaults(scale, `${subresources}.scale`));
    if (columns !== undefined) await checkColumns(version, columns, validation, slices);
    if (selectable !== undefined) validation.pushAll(selectableFaults(version, selectable));
  }
  validation.pushAll(conversionFaults(spec));
  validation.pushAll(approvalFaults(definition));
  if (spec.preserveUnknownFields === true) {
    const why =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    validation.push(invalidValue('spec.preserveUnknownFields', true, why));
  }
  // Who writes the status may say what they like of stored versions, but not of names.
  if (!old || !jsonEqual(spec as unknown as JsonObject, old.spec as unknown as JsonObject))
    validation.pushAll(storedFaults(versions, status?.storedVersions ?? []));
  validation.pushAll(givenNameFaults(status?.acceptedNames ?? {}, 'status.acceptedNames'));
}

const PLACED = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const;
type Placed = (typeof PLACED)[number];

/** The place a field of a version is told of; undefined: it was told of with the first version already. */
function placesOf(versions: readonly DefinitionVersion[]): (field: Placed, index: number) => string | undefined {
  const shared = new Set<Placed>(
    PLACED.filter((field) =>
      versions.every((version) => jsonEqual(version[field] as JsonValue, versions[0]![field] as JsonValue)),
    ),
  );
  return (field, index) => {
    if (!shared.has(field)) return `spec.versions[${index}].${field}`;
    if (index > 0) return undefined;
    return field === 'schema' ? 'spec.validation' : `spec.${field}`;
  };
}

function scopeFaults(scope: string): FieldError[] {
  if (scope === '') return [requiredValue('spec.scope')];
  const known = ['Cluster', 'Namespaced'];
  return known.includes(scope) ? [] : [unsupportedValue('spec.scope', scope, known)];
}

function versionFaults(given: readonly DefinitionVersion[] | undefined): FieldError[] {
  const versions = given ?? [];
  const faults: FieldError[] = [];
  for (const [index, { name, deprecated, deprecationWarning }] of versions.entries()) {
    const at = `spec.versions[${index}]`;
    faults.push(...labelFaults(`${at}.name`, name ?? '', false));
    if (typeof deprecationWarning !== 'string') continue;
    for (const why of warningProblems(deprecated === true, deprecationWarning))
      faults.push(invalidValue(`${at}.deprecationWarning`, deprecationWarning, why));
  }
  const shown = given ? versions.map(shownVersion) : null;
  if (new Set(versions.map(({ name }) => name)).size < versions.length)
    faults.push(invalidValue('spec.versions', shown, 'must contain unique version names'));
  if (versions.filter(({ storage }) => storage).length !== 1)
    faults.push(invalidValue('spec.versions', shown, 'must have exactly one version marked as storage version'));
  return faults;
}

function warningProblems(isDeprecated: boolean, warning: string): string[] {
  if (!isDeprecated) return ['can only be set for deprecated versions'];
  const problems: string[] = [];
  if (Buffer.byteLength(warning) > LIMIT_WARNING_BYTES)
    problems.push(`must be <= ${LIMIT_WARNING_BYTES} characters long`);
  if (warning === '') problems.push('must not be an empty string');
  const at = warning.search(UNPRINTABLE);
  if (at >= 0) {
    const index = Buffer.byteLength(warning.slice(0, at));
    problems.push(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`);
  }
  return problems;
}

/** A version as kube-apiserver shows it inside a message. */
function shownVersion({ name, served, storage, deprecated, deprecationWarning }: DefinitionVersion): JsonObject {
  return {
    Name: name,
    Served: served,
    Storage: storage,
    Deprecated: deprecated ?? false,
    DeprecationWarning: deprecationWarning ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  };
}

/** `place`: where it is told of, if it is; `isKnown`: the version had it before. */
type SchemaPlace = { readonly index: number; readonly place: string | undefined; readonly isKnown: boolean };

async function checkSchema(
  { schema, subresources }: DefinitionVersion,
  { index, place, isKnown }: SchemaPlace,
  validation: Validation,
  slices: WorkSlices,
): Promise<void> {
  const openApi = schema?.openAPIV3Schema;
  if (!openApi) {
    validation.push(requiredValue(`spec.versions[${index}].schema.openAPIV3Schema`));
    return;
  }
  if (place === undefined) return;
  const path = `${place}.openAPIV3Schema`;
  const before = validation.length;
  const isSaid = (word: string) => !isNothing(openApi[word]) || (word === 'not' && asObject(openApi.not) !== undefined);
  const said = [...Object.keys(openApi).filter(isSaid), ...givenEmptyIn(openApi)];
  const refused = said.filter((word) => !ROOT_WORDS.has(word));
  if (subresources?.status) {
    // One reason is enough, and these are looked at before the type is.
    const isFirst = ['id', '$schema', '$ref'].some((word) => refused.includes(word));
    if (!isFirst && !isNothing(openApi.type) && openApi.type !== 'object')
      validation.push(invalidValue(`${path}.type`, openApi.type, ROOT_TYPE_TEXT));
    else if (refused.length > 0) validation.push(invalidValue(path, openApi, ROOT_TEXT));
  }
  const root = await slices.run(checkStructural(openApi, path, validation, before));
  if (root && validation.length === before) await checkRules(root, path, validation, slices, isKnown);
}

async function checkColumns(
  { additionalPrinterColumns = [] }: DefinitionVersion,
  path: string,
  validation: Validation,
  slices: WorkSlices,
): Promise<void> {
  for (const [index, column] of additionalPrinterColumns.entries()) {
    const at = `${path}[${index}]`;
    const faults = columnFaults(column, at, 'JSONPath');
    validation.pushAll(faults);
    const { jsonPath } = column;
    if (jsonPath && !faults.some(({ field }) => field === `${at}.JSONPath`))
      validation.pushAll(jsonPathFaults(jsonPath, `${at}.JSONPath`));
    if (slices.isOver) await slices.pause();
  }
}

function jsonPathFaults(text: string, path: string): FieldError[] {
  try {
    compileJsonPath(text);
    return [];
  } catch (err) {
    if (err instanceof JsonPathError) return [invalidValue(path, text, err.message)];
    throw err;
  }
}

function selectableFaults({ selectableFields = [], schema }: DefinitionVersion, path: string): FieldError[] {
  const faults: FieldError[] = [];
  if (selectableFields.length > 0 && !schema?.openAPIV3Schema) {
    const why = 'may only be set when `version.schema.openAPIV3Schema` is not included';
    return [invalidValue(path, '', why)];
  }
  const seen = new Set<string>();
  for (const [index, { jsonPath = '' }] of selectableFields.entries()) {
    const at = `${path}[${index}].jsonPath`;
    const found = jsonPath === '' ? undefined : schemaAt(schema?.openAPIV3Schema ?? {}, jsonPath, false);
    if (jsonPath === '') faults.push(requiredValue(at));
    else if (typeof found !== 'object') faults.push(invalidValue(at, jsonPath, `is an invalid path: ${found}`));
    else {
      if (jsonPath.split('.')[1] === 'metadata')
        faults.push(invalidValue(at, jsonPath, 'must not point to fields in metadata'));
      if (!['string', 'integer', 'boolean'].includes(found.type as string))
        faults.push(invalidValue(at, jsonPath, WHICH));
      if (seen.has(jsonPath)) faults.push(duplicateValue(at, jsonPath));
      seen.add(jsonPath);
    }
  }
  if (seen.size > LIMIT_SELECTABLE) faults.push(tooMany(path, seen.size, LIMIT_SELECTABLE));
  return faults;
}

const WHICH =
  'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';

function conversionFaults({ conversion }: DefinitionSpec): FieldError[] {
  const path = 'spec.conversion';
  const strategy = conversion?.strategy ?? 'None';
  const known = ['None', 'Webhook'];
  if (strategy === '') return [requiredValue(`${path}.strategy`)];
  const { clientConfig, conversionReviewVersions } = asObject(conversion?.webhook) ?? {};
  const client = asObject(clientConfig);
  const reviews = Array.isArray(conversionReviewVersions) ? (conversionReviewVersions as string[]) : [];
  if (strategy !== 'Webhook') {
    const why = 'should not be set when strategy is not set to Webhook';
    const faults = known.includes(strategy) ? [] : [unsupportedValue(`${path}.strategy`, strategy, known)];
    if (client) faults.push(forbiddenValue(`${path}.webhookClientConfig`, why));
    return reviews.length === 0 ? faults : [...faults, forbiddenValue(`${path}.conversionReviewVersions`, why)];
  }
  const faults = client
    ? checkWebhookClient(client, `${path}.webhookClientConfig`)
    : [requiredValue(`${path}.webhookClientConfig`, 'required when strategy is set to Webhook')];
  appendAll(faults, reviewFaults(reviews, `${path}.conversionReviewVersions`));
  return faults;
}

const REVIEWS = ['v1', 'v1beta1'];

function reviewFaults(reviews: readonly string[], path: string): FieldError[] {
  if (reviews.length === 0) return [requiredValue(path)];
  const seen = new Set<string>();
  const faults = reviews.flatMap((version, index) => {
    if (seen.has(version)) return [invalidValue(`${path}[${index}]`, version, 'duplicate version')];
    seen.add(version);
    return checkDns1035Label(version ?? '').map((problem) => invalidValue(`${path}[${index}]`, version, problem));
  });
  if (!reviews.some((version) => REVIEWS.includes(version)))
    faults.push(invalidValue(path, [...reviews], `must include at least one of ${REVIEWS.join(', ')}`));
  return faults;
}

/** Groups of the Kubernetes project itself are not for everybody. */
function stillStored(name: string): string {
  return (
    `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a ` +
    `storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
  );
}

function storedFaults(versions: readonly DefinitionVersion[], stored: readonly string[]): FieldError[] {
  const path = 'status.storedVersions';
  if (stored.length === 0) return [invalidValue(path, null, 'must have at least one stored version')];
  const names = new Set(versions.map(({ name }) => name));
  const faults = stored.flatMap((name, index) =>
    names.has(name) ? [] : [invalidValue(`${path}[${index}]`, name, stillStored(name))],
  );
  for (const { name } of versions.filter(({ storage }) => storage).slice(-1))
    if (!stored.includes(name)) faults.push(invalidValue(path, stored, `must have the storage version ${name}`));
  return faults;
}
