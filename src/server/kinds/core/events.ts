/**
 * Events, in both forms: `v1`, which takes nearly anything, and `events.k8s.io/v1`, which is strict. An event lives in
 * the namespace of what it is about, those about the cluster in `default`.
 */
import {
  checkQualifiedName,
  type FieldError,
  invalidValue,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  requiredValue,
} from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { immutable } from '../../strategy/validation/field-table.ts';
import { fill, isEmpty, numberAt, objectAt, sameStruct, textAt } from '../../strategy/validation/fields.ts';

const coreDefaults: JsonObject = {
  involvedObject: {},
  source: {},
};
const coreTexts = ['reportingComponent', 'reportingInstance'];

export const coreEventStrategy: Strategy = {
  setDefaults: (event) => {
    setAbsent(event, coreDefaults);
    for (const field of coreTexts) event[field] ??= '';
  },
  validate: (event) => validateAny(event, coreForm),
};

const newDefaults: JsonObject = {
  regarding: {},
  deprecatedSource: {},
};

/** The names that fields of an event have in a form; messages use those of `v1` for all but the reporter. */
type Form = { readonly about: string; readonly reporter: string; readonly message: string };
const coreForm: Form = { about: 'involvedObject', reporter: 'reportingComponent', message: 'message' };
const newForm: Form = { about: 'regarding', reporter: 'reportingController', message: 'note' };

/** What may only be said in the older form: the field here, and its name there. */
const deprecated: readonly (readonly [field: string, core: string])[] = [
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['deprecatedSource', 'source'],
];
/** None of it changes. `reason` is told twice, since kube-apiserver asks twice. */
const lasting: readonly (readonly [field: string, core: string])[] = [
  ['regarding', 'involvedObject'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['reason', 'reason'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingController', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
];

export const newEventStrategy: Strategy = {
  setDefaults: (event) => setAbsent(event, newDefaults),
  validate: (event, old) => {
    const errors = validateAny(event, newForm);
    if (old) return sameStruct(event.series, old.series) ? errors : [...errors, ...validateSeries(event)];
    appendAll(errors, validateSeries(event));
    if (!event.eventTime) errors.push(requiredValue('eventTime'));
    const type = textAt(event as JsonObject, 'type');
    if (type !== 'Normal' && type !== 'Warning') errors.push(invalidValue('type', '', `has invalid value: ${type}`));
    for (const [field, core] of deprecated)
      if (event[field] !== 0 && !isEmpty(event[field])) errors.push(invalidValue(core, '', 'needs to be unset'));
    return errors;
  },
  validateUpdate: (event, old) =>
    lasting.flatMap(([field, core]) =>
      sameStruct(event[field], old[field]) ? [] : [immutable(core, event[field] ?? emptyOf(field))],
    ),
};

function emptyOf(field: string): JsonValue {
  if (field === 'deprecatedCount') return 0;
  return ['regarding', 'related', 'deprecatedSource'].includes(field) || /Time(stamp)?$/.test(field) ? null : '';
}

function validateSeries(event: KubeObject): FieldError[] {
  const series = objectAt(event as JsonObject, 'series');
  if (!series) return [];
  const errors = (numberAt(series, 'count') ?? 0) < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : [];
  return series.lastObservedTime ? errors : [...errors, requiredValue('series.lastObservedTime')];
}

function setAbsent(event: KubeObject, defaults: JsonObject): void {
  fill(event as JsonObject, defaults);
}

/** An event with a time is of the newer sort: it may be about another namespace, and says who reports it. */
function validateAny(event: KubeObject, form: Form): FieldError[] {
  const { namespace = '' } = event.metadata;
  const found = textAt(objectAt(event as JsonObject, form.about), 'namespace');
  const isNew = Boolean(event.eventTime);
  const homes = isNew ? ['default', 'kube-system'] : ['', 'default'];
  const isRight = found === '' ? homes.includes(namespace) : isNew || found === namespace;
  const errors = isRight ? [] : [invalidValue('involvedObject.namespace', found, 'does not match event.namespace')];
  return isNew ? [...errors, ...validateReporter(event, form)] : errors;
}

const limitCharacters = 128;
const limitMessage = 1024;

function validateReporter(event: KubeObject, { reporter, message }: Form): FieldError[] {
  const object = event as JsonObject;
  const controller = textAt(object, reporter);
  const errors = controller === '' ? [requiredValue(reporter)] : [];
  for (const problem of checkQualifiedName(controller)) errors.push(invalidValue(reporter, controller, problem));
  const limit = (field: string, value: string, most: number) => {
    if (Buffer.byteLength(value) > most) errors.push(invalidValue(field, '', `can have at most ${most} characters`));
  };
  for (const field of ['reportingInstance', 'action', 'reason']) {
    const value = textAt(object, field);
    if (value === '') errors.push(requiredValue(field));
    limit(field, value, limitCharacters);
  }
  limit('message', textAt(object, message), limitMessage);
  return errors;
}
