/**
 * Templates of pods in the kinds that make pods of them: the selector beside a template, what such pods may not say,
 * and what is done to templates of every kind before they are looked at.
 */
import { isGivenEmpty } from '../../../api/given-empty.ts';
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  type KubeObject,
  type LabelSelectorObject,
  labelSelectorFromObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { appendAll } from '../../strategy/validation/append-all.ts';
import { labelSelector } from '../../strategy/validation/checks.ts';
import { ensureObject, mapAt, objectAt, objectsAt, textAt } from '../../strategy/validation/fields.ts';
import { dropDisabledFields } from '../pods/disabled-fields.ts';
import { setPodTemplateDefaults } from '../pods/pod-defaults.ts';
import { validatePodTemplate } from '../pods/pod-validation.ts';

export function specOf(object: KubeObject): JsonObject {
  return objectAt(object as JsonObject, 'spec') ?? {};
}

export function withTemplate(setOthers: (object: KubeObject) => void): (object: KubeObject) => void {
  return (object) => {
    setOthers(object);
    setPodTemplateDefaults(ensureObject(object as JsonObject, 'spec'));
  };
}

/** Forgets what kube-apiserver has switched off, in the template of `owner`. */
export function dropDisabled(owner: JsonObject): void {
  const spec = objectAt(objectAt(owner, 'template'), 'spec');
  if (spec) dropDisabledFields(spec);
}

/** For kinds with a template in their spec. */
export const dropDisabledInTemplate = (object: KubeObject): void => dropDisabled(specOf(object));

export function isEmptySelector(selector: JsonObject): boolean {
  const labels = Object.keys(objectAt(selector, 'matchLabels') ?? {}).length;
  return labels + objectsAt(selector, 'matchExpressions').length === 0;
}

/**
 * Whether a selector selects the pods of a template: undefined if it is no selector at all. None selects nothing, an
 * empty one everything.
 */
export function selectsTemplate(
  selector: JsonObject | undefined,
  template: JsonObject | undefined,
): boolean | undefined {
  if (!selector) return false;
  try {
    const labels = mapAt(objectAt(template, 'metadata'), 'labels');
    return labelSelectorFromObject(selector as LabelSelectorObject).matches(labels);
  } catch {
    return undefined;
  }
}

export function unselected(template: JsonObject | undefined, path: string): FieldError {
  const metadata = objectAt(template, 'metadata');
  const none = isGivenEmpty(metadata, 'labels') ? {} : null;
  return invalidValue(
    `${path}.metadata.labels`,
    mapAt(metadata, 'labels') ?? none,
    '`selector` does not match template `labels`',
  );
}

/** A selector that must be there and select something; then the template, unless the selector is none. */
export function validateSelected(
  spec: JsonObject,
  kind: string,
  invalidText: string,
  validateRest: (selected: boolean) => FieldError[],
): FieldError[] {
  const selector = objectAt(spec, 'selector');
  const errors = selector ? labelSelector(selector, 'spec.selector', spec) : [requiredValue('spec.selector')];
  if (selector && isEmptySelector(selector))
    errors.push(invalidValue('spec.selector', selector, `empty selector is invalid for ${kind}`));
  const selected = errors.some(({ field }) => field.startsWith('spec.selector.'))
    ? undefined
    : selectsTemplate(selector, objectAt(spec, 'template'));
  if (selected === undefined) return [...errors, invalidValue('spec.selector', selector, invalidText)];
  appendAll(errors, validateRest(selected));
  return errors;
}

/** Pods that are replaced when they end must always be restarted, and never time out. */
export function validateLasting(
  template: JsonObject | undefined,
  path: string,
  kind: string,
  errors: FieldError[],
): void {
  const spec = objectAt(template, 'spec');
  const policy = textAt(spec, 'restartPolicy');
  if (policy !== 'Always') errors.push(unsupportedValue(`${path}.spec.restartPolicy`, policy, ['Always']));
  if (spec?.activeDeadlineSeconds !== undefined)
    errors.push(
      forbiddenValue(`${path}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`),
    );
}

/** The template of a replica set, and of all that makes replica sets. */
export function validateReplicaTemplate(spec: JsonObject, isSelected: boolean, kind: string): FieldError[] {
  const template = objectAt(spec, 'template');
  const path = 'spec.template';
  const errors = isSelected ? [] : [unselected(template, path)];
  appendAll(errors, validatePodTemplate(template, path));
  validateLasting(template, path, kind, errors);
  return errors;
}
