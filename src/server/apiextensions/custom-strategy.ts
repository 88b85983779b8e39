/**
 * The strategy of custom kinds, made from what their definitions say: defaults, the schema, list types, embedded objects,
 * the scale, rules written in CEL.
 */
import {
  bodyTooLarge,
  type FieldError,
  forbidden,
  invalidValue,
  type JsonObject,
  type KubeObject,
} from '../../api/index.ts';
import { LIMIT_DEFAULT_BYTES, NoRoomError, setDefaults } from '../../schemas/structural/set-defaults.ts';
import { Validation, ValidationEnd } from '../../schemas/structural/validation.ts';
import { WorkSlices } from '../event-loop/work-slices.ts';
import { type CustomKind, kindOf } from '../registry/custom-kind.ts';
import type { Resource } from '../registry/resource.ts';
import type { Strategy } from '../strategy/strategy.ts';
import { checkScale } from './custom-scale.ts';
import { checkEmbedded, checkListTypes } from './value-rules.ts';

const known = new WeakMap<Resource, Strategy>();

export function customStrategyOf(resource: Resource): Strategy {
  let strategy = known.get(resource);
  if (!strategy) {
    strategy = makeStrategy(resource, kindOf(resource));
    known.set(resource, strategy);
  }
  return strategy;
}

function makeStrategy(resource: Resource, kind: CustomKind): Strategy {
  const hasStatus = resource.subresources.some(({ name }) => name === 'status');
  return {
    setDefaults: (object) => {
      try {
        setDefaults(object as unknown as JsonObject, kind.structural);
      } catch (err) {
        if (err instanceof NoRoomError) throw bodyTooLarge(LIMIT_DEFAULT_BYTES);
        throw err;
      }
    },
    prepareCreate: (object) => {
      if (kind.life.isTerminating) {
        const why = 'create not allowed while custom resource definition is terminating';
        throw forbidden(resource, object.metadata.name ?? '', why);
      }
      if (hasStatus) delete object.status;
    },
    validate: (object, old, context) => validateCustom(object, old, kind, context?.signal),
  };
}

/** All faults, until there are too many or it takes too long. */
async function validateCustom(
  object: KubeObject,
  old: KubeObject | undefined,
  kind: CustomKind,
  signal: AbortSignal | undefined,
): Promise<FieldError[]> {
  const validation = new Validation();
  try {
    await check(object as unknown as JsonObject, old as unknown as JsonObject | undefined, kind, validation, signal);
  } catch (err) {
    if (!(err instanceof ValidationEnd)) throw err;
  }
  return validation.faults;
}

/** Rules in CEL are only asked about an object that is otherwise good. Between two steps others have their turn. */
async function check(
  value: JsonObject,
  before: JsonObject | undefined,
  kind: CustomKind,
  validation: Validation,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { structural, check: checkSchema, scale, rules } = kind;
  const slices = new WorkSlices(signal);
  checkSchema(value, before, undefined, validation);
  if (slices.isOver) await slices.pause();
  if (scale) validation.pushAll(checkScale(value, scale));
  checkEmbedded(value, structural, validation);
  if (slices.isOver) await slices.pause();
  checkListTypes(value, structural, validation);
  if (slices.isOver) await slices.pause();
  if (!rules) return;
  if (validation.length === 0) return rules.check(value, before, validation, signal);
  const why =
    'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  validation.push(invalidValue('<nil>', null, why));
}
