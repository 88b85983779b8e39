/**
 * Expressions of webhooks and policies, compiled when they are written: what names and functions there are not, what
 * cannot be read, or gives a value of the wrong type, is refused in the words of the reference server.
 *
 * `authorizer` and objects made by an expression (`Object{...}`) are beyond the compiler: of an expression that has them
 * only what cannot be read is refused.
 */
import { type FieldError, invalidValue } from '../../../api/index.ts';
import { compileExpression, type Variable } from '../../cel/program.ts';
import { ExpressionError } from '../../cel/syntax/syntax.ts';
import { bool, type CelType, dyn, int, listOf, mapOf, plainType, string, typeName } from '../../cel/values/types.ts';

export type Surroundings = {
  readonly hasParams: boolean;
  /** Where nobody may be asked what they may do. */
  readonly hasNoAuthorizer?: boolean;
  /** The variables of a policy that have been compiled so far. */
  readonly variables?: ReadonlyMap<string, CelType>;
};

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
  status: typed('kubernetes.NamespaceStatus', { phase: string }),
});

function typed(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return { kind: 'object', name, fields: new Map(Object.entries(fields)) };
}

/** `wanted`: the types it may have; nothing if it may have any. */
export function checkExpression(
  text: string,
  path: string,
  surroundings: Surroundings,
  wanted: readonly string[] = [],
): FieldError[] {
  const found = typeOfExpression(text, surroundings);
  if (typeof found === 'string') return [invalidValue(path, text, found)];
  if (wanted.length === 0 || found.kind === 'dyn' || wanted.includes(found.kind)) return [];
  const names = wanted.map((one) => (one === 'null' ? 'null_type' : one));
  const what = names.length === 1 ? `${names[0]} but got ${typeName(found)}` : `one of [${names.join(' ')}]`;
  return [invalidValue(path, text, `must evaluate to ${what}`)];
}

/** A text is why it does not compile. */
export function typeOfExpression(text: string, surroundings: Surroundings): CelType | string {
  try {
    return compileExpression(text, variablesOf(surroundings)).type;
  } catch (err) {
    if (!(err instanceof ExpressionError)) throw err;
    return isBeyondUs(text, err) ? dyn : `compilation failed: ${err.message}`;
  }
}

function variablesOf({ hasParams, hasNoAuthorizer, variables }: Surroundings): Variable[] {
  const declared: Variable[] = [
    { name: 'object', type: dyn },
    { name: 'oldObject', type: dyn },
    { name: 'request', type: request },
    { name: 'namespaceObject', type: namespaceObject },
  ];
  if (hasParams) declared.push({ name: 'params', type: dyn });
  if (!hasNoAuthorizer) declared.push({ name: 'authorizer', type: dyn });
  if (variables)
    declared.push({ name: 'variables', type: { kind: 'object', name: 'kubernetes.variables', fields: variables } });
  return declared;
}

function isBeyondUs(text: string, { message }: ExpressionError): boolean {
  if (/[\w.]\s*\{/.test(text)) return true;
  return /\bauthorizer\b/.test(text) && !message.includes('Syntax error');
}
