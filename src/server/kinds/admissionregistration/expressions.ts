/**
 * Expressions of webhooks and policies, and what they can see. They are compiled when they are written, so that what
 * cannot be read, names what there is not, or gives a value of the wrong type is refused in kube-apiserver's words; and
 * again, in the same way, by whoever runs them.
 */
import { type FieldError, invalidValue } from '../../../api/index.ts';
import { patchEnvironment } from '../../cel/patch-types.ts';
import { compileExpression, type Program, type Variable } from '../../cel/program.ts';
import { ExpressionError } from '../../cel/syntax/syntax.ts';
import {
  bool,
  type CelType,
  dyn,
  int,
  isExactly,
  listOf,
  mapOf,
  plainType,
  readType,
  string,
  typeName,
} from '../../cel/values/types.ts';

export type Surroundings = {
  readonly hasParams: boolean;
  /** Where nobody may be asked what they may do. */
  readonly hasNoAuthorizer?: boolean;
  /** The variables of a policy that have been compiled so far. */
  readonly variables?: ReadonlyMap<string, CelType>;
  /** Whether it can make objects and patches. */
  readonly hasPatchTypes?: boolean;
  /** Of the object and of the params; anything if not given. */
  readonly object?: CelType;
  readonly params?: CelType;
};

/** In the order in which a program takes their values. */
export const expressionVariables = [
  'object',
  'oldObject',
  'request',
  'namespaceObject',
  'params',
  'authorizer',
  'authorizer.requestResource',
  'variables',
] as const;
export type ExpressionVariable = (typeof expressionVariables)[number];

const texts = listOf(string);
const textMap = mapOf(string, string);
const timestamp = plainType('timestamp');

const kindOfRequest = typed('kubernetes.GroupVersionKind', { group: string, version: string, kind: string });
const resourceOfRequest = typed('kubernetes.GroupVersionResource', {
  group: string,
  version: string,
  resource: string,
});
const request = typed('kubernetes.AdmissionRequest', {
  kind: kindOfRequest,
  resource: resourceOfRequest,
  subResource: string,
  requestKind: kindOfRequest,
  requestResource: resourceOfRequest,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: typed('kubernetes.UserInfo', {
    username: string,
    uid: string,
    groups: texts,
    extra: mapOf(string, texts),
  }),
  dryRun: bool,
  options: dyn,
});
const namespaceObject = typed('kubernetes.Namespace', {
  metadata: typed('kubernetes.NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels: textMap,
    annotations: textMap,
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: texts,
  }),
  spec: typed('kubernetes.NamespaceSpec', { finalizers: texts }),
  status: typed('kubernetes.NamespaceStatus', {
    phase: string,
    conditions: listOf(
      typed('kubernetes.NamespaceCondition', {
        status: string,
        type: string,
        lastTransitionTime: timestamp,
        message: string,
        reason: string,
      }),
    ),
  }),
});
const authorizer = readType('Authorizer');
const resourceCheck = readType('ResourceCheck');

function typed(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return { kind: 'object', name, fields: new Map(Object.entries(fields)) };
}

/** `wanted`: the types it may have; nothing if it may have any. */
export function checkExpression(
  text: string,
  path: string,
  surroundings: Surroundings,
  wanted: readonly CelType[] = [],
): FieldError[] {
  const found = typeOfExpression(text, surroundings);
  if (typeof found === 'string') return [invalidValue(path, text, found)];
  const why = wrongType(found, wanted);
  return why === undefined ? [] : [invalidValue(path, text, why)];
}

/** Why it is of none of the types that it may have. */
function wrongType(type: CelType, wanted: readonly CelType[]): string | undefined {
  if (wanted.length === 0 || wanted.some((one) => isExactly(type, one))) return undefined;
  const names = wanted.map(typeName);
  return `must evaluate to ${names.length === 1 ? names[0] : `one of [${names.join(' ')}]`} but got ${typeName(type)}`;
}

/** A text is why it does not compile. */
export function typeOfExpression(text: string, surroundings: Surroundings): CelType | string {
  const found = compileAdmission(text, surroundings);
  return typeof found === 'string' ? found : found.type;
}

/** A text is why it does not compile. Values are given in the order of `expressionVariables`. */
export function compileAdmission(
  text: string,
  surroundings: Surroundings,
  wanted: readonly CelType[] = [],
): Program | string {
  try {
    const environment = surroundings.hasPatchTypes ? patchEnvironment() : undefined;
    const program = compileExpression(text, variablesOf(surroundings), environment);
    return wrongType(program.type, wanted) ?? program;
  } catch (err) {
    if (!(err instanceof ExpressionError)) throw err;
    return `compilation failed: ${err.message}`;
  }
}

/** The type that a variable has for whoever names it: of values that only functions know, kube-apiserver forgets it. */
export function variableType(type: CelType | undefined): CelType {
  if (!type) return dyn;
  switch (type.kind) {
    case 'optional':
    case 'object':
    case 'opaque':
    case 'param':
    case 'type':
      return dyn;
    case 'list':
      return listOf(variableType(type.of));
    case 'map':
      return mapOf(variableType(type.key), variableType(type.of));
    default:
      return type;
  }
}

/** What is not to be seen has a place and no name. */
function variablesOf({ hasParams, hasNoAuthorizer, variables, object = dyn, params = dyn }: Surroundings): Variable[] {
  const types: Readonly<Record<ExpressionVariable, CelType | undefined>> = {
    object,
    oldObject: object,
    request,
    namespaceObject,
    params: hasParams ? params : undefined,
    authorizer: hasNoAuthorizer ? undefined : authorizer,
    'authorizer.requestResource': hasNoAuthorizer ? undefined : resourceCheck,
    variables: variables && { kind: 'object', name: 'kubernetes.variables', fields: variables },
  };
  return expressionVariables.map((name) => {
    const type = types[name];
    return type ? { name, type } : { name: '', type: dyn };
  });
}
