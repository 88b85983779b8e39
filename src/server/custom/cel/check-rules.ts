/**
 * Whether the rules of a schema can be kept: each must compile, with fields that are declared and functions that there
 * are, and ask about changes only where an old value can be found. Nothing that is not checked is ever accepted.
 */
import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  type JsonObject,
  requiredValue,
  unsupportedValue,
} from '../../../api/index.ts';
import { asObject, readStructural, type Structural } from '../structural.ts';
import { compileRules } from './compile-rules.ts';
import { RuleError } from './rule.ts';

const REASONS = ['FieldValueRequired', 'FieldValueInvalid', 'FieldValueForbidden', 'FieldValueDuplicate'];
const RULES = 'x-kubernetes-validations';
const COMBINATIONS = ['allOf', 'anyOf', 'oneOf', 'not'];

/** The schema is known to be structural. */
export function checkRules(schema: JsonObject, path: string): FieldError[] {
  const faults = rulesInCombinations(schema, path);
  const root = readStructural(schema);
  if (!root.hasRules) return faults;
  const places = new Map<Structural, string>();
  findPlaces(root, path, true, places, faults);
  compileRules(root, (node, index, err) => {
    if (!(err instanceof RuleError)) throw err;
    const text = node.rules[index]!;
    faults.push(invalidValue(`${places.get(node)}.${RULES}[${index}].rule`, { ...text }, err.message));
  });
  return faults;
}

function findPlaces(
  node: Structural,
  path: string,
  hasOldValue: boolean,
  places: Map<Structural, string>,
  faults: FieldError[],
): void {
  if (!node.hasRules) return;
  places.set(node, path);
  for (const [index, { rule = '', reason, message, messageExpression }] of node.rules.entries()) {
    const at = `${path}.${RULES}[${index}]`;
    if (rule.trim() === '') faults.push(requiredValue(`${at}.rule`, 'rule is not specified'));
    if (message !== undefined && (message.trim() === '' || message.includes('\n')))
      faults.push(invalidValue(`${at}.message`, message, 'message must be one line that is not empty'));
    if (messageExpression !== undefined && messageExpression.trim() === '')
      faults.push(requiredValue(`${at}.messageExpression`, 'messageExpression must be non-empty if specified'));
    if (reason !== undefined && !REASONS.includes(reason))
      faults.push(unsupportedValue(`${at}.reason`, reason, REASONS));
    if (!hasOldValue && /\boldSelf\b/.test(rule)) {
      const why =
        'oldSelf cannot be used on the uncorrelatable portion of the schema within a list that is not of type map';
      faults.push(forbiddenValue(`${at}.rule`, why));
    }
  }
  for (const [name, child] of node.properties)
    findPlaces(child, `${path}.properties[${name}]`, hasOldValue, places, faults);
  if (node.additional) findPlaces(node.additional, `${path}.additionalProperties`, hasOldValue, places, faults);
  if (node.items) findPlaces(node.items, `${path}.items`, hasOldValue && node.listType === 'map', places, faults);
}

/** Combinations only constrain; a rule there would never be asked. */
function rulesInCombinations(schema: JsonObject, path: string, isInside = false): FieldError[] {
  const faults: FieldError[] = [];
  if (isInside && schema[RULES] !== undefined)
    faults.push(forbiddenValue(`${path}.${RULES}`, 'must be empty to be structural'));
  for (const word of COMBINATIONS) {
    const parts = schema[word];
    for (const [index, part] of (Array.isArray(parts) ? parts : [parts]).entries()) {
      const inner = asObject(part);
      if (inner)
        faults.push(...rulesInCombinations(inner, `${path}.${word}${Array.isArray(parts) ? `[${index}]` : ''}`, true));
    }
  }
  for (const [name, child] of Object.entries(asObject(schema.properties) ?? {}))
    faults.push(...rulesInCombinations(asObject(child) ?? {}, `${path}.properties[${name}]`, isInside));
  for (const word of ['items', 'additionalProperties']) {
    const inner = asObject(schema[word]);
    if (inner) faults.push(...rulesInCombinations(inner, `${path}.${word}`, isInside));
  }
  return faults;
}
