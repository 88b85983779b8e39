/**
 * Admission policies as objects: what they say if their writer does not, and what is refused. Expressions are compiled
 * in the order in which they can build on each other: variables, then what uses them. Within an unchanged part of an
 * older policy nothing is compiled again.
 */
import {
  checkDns1035Label,
  checkDnsSubdomain,
  checkQualifiedName,
  duplicateValue,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import type { CelType } from '../../cel/values/types.ts';
import { bool, plainType, string } from '../../cel/values/types.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll, faultsOf } from '../../strategy/validation/append-all.ts';
import { oneOf, required } from '../../strategy/validation/checks.ts';
import { conditions } from '../../strategy/validation/conditions.ts';
import { type CheckRow, checksFrom, defaultsFrom } from '../../strategy/validation/field-table.ts';
import { isEmpty, objectAt, objectsAt, sameValue, textAt } from '../../strategy/validation/fields.ts';
import { checkExpression, type Surroundings, typeOfExpression, variableType } from './expressions.ts';
import { checkMatchConditions } from './match-conditions.ts';
import { checkMutation } from './mutations.ts';
import { checkParamKindRight } from './param-rights.ts';
import { checkMatchResources, checkMutatingOperations, matchDefaults } from './resource-rules.ts';
import { staticNameWarnings } from './static-names.ts';

const LIMIT_ANNOTATIONS = 20;
const LIMIT_VALUE_BYTES = 5 * 1024;

const rows: CheckRow[] = [
  ['spec.failurePolicy', oneOf('Fail', 'Ignore')],
  ['spec.matchConstraints.resourceRules', required],
];
const checkRows = checksFrom(rows);
const setDefaults = defaultsFrom([['spec.failurePolicy?', 'Fail'], ...matchDefaults('spec.matchConstraints')]);

export const validatingPolicyStrategy: Strategy = {
  setDefaults,
  validate: async (policy, old, context) => {
    const errors = await validateCommon(policy, old, checkValidations);
    appendAll(errors, checkStatus(objectAt(policy as JsonObject, 'status')));
    return errors.length > 0 ? errors : checkParamKindRight(policy, old, context);
  },
  warnings: staticNameWarnings,
};

export const mutatingPolicyStrategy: Strategy = {
  setDefaults,
  validate: async (policy, old, context) => {
    const errors = await validateCommon(policy, old, checkMutations);
    return errors.length > 0 ? errors : checkParamKindRight(policy, old, context);
  },
  warnings: staticNameWarnings,
};

type Rest = (policy: KubeObject, spec: JsonObject, inside: Inside) => Promise<FieldError[]>;

/** What expressions can see, and whose turn it is. */
type Inside = { readonly surroundings: Surroundings; readonly slices: WorkSlices };

async function validateCommon(policy: KubeObject, old: KubeObject | undefined, checkRest: Rest): Promise<FieldError[]> {
  const slices = new WorkSlices();
  const spec = objectAt(policy as JsonObject, 'spec') ?? {};
  const before = objectAt(old as JsonObject | undefined, 'spec');
  const errors = checkRows(policy);
  const kind = objectAt(spec, 'paramKind');
  if (kind) appendAll(errors, checkParamKind(kind, 'spec.paramKind'));
  const match = objectAt(spec, 'matchConstraints');
  if (match) appendAll(errors, checkMatchResources(match, 'spec.matchConstraints'));
  else errors.push(requiredValue('spec.matchConstraints'));
  const hasParams = kind !== undefined;
  const isSame = before && ['paramKind', 'matchConditions'].every((field) => sameValue(spec[field], before[field]));
  if (!isSame)
    appendAll(
      errors,
      await checkMatchConditions(objectsAt(spec, 'matchConditions'), 'spec.matchConditions', hasParams, slices),
    );
  const surroundings = await checkVariables(objectsAt(spec, 'variables'), hasParams, errors, slices);
  return [...errors, ...(await checkRest(policy, spec, { surroundings, slices }))];
}

/** Each sees those before it. */
async function checkVariables(
  variables: readonly JsonObject[],
  hasParams: boolean,
  errors: FieldError[],
  slices: WorkSlices,
): Promise<Surroundings> {
  if (variables.length === 0) return { hasParams };
  const types = new Map<string, CelType>();
  const surroundings: Surroundings = { hasParams, variables: types };
  for (const [index, variable] of variables.entries()) {
    const at = `spec.variables[${index}]`;
    const [name, expression] = [textAt(variable, 'name'), textAt(variable, 'expression')];
    if (name.trim() === '') errors.push(requiredValue(`${at}.name`, 'name is not specified'));
    else if (!isIdentifier(name)) errors.push(invalidValue(`${at}.name`, name, 'must be a valid CEL identifier'));
    if (expression.trim() === '') {
      errors.push(requiredValue(`${at}.expression`, 'expression is not specified'));
      continue;
    }
    const type = typeOfExpression(expression, surroundings);
    if (typeof type === 'string') errors.push(invalidValue(`${at}.expression`, expression, type));
    types.set(name, variableType(typeof type === 'string' ? undefined : type));
    if (slices.isOver) await slices.pause();
  }
  return surroundings;
}

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

function isIdentifier(name: string): boolean {
  return /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !RESERVED.has(name);
}

function checkParamKind(kind: JsonObject, path: string): FieldError[] {
  const [version, name] = [textAt(kind, 'apiVersion'), textAt(kind, 'kind')];
  const errors = checkVersion(version, `${path}.apiVersion`);
  if (name === '') return [...errors, requiredValue(`${path}.kind`)];
  const problems = checkDns1035Label(name.toLowerCase());
  if (problems.length === 0) return errors;
  const why = `may have mixed case, but should otherwise match: ${problems.join(',')}`;
  return [...errors, invalidValue(`${path}.kind`, name, why)];
}

function checkVersion(text: string, path: string): FieldError[] {
  if (text === '') return [requiredValue(path)];
  const parts = text === '/' ? ['', ''] : text.split('/');
  if (parts.length > 2) return [invalidValue(path, text, `unexpected GroupVersion string: ${text}`)];
  const [group, version] = parts.length === 2 ? [parts[0]!, parts[1]!] : ['', parts[0]!];
  const errors: FieldError[] = [];
  const groupProblems = group === '' ? [] : checkDnsSubdomain(group);
  if (groupProblems.length > 0) errors.push(invalidValue(path, group, groupProblems.join(',')));
  if (version === '') return [...errors, invalidValue(path, text, 'version must be specified')];
  const problems = checkDns1035Label(version);
  return problems.length === 0 ? errors : [...errors, invalidValue(path, version, problems.join(','))];
}

const validationReason = oneOf('Forbidden', 'Invalid', 'RequestEntityTooLarge');

async function checkValidations({ metadata }: KubeObject, spec: JsonObject, inside: Inside): Promise<FieldError[]> {
  const { surroundings, slices } = inside;
  const [validations, annotations] = [objectsAt(spec, 'validations'), objectsAt(spec, 'auditAnnotations')];
  if (validations.length === 0 && annotations.length === 0) {
    const why = 'validations or auditAnnotations must contain at least one item';
    return [requiredValue('spec.validations', why), requiredValue('spec.auditAnnotations', why)];
  }
  const errors: FieldError[] = [];
  for (const [index, one] of validations.entries()) {
    appendAll(errors, checkValidation(one ?? {}, `spec.validations[${index}]`, surroundings));
    if (slices.isOver) await slices.pause();
  }
  if (annotations.length > LIMIT_ANNOTATIONS) {
    const why = `must not have more than ${LIMIT_ANNOTATIONS} auditAnnotations`;
    errors.push(invalidValue('spec.auditAnnotations', annotations, why));
  }
  const seen = new Set<string>();
  for (const [index, annotation] of annotations.entries()) {
    const at = `spec.auditAnnotations[${index}]`;
    const key = textAt(annotation, 'key');
    appendAll(errors, checkAnnotation(metadata.name ?? '', annotation, at, surroundings));
    if (seen.has(key)) errors.push(duplicateValue(`${at}.key`, key));
    seen.add(key);
    if (slices.isOver) await slices.pause();
  }
  return errors;
}

function checkValidation(validation: JsonObject, path: string, surroundings: Surroundings): FieldError[] {
  const errors: FieldError[] = [];
  const [expression, message] = [textAt(validation, 'expression'), textAt(validation, 'message')];
  const messageExpression = textAt(validation, 'messageExpression');
  if (expression.trim() === '') errors.push(requiredValue(`${path}.expression`, 'expression is not specified'));
  else appendAll(errors, checkExpression(expression, `${path}.expression`, surroundings, [bool]));
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(invalidValue(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified'));
  else if (messageExpression !== '') {
    const without = { ...surroundings, hasNoAuthorizer: true };
    appendAll(errors, checkExpression(messageExpression, `${path}.messageExpression`, without, [string]));
  }
  if (message !== '' && message.trim() === '')
    errors.push(invalidValue(`${path}.message`, message, 'message must be non-empty if specified'));
  else if (/[\n\r]/.test(message.trim()))
    errors.push(invalidValue(`${path}.message`, message, 'message must not contain line breaks'));
  return [...errors, ...validationReason(validation.reason ?? undefined, `${path}.reason`, validation)];
}

function checkAnnotation(
  owner: string,
  annotation: JsonObject,
  path: string,
  surroundings: Surroundings,
): FieldError[] {
  const key = textAt(annotation, 'key');
  const full = `${owner}/${key}`;
  const errors =
    owner === ''
      ? [invalidValue(`${path}.key`, key, 'requires metadata.name be non-empty')]
      : checkQualifiedName(full).map((problem) => invalidValue(`${path}.key`, full, problem));
  const text = textAt(annotation, 'valueExpression');
  const [at, expression] = [`${path}.valueExpression`, text.trim()];
  if (expression === '') errors.push(requiredValue(at, 'valueExpression is not specified'));
  else if (Buffer.byteLength(expression) > LIMIT_VALUE_BYTES)
    errors.push(requiredValue(at, `must not exceed ${LIMIT_VALUE_BYTES} bytes in length`));
  else appendAll(errors, checkExpression(expression, at, surroundings, [string, plainType('null')]));
  return errors;
}

const reinvocation = oneOf('IfNeeded', 'Never');

async function checkMutations(_policy: KubeObject, spec: JsonObject, inside: Inside): Promise<FieldError[]> {
  const { surroundings, slices } = inside;
  const errors = checkMutatingOperations(objectAt(spec, 'matchConstraints'), 'spec.matchConstraints');
  const mutations = objectsAt(spec, 'mutations');
  if (mutations.length === 0) errors.push(requiredValue('spec.mutations', 'mutations must contain at least one item'));
  for (const [index, mutation] of mutations.entries()) {
    appendAll(errors, checkMutation(mutation ?? {}, `spec.mutations[${index}]`, surroundings));
    if (slices.isOver) await slices.pause();
  }
  if (isEmpty(spec.reinvocationPolicy)) errors.push(requiredValue('spec.reinvocationPolicy'));
  else appendAll(errors, reinvocation(spec.reinvocationPolicy!, 'spec.reinvocationPolicy', spec));
  return errors;
}

function checkStatus(status: JsonObject | undefined): FieldError[] {
  const warnings = objectsAt(objectAt(status, 'typeChecking'), 'expressionWarnings');
  const errors = faultsOf(warnings, (warning, index) => {
    const at = `status.typeChecking.expressionWarnings[${index}]`;
    const found = textAt(warning, 'warning') === '' ? [requiredValue(`${at}.warning`)] : [];
    return textAt(warning, 'fieldRef').trim() === '' ? [...found, requiredValue(`${at}.fieldRef`)] : found;
  });
  return [...errors, ...conditions(status?.conditions, 'status.conditions', status ?? {})];
}
