/**
 * The rules of custom kinds, made from what their definitions say: defaults, the schema, list types, embedded objects,
 * the scale, rules written in CEL.
 */
import { type FieldError, forbidden, invalidValue, type JsonObject, type KubeObject } from '../../api/index.ts';
import type { KindRules } from '../kinds/kind-rules.ts';
import type { Resource } from '../registry/resource.ts';
import { type CustomKind, kindOf } from './custom-kind.ts';
import { readNumber } from './custom-scale.ts';
import { setDefaults } from './set-defaults.ts';
import { checkEmbedded, checkListTypes } from './value-rules.ts';

const known = new WeakMap<Resource, KindRules>();

export function customRulesOf(resource: Resource): KindRules {
  let rules = known.get(resource);
  if (!rules) {
    rules = makeRules(resource, kindOf(resource));
    known.set(resource, rules);
  }
  return rules;
}

function makeRules(resource: Resource, kind: CustomKind): KindRules {
  const hasStatus = resource.subresources.some(({ name }) => name === 'status');
  return {
    setDefaults: (object) => setDefaults(object as unknown as JsonObject, kind.structural),
    prepareCreate: (object) => {
      if (kind.life.isTerminating) {
        const why = 'create not allowed while custom resource definition is terminating';
        throw forbidden(resource, object.metadata.name ?? '', why);
      }
      if (hasStatus) delete object.status;
    },
    validate: (object, old) => validateCustom(object, old, kind),
  };
}

/** All faults; rules in CEL are only asked about an object that is otherwise good. */
function validateCustom(object: KubeObject, old: KubeObject | undefined, kind: CustomKind): FieldError[] {
  const { structural, check, scale, rules } = kind;
  const value = object as unknown as JsonObject;
  const before = old as unknown as JsonObject | undefined;
  const faults: FieldError[] = [];
  check(value, before, '', faults);
  if (scale) {
    faults.push(...countFaults(value, scale.specReplicasPath), ...countFaults(value, scale.statusReplicasPath));
  }
  faults.push(...checkEmbedded(value, structural), ...checkListTypes(value, structural));
  if (!rules) return faults;
  if (faults.length === 0) return rules.check(value, before);
  const why =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return [...faults, invalidValue('<nil>', null, why)];
}

function countFaults(object: JsonObject, path: string): FieldError[] {
  const count = readNumber(object, path);
  return count !== undefined && count < 0 ? [invalidValue(path, count, 'should be a non-negative integer')] : [];
}
