/**
 * What would go wrong with the expressions of a ValidatingAdmissionPolicy on objects of the kinds it names: each is
 * compiled once for every kind, with the types that its schema declares. Warnings only: the policy acts all the same.
 *
 * As in kube-controller-manager, rules with wildcards and subresources are left out, and a rule counts for ten kinds.
 */
import type { JsonObject, KubeObject } from '../../../../api/index.ts';
import type { CelType } from '../../../cel/values/types.ts';
import { WorkSlices } from '../../../event-loop/work-slices.ts';
import {
  compileAdmission,
  type Surroundings,
  typeOfExpression,
  variableType,
} from '../../../kinds/admissionregistration/expressions.ts';
import type { Registry } from '../../../registry/registry.ts';
import type { Resource } from '../../../registry/resource.ts';
import { objectAt, objectsAt, textAt, textsAt } from '../../../strategy/validation/fields.ts';
import { kindText } from '../policy-errors.ts';
import { typeOfSchema } from './schema-types.ts';

export type ExpressionWarning = { readonly fieldRef: string; readonly warning: string };

const MOST_KINDS = 10;
/** Of all warnings: they stand beside the policy, which must still fit into the store. */
const LIMIT_CHARACTERS = 256 * 1024;

export async function expressionWarnings(policy: KubeObject, registry: Registry): Promise<ExpressionWarning[]> {
  const slices = new WorkSlices();
  const spec = objectAt(policy as unknown as JsonObject, 'spec') ?? {};
  const warnings = new Map<string, string[]>();
  let characters = 0;
  for (const resource of kindsOf(spec, registry)) {
    const surroundings = await surroundingsFor(spec, resource, registry, slices);
    for (const [index, validation] of objectsAt(spec, 'validations').entries())
      for (const field of ['expression', 'messageExpression']) {
        const text = textAt(validation, field);
        const found = text === '' ? undefined : faultsOf(text, surroundings);
        if (slices.isOver) await slices.pause();
        if (found === undefined || characters > LIMIT_CHARACTERS) continue;
        const at = `spec.validations[${index}].${field}`;
        const told = `${kindText(resource.groupVersion, resource.kind)}: ${found}\n`;
        characters += told.length;
        warnings.set(at, [...(warnings.get(at) ?? []), told]);
      }
  }
  return [...warnings]
    .map(([fieldRef, texts]) => ({ fieldRef, warning: texts.join('\n') }))
    .sort((a, b) => placeOf(a.fieldRef) - placeOf(b.fieldRef));
}

/** By index, the message after what it is the message of. */
function placeOf(fieldRef: string): number {
  return 2 * Number(/\d+/.exec(fieldRef)![0]) + Number(fieldRef.endsWith('messageExpression'));
}

async function surroundingsFor(
  spec: JsonObject,
  { schema }: Resource,
  registry: Registry,
  slices: WorkSlices,
): Promise<Surroundings> {
  const params = paramType(spec, registry);
  const variables = new Map<string, CelType>();
  const surroundings = { hasParams: params !== undefined, object: typeOfSchema(schema), variables };
  const typed = params ? { ...surroundings, params } : surroundings;
  for (const variable of objectsAt(spec, 'variables')) {
    const type = typeOfExpression(textAt(variable, 'expression'), typed);
    variables.set(textAt(variable, 'name'), variableType(typeof type === 'string' ? undefined : type));
    if (slices.isOver) await slices.pause();
  }
  return typed;
}

function paramType(spec: JsonObject, registry: Registry): CelType | undefined {
  const kind = objectAt(spec, 'paramKind');
  if (!kind) return undefined;
  const [version = '', group = ''] = textAt(kind, 'apiVersion').split('/').reverse();
  const found = registry.findByKind(group, version, textAt(kind, 'kind'));
  return found && typeOfSchema(found.schema);
}

function faultsOf(text: string, surroundings: Surroundings): string | undefined {
  const found = compileAdmission(text, surroundings);
  return typeof found === 'string' ? found.replace(/^compilation failed: /, '') : undefined;
}

/** In order of group, version and kind. */
function kindsOf(spec: JsonObject, registry: Registry): Resource[] {
  const found = new Set<Resource>();
  for (const rule of objectsAt(objectAt(spec, 'matchConstraints'), 'resourceRules')) {
    const [groups, versions] = [textsAt(rule, 'apiGroups'), textsAt(rule, 'apiVersions')];
    if ([...groups, ...versions].some((one) => one.includes('*'))) continue;
    const plurals = textsAt(rule, 'resources').filter((one) => !/[*/]/.test(one));
    let count = 0;
    for (const group of [...groups].sort())
      for (const version of [...versions].sort())
        for (const plural of [...plurals].sort()) {
          const resource = count < MOST_KINDS ? registry.find(group, version, plural) : undefined;
          if (!resource) continue;
          count++;
          found.add(resource);
        }
    if (count === MOST_KINDS) break;
  }
  const key = ({ group, version, kind }: Resource) => `${group}\0${version}\0${kind}`;
  return [...found].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
