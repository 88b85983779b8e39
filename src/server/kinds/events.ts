/**
 * Events, in both forms: `v1`, which takes nearly anything, and `events.k8s.io/v1`, which is strict. An event lives in
 * the namespace of what it is about, those about the cluster in `default`.
 */
import {
  checkQualifiedName,
  type FieldError,
  invalidValue,
  type JsonObject,
  type KubeObject,
  requiredValue,
} from '../../api/index.ts';
import { immutableFields } from './engine/field-table.ts';
import { fill, objectAt, textAt } from './engine/fields.ts';
import type { KindRules } from './kind-rules.ts';

const coreDefaults: JsonObject = {
  involvedObject: {},
  source: {},
};
const coreTexts = ['reportingComponent', 'reportingInstance'];

export const coreEventRules: KindRules = {
  setDefaults: (event) => {
    setAbsent(event, coreDefaults);
    for (const field of coreTexts) event[field] ??= '';
  },
  validate: (event) => {
    const errors = validatePlace(event, 'involvedObject');
    if (!event.eventTime) return errors;
    return [...errors, ...validateReporter(event, 'reportingComponent', 'message')];
  },
};

const newDefaults: JsonObject = {
  regarding: {},
  deprecatedSource: {},
};

export const newEventRules: KindRules = {
  setDefaults: (event) => setAbsent(event, newDefaults),
  validate: (event) => {
    // Those that came in through the other form have no time, and must stay readable and patchable here.
    const isStrict = event.deprecatedCount === undefined || event.eventTime;
    const errors = validatePlace(event, 'regarding');
    if (!isStrict) return errors;
    if (!event.eventTime) errors.push(requiredValue('eventTime'));
    const type = textAt(event as JsonObject, 'type');
    if (type !== 'Normal' && type !== 'Warning') errors.push(invalidValue('type', '', `has invalid value: ${type}`));
    return [...errors, ...validateReporter(event, 'reportingController', 'note')];
  },
  validateUpdate: immutableFields([
    'regarding',
    'reason',
    'action',
    'reportingController',
    'reportingInstance',
    'related',
    'note',
    'type',
    'eventTime',
  ]),
};

function setAbsent(event: KubeObject, defaults: JsonObject): void {
  fill(event as JsonObject, defaults);
}

/** The message names the field of `v1`, whichever form was sent. */
function validatePlace(event: KubeObject, about: string): FieldError[] {
  const { namespace = '' } = event.metadata;
  const found = textAt(objectAt(event as JsonObject, about), 'namespace');
  const isRight = found === '' ? namespace === '' || namespace === 'default' : found === namespace;
  return isRight ? [] : [invalidValue('involvedObject.namespace', found, 'does not match event.namespace')];
}

const limitCharacters = 128;
const limitMessage = 1024;

function validateReporter(event: KubeObject, controllerField: string, messageField: string): FieldError[] {
  const object = event as JsonObject;
  const errors: FieldError[] = [];
  const controller = textAt(object, controllerField);
  if (controller === '') errors.push(requiredValue(controllerField));
  for (const problem of controller === '' ? [] : checkQualifiedName(controller))
    errors.push(invalidValue(controllerField, controller, problem));
  for (const field of ['reportingInstance', 'action', 'reason']) {
    const value = textAt(object, field);
    if (value === '') errors.push(requiredValue(field));
    if (value.length > limitCharacters)
      errors.push(invalidValue(field, '', `can have at most ${limitCharacters} characters`));
  }
  if (textAt(object, messageField).length > limitMessage)
    errors.push(
      invalidValue(
        messageField === 'note' ? 'message' : messageField,
        '',
        `can have at most ${limitMessage} characters`,
      ),
    );
  return errors;
}
