/** Selectors as callers write them, to the text of a query. */
import type { FieldSelector } from '../../api/selectors/field-selector.ts';
import {
  LabelSelector,
  type LabelSelectorObject,
  type Labels,
  labelSelectorFromLabels,
  labelSelectorFromObject,
} from '../../api/selectors/label-selector.ts';

/** `app=web,tier!=test`, a parsed selector, `{ app: 'web' }`, or `{ matchLabels, matchExpressions }`. */
export type LabelSelection = string | LabelSelector | LabelSelectorObject | Labels;

/** `spec.nodeName=n1`, a parsed selector, or `{ 'spec.nodeName': 'n1' }`. */
export type FieldSelection = string | FieldSelector | Readonly<Record<string, string>>;

export function labelSelectorText(selection: LabelSelection | undefined): string | undefined {
  if (selection === undefined || typeof selection === 'string') return selection || undefined;
  if (selection instanceof LabelSelector) return selection.toString() || undefined;
  const isObject =
    'matchExpressions' in selection || typeof (selection as LabelSelectorObject).matchLabels === 'object';
  const selector = isObject
    ? labelSelectorFromObject(selection as LabelSelectorObject)
    : labelSelectorFromLabels(selection as Labels);
  return selector.toString() || undefined;
}

export function fieldSelectorText(selection: FieldSelection | undefined): string | undefined {
  if (selection === undefined || typeof selection === 'string') return selection || undefined;
  if ('requirements' in selection) return selection.toString() || undefined;
  const parts = Object.entries(selection).map(([field, value]) => `${field}=${value.replace(/[\\,=]/g, '\\$&')}`);
  return parts.join(',') || undefined;
}
