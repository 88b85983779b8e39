/** A rule as it is written, before anybody reads the expression in it: what must be there, and on one line. */
import { invalidValue, type JsonObject, requiredValue, unsupportedValue } from '../../api/index.ts';
import { schemaAt } from './schema-path.ts';
import { unsupportedIn } from './unsupported-words.ts';
import type { Validation } from './validation.ts';

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** `schema`: of what the rule is about. */
export function checkRuleText(rule: JsonObject, schema: JsonObject, path: string, faults: Validation): void {
  const [text, message] = [textOf(rule.rule), textOf(rule.message)];
  const [messageExpression, fieldPath] = [textOf(rule.messageExpression), textOf(rule.fieldPath)];
  if (text.trim() === '') faults.push(requiredValue(`${path}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '')
    faults.push(invalidValue(`${path}.message`, message, 'must be non-empty if specified'));
  else if (hasLines(message.trim()))
    faults.push(invalidValue(`${path}.message`, message, 'must not contain line breaks'));
  else if (hasLines(text.trim()) && message.trim() === '')
    faults.push(requiredValue(`${path}.message`, 'message must be specified if rule contains line breaks'));
  if (messageExpression !== '' && messageExpression.trim() === '')
    faults.push(requiredValue(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'));
  if (rule.reason !== undefined && rule.reason !== null && !REASONS.includes(rule.reason as string))
    faults.push(unsupportedValue(`${path}.reason`, rule.reason, REASONS));
  if (fieldPath !== '' && fieldPath.trim() === '')
    faults.push(invalidValue(`${path}.fieldPath`, fieldPath, 'must be non-empty if specified'));
  if (hasLines(fieldPath)) faults.push(invalidValue(`${path}.fieldPath`, fieldPath, 'must not contain line breaks'));
  // What cannot be read as a tree of fields is told of for itself.
  if (fieldPath !== '' && typeof schemaAt(schema, fieldPath) !== 'object' && !unsupportedIn(schema))
    faults.push(invalidValue(`${path}.fieldPath`, fieldPath, 'must be a valid path'));
}

function hasLines(text: string): boolean {
  return /[\n\r]/.test(text);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
