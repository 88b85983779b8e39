/**
 * Priority levels: how many requests of a level are served at once, and what happens to the others. `exempt` is the only
 * level without a limit, and what it is does not change but for its shares.
 */
import { type FieldError, forbiddenValue, invalidValue, type JsonObject, requiredValue } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { between, oneOf } from '../../strategy/validation/checks.ts';
import { defaultsFrom } from '../../strategy/validation/field-table.ts';
import { isEmpty, numberAt, objectAt, textAt } from '../../strategy/validation/fields.ts';
import { checkFlowConditions } from './flow-schemas.ts';
import { checkMandatoryLevel } from './mandatory-specs.ts';

const EXEMPT = 'exempt';
const MOST_QUEUES = 10_000_000;
const HASH_BITS = 60;
const queuingDefaults: Readonly<Record<string, number>> = { queues: 64, handSize: 8, queueLengthLimit: 50 };

const setDefaults = defaultsFrom([
  ['spec.limited.nominalConcurrencyShares', 30],
  ['spec.limited.lendablePercent', 0],
  ['spec.exempt', {}, (spec) => spec.type === 'Exempt'],
  ['spec.exempt.nominalConcurrencyShares', 0],
  ['spec.exempt.lendablePercent', 0],
]);

export const priorityLevelStrategy: Strategy = {
  setDefaults: (level) => {
    setDefaults(level);
    const limited = objectAt(objectAt(level as JsonObject, 'spec'), 'limited');
    const queuing = objectAt(objectAt(limited, 'limitResponse'), 'queuing');
    // Nothing is no number of queues either.
    for (const [field, usual] of Object.entries(queuingDefaults))
      if (queuing && !queuing[field]) queuing[field] = usual;
  },
  validate: (level) => {
    const spec = objectAt(level as JsonObject, 'spec') ?? {};
    const { name = '' } = level.metadata;
    return [...checkSpec(spec, name), ...checkMandatoryLevel(name, spec), ...checkFlowConditions(level)];
  },
};

const type = oneOf('Exempt', 'Limited');
const percent = between(0, 100);

function checkSpec(spec: JsonObject, name: string): FieldError[] {
  const errors: FieldError[] = [];
  const [limited, exempt] = [objectAt(spec, 'limited'), objectAt(spec, 'exempt')];
  const isExempt = spec.type === 'Exempt';
  if ((name === EXEMPT) !== isExempt) {
    const why = "type must be 'Exempt' if and only if name is 'exempt'";
    errors.push(invalidValue('spec.type', textAt(spec, 'type'), why));
  }
  if (isExempt) {
    if (exempt) appendAll(errors, checkShares(exempt, 'spec.exempt'));
    if (limited) errors.push(forbiddenValue('spec.limited', 'must be nil if the type is not Limited'));
    return errors;
  }
  if (isEmpty(spec.type)) return [...errors, requiredValue('spec.type')];
  if (spec.type !== 'Limited') return [...errors, ...type(spec.type!, 'spec.type', spec)];
  if (exempt) errors.push(forbiddenValue('spec.exempt', 'must be nil if the type is Limited'));
  if (!limited) return [...errors, requiredValue('spec.limited', 'must not be empty when type is Limited')];
  return [...errors, ...checkLimited(limited, 'spec.limited')];
}

function checkShares(part: JsonObject, path: string): FieldError[] {
  const shares = numberAt(part, 'nominalConcurrencyShares') ?? 0;
  const errors =
    shares < 0 ? [invalidValue(`${path}.nominalConcurrencyShares`, shares, 'must be a non-negative integer')] : [];
  return [...errors, ...percent(part.lendablePercent ?? undefined, `${path}.lendablePercent`, part)];
}

function checkLimited(limited: JsonObject, path: string): FieldError[] {
  const errors = checkShares(limited, path);
  const borrowed = numberAt(limited, 'borrowingLimitPercent') ?? 0;
  if (borrowed < 0)
    errors.push(
      invalidValue(`${path}.borrowingLimitPercent`, borrowed, 'if specified, must be a non-negative integer'),
    );
  return [...errors, ...checkResponse(objectAt(limited, 'limitResponse') ?? {}, `${path}.limitResponse`)];
}

const responseType = oneOf('Queue', 'Reject');

function checkResponse(response: JsonObject, path: string): FieldError[] {
  const queuing = objectAt(response, 'queuing');
  const at = `${path}.queuing`;
  if (response.type === 'Reject')
    return queuing ? [forbiddenValue(at, 'must be nil if limited.limitResponse.type is not Limited')] : [];
  if (isEmpty(response.type)) return [requiredValue(`${path}.type`)];
  if (response.type !== 'Queue') return responseType(response.type!, `${path}.type`, response);
  if (!queuing) return [requiredValue(at, 'must not be empty if limited.limitResponse.type is Limited')];
  return checkQueuing(queuing, at);
}

function checkQueuing(queuing: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const [queues, hand, length] = ['queues', 'handSize', 'queueLengthLimit'].map(
    (field) => numberAt(queuing, field) ?? 0,
  );
  const refuse = (field: string, value: number, why: string) =>
    errors.push(invalidValue(`${path}.${field}`, value, why));
  if (length! <= 0) refuse('queueLengthLimit', length!, 'must be positive');
  if (queues! <= 0) refuse('queues', queues!, 'must be positive');
  else if (queues! > MOST_QUEUES) refuse('queues', queues!, `must not be greater than ${MOST_QUEUES}`);
  if (hand! <= 0) refuse('handSize', hand!, 'must be positive');
  else if (hand! > queues!) refuse('handSize', hand!, `should not be greater than queues (${queues})`);
  else if (entropyBits(queues!, hand!) > HASH_BITS) {
    const why = `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${HASH_BITS}`;
    refuse('handSize', hand!, why);
  }
  return errors;
}

/** How many bits of a hash it takes to deal a hand. */
function entropyBits(deck: number, hand: number): number {
  return Math.ceil(Math.log2(deck) * hand);
}
