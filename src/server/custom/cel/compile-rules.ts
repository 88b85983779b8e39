/**
 * All rules of a schema, each at its place, and the walk that asks them about an object.
 *
 * The object is put into values of CEL once. A rule about a change is asked only where there was a value before; any
 * other rule that fails on a part that has not changed is let off, as everywhere in a schema. The cost of a rule is
 * reckoned before it runs, from the depth of its loops and the largest collection it can meet: what could take too long
 * is refused instead, and so is everything after it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Environment } from '@marcbachmann/cel-js';
import { childPath, type FieldError, type JsonObject, type JsonValue } from '../../../api/index.ts';
import { keyOf } from '../schema-checks.ts';
import { asObject, type RuleText, readStructural, type Structural } from '../structural.ts';
import { libraryEnvironment } from './library.ts';
import { compileRule, type Rule } from './rule.ts';
import { Size, TypeDeclarer, type ValueForm } from './values.ts';

export type CompiledRules = {
  /** What is wrong with an object, given what it was before. */
  readonly check: (value: JsonObject, old: JsonObject | undefined) => FieldError[];
};

/** Steps that one rule, and all rules together, may take on one object. */
const LIMIT_RULE_STEPS = 1_000_000;
const LIMIT_STEPS = 10_000_000;

type RuledNode = { readonly form: ValueForm; readonly rules: readonly Rule[] };
type OnFault = (node: Structural, index: number, err: unknown) => void;

/** Undefined if there are none. Without `onFault` a rule that does not compile is thrown. */
export function compileRules(root: Structural, onFault?: OnFault): CompiledRules | undefined {
  if (!root.hasRules) return undefined;
  const types = libraryEnvironment().clone();
  const declarer = new TypeDeclarer(types, readStructural);
  const nodes = ruledNodes(root);
  const forms = new Map(nodes.map((node) => [node, declarer.formOf(node, node === root)]));
  const ruled = new Map<Structural, RuledNode>();
  for (const [node, form] of forms) ruled.set(node, { form, rules: compileNode(node, form, types, onFault) });
  return { check: (value, old) => new Check(ruled).run(root, value, old) };
}

function compileNode(node: Structural, form: ValueForm, types: Environment, onFault: OnFault | undefined): Rule[] {
  return node.rules.flatMap((text, index) => {
    try {
      return [compileRule(text, environmentFor(text, form, types))];
    } catch (err) {
      if (!onFault) throw err;
      onFault(node, index, err);
      return [];
    }
  });
}

function environmentFor({ optionalOldSelf }: RuleText, { type }: ValueForm, types: Environment): Environment {
  const oldType = optionalOldSelf ? `optional<${type}>` : type;
  return types.clone().registerVariable('self', type).registerVariable('oldSelf', oldType);
}

function ruledNodes(node: Structural): Structural[] {
  if (!node.hasRules) return [];
  const below = [
    ...node.properties.values(),
    ...(node.additional ? [node.additional] : []),
    ...(node.items ? [node.items] : []),
  ];
  return [...below.flatMap(ruledNodes), ...(node.rules.length > 0 ? [node] : [])];
}

class Check {
  readonly #ruled: ReadonlyMap<Structural, RuledNode>;
  readonly #faults: FieldError[] = [];
  #steps = 0;
  #isOver = false;

  constructor(ruled: ReadonlyMap<Structural, RuledNode>) {
    this.#ruled = ruled;
  }

  run(root: Structural, value: JsonObject, old: JsonObject | undefined): FieldError[] {
    this.#visit(root, value, old, '');
    return this.#faults;
  }

  #visit(node: Structural, value: JsonValue | undefined, old: JsonValue | undefined, path: string): void {
    if (!node.hasRules || value === undefined || value === null || this.#isOver) return;
    const ruled = this.#ruled.get(node);
    if (ruled) this.#judge(ruled, value, old ?? undefined, path);
    if (Array.isArray(value)) {
      if (node.items) this.#visitItems(node, node.items, value, old, path);
      return;
    }
    const [object, before] = [asObject(value), asObject(old)];
    if (!object) return;
    for (const [name, member] of Object.entries(object)) {
      const child = node.properties.get(name) ?? node.additional;
      if (child) this.#visit(child, member, before?.[name], childPath(path, name));
    }
  }

  /** Only keys tell which element was which. */
  #visitItems(
    { listType, listMapKeys: keys }: Structural,
    items: Structural,
    list: readonly JsonValue[],
    old: JsonValue | undefined,
    path: string,
  ): void {
    const isMap = listType === 'map' && Array.isArray(old);
    const before = new Map(isMap ? old.map((item) => [keyOf(item, keys), item] as const) : []);
    for (const [index, item] of list.entries())
      this.#visit(items, item, isMap ? before.get(keyOf(item, keys)) : undefined, childPath(path, index));
  }

  #judge({ form, rules }: RuledNode, value: JsonValue, old: JsonValue | undefined, path: string): void {
    const size = new Size();
    const self = form.toValue(value, size);
    const oldSelf = old === undefined ? undefined : form.toValue(old, size);
    const isUnchanged = old !== undefined && isDeepStrictEqual(value, old);
    for (const rule of rules) {
      const { text, isTransition } = rule;
      if (isTransition && !text.optionalOldSelf && oldSelf === undefined) continue;
      if (!this.#afford(rule, size)) {
        const why = 'validation failed due to running out of cost budget, no further validation rules will be run';
        this.#faults.push({ reason: 'FieldValueInvalid', field: path, message: `Invalid value: ${why}` });
        return;
      }
      const why = rule.judge(oldSelf === undefined ? { self } : { self, oldSelf });
      if (why !== undefined && (isTransition || !isUnchanged)) this.#faults.push(faultOf(text, path, why));
    }
  }

  #afford({ loops, splitsText }: Rule, { largest, longestText }: Size): boolean {
    const steps = (splitsText ? Math.max(largest, longestText) : largest) ** loops;
    this.#steps += steps;
    this.#isOver ||= steps > LIMIT_RULE_STEPS || this.#steps > LIMIT_STEPS;
    return !this.#isOver;
  }
}

const leads = {
  FieldValueInvalid: 'Invalid value',
  FieldValueForbidden: 'Forbidden',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
} as const;

function faultOf({ reason, fieldPath }: RuleText, path: string, why: string): FieldError {
  const known = reason !== undefined && reason in leads ? (reason as keyof typeof leads) : 'FieldValueInvalid';
  const field = fieldPath ? (path === '' ? fieldPath.replace(/^\./, '') : `${path}${fieldPath}`) : path;
  return { reason: known, field: field === '' ? '<nil>' : field, message: `${leads[known]}: ${why}` };
}
