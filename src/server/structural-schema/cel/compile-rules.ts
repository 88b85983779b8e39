/**
 * All rules of a schema, each at its place, and the walk that asks them about an object.
 *
 * A rule about a change is asked only where there was a value before; any other rule that fails on a part that has not
 * changed is let off, as everywhere in a schema. Every rule runs within a budget of its own and all together within
 * another; where one is spent the walk ends with a fault that says so. Between rules others get their turn, so that no
 * object holds them up for longer than one rule takes.
 */
import type { FieldError, JsonObject, JsonValue } from '../../../api/index.ts';
import { type Place, pathOf } from '../../../schemas/structural/place.ts';
import { keyOf } from '../../../schemas/structural/schema-checks.ts';
import { asObject, type RuleText, type Structural } from '../../../schemas/structural/structural.ts';
import { OUT_OF_BUDGET, type Validation } from '../../../schemas/structural/validation.ts';
import type { Value } from '../../cel/values/values.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import { callBudget, type Outcome, Rule, RuleError } from './rule.ts';
import { MadeValues, type ValueForm, ValueForms } from './value-forms.ts';

export type CompiledRules = {
  /** Finds what is wrong with an object, given what it was before. */
  /** `signal`: of the request that is charged for it. */
  readonly check: (
    value: JsonObject,
    old: JsonObject | undefined,
    validation: Validation,
    signal?: AbortSignal,
  ) => Promise<void>;
};

/** What all rules together may cost on one object: kube-apiserver's figure for a second. */
const LIMIT_COST = 10_000_000;
const LIMIT_MESSAGE_CHARACTERS = 5120;

export type RuledNode = { readonly form: ValueForm; readonly rules: readonly Rule[] };

/** Undefined if there are none. Nothing is compiled before it is asked. */
export function compileRules(root: Structural): CompiledRules | undefined {
  if (!root.hasRules) return undefined;
  const ruled = ruledNodes(root);
  return { check: (value, old, validation, signal) => new Check(ruled, validation, signal).run(root, value, old) };
}

/** The rules of every node that has some. */
export function ruledNodes(root: Structural): ReadonlyMap<Structural, RuledNode> {
  const forms = new ValueForms();
  const ruled = new Map<Structural, RuledNode>();
  const open = [root];
  while (open.length > 0) {
    const node = open.pop()!;
    if (!node.hasRules) continue;
    if (node.rules.length > 0) {
      const form = forms.formOf(node, node === root);
      ruled.set(node, { form, rules: node.rules.map((text) => new Rule(text, form.type)) });
    }
    for (const child of node.properties.values()) open.push(child);
    if (node.additional) open.push(node.additional);
    if (node.items) open.push(node.items);
  }
  return ruled;
}

/** A part of the object, the schema it has, and what it was before. */
type Part = {
  readonly node: Structural;
  readonly value: JsonValue;
  readonly old: JsonValue | undefined;
  readonly place: Place | undefined;
};

class Check {
  readonly #ruled: ReadonlyMap<Structural, RuledNode>;
  readonly #validation: Validation;
  readonly #made: MadeValues;
  readonly #slices: WorkSlices;
  #left = LIMIT_COST;

  constructor(ruled: ReadonlyMap<Structural, RuledNode>, validation: Validation, signal: AbortSignal | undefined) {
    this.#slices = new WorkSlices(signal);
    this.#ruled = ruled;
    this.#validation = validation;
    this.#made = new MadeValues(ruled.size > 1);
  }

  async run(root: Structural, value: JsonObject, old: JsonObject | undefined): Promise<void> {
    const open: Iterator<Part>[] = [[{ node: root, value, old, place: undefined }].values()];
    while (open.length > 0) {
      const { done, value: part } = open.at(-1)!.next();
      if (done) open.pop();
      else {
        const ruled = this.#ruled.get(part.node);
        if (ruled && !(await this.#judgeAll(ruled, part))) return;
        open.push(partsBelow(part));
      }
      if (this.#slices.isOver) await this.#slices.pause();
    }
  }

  /** False: the budget is spent. */
  async #judgeAll({ form, rules }: RuledNode, part: Part): Promise<boolean> {
    const self = form.toValue(part.value, this.#made);
    const old = part.old ?? undefined; // null is no value
    const oldSelf = old === undefined ? undefined : form.toValue(old, this.#made);
    for (const rule of rules) {
      try {
        if (!this.#judge(rule, part, self, oldSelf)) return false;
      } catch (err) {
        // It compiled when the definition was written; whatever has changed since, nothing is accepted unchecked.
        if (!(err instanceof RuleError)) throw err;
        this.#tell(part.place, `rule compile error: ${err.message}`);
      }
      if (this.#slices.isOver) await this.#slices.pause();
    }
    return true;
  }

  #judge(rule: Rule, { value, old, place }: Part, self: Value, oldSelf: Value | undefined): boolean {
    const { text, isTransition } = rule;
    if (isTransition && !text.optionalOldSelf && oldSelf === undefined) return true;
    if (this.#left <= 0) return this.#end(place, OUT_OF_BUDGET);
    const budget = callBudget();
    const outcome = rule.judge(self, oldSelf, budget);
    if (!this.#pay(budget.spent)) return this.#end(place, OUT_OF_BUDGET);
    if (outcome.kind === 'value' && outcome.value === true) return true;
    const named = text.message?.trim() || text.rule.trim();
    if (outcome.kind === 'exceeded')
      return this.#end(
        place,
        `'${outcome.why}': no further validation rules will be run due to call cost exceeds limit for rule: ${named}`,
      );
    if (outcome.kind === 'error') {
      this.#tell(place, errorText(outcome.why, named));
      return true;
    }
    const isLetOff = !isTransition && old !== undefined && this.#validation.isSame(value, old);
    const fallback = text.message?.trim() || `failed rule: ${text.rule.trim()}`;
    const told = this.#explain(rule, self, oldSelf);
    if ('why' in told)
      this.#validation.push(faultOf(text, pathOf(place), told.why)); // nothing passes unasked
    else if (!isLetOff) this.#validation.push(faultOf(text, pathOf(place), told.message ?? fallback));
    return !('why' in told);
  }

  /** The message that an expression gives, if it gives one; or why there can be no more rules. */
  #explain(rule: Rule, self: Value, oldSelf: Value | undefined): { message: string | undefined } | { why: string } {
    const budget = callBudget();
    const outcome = rule.explain(self, oldSelf, budget);
    if (!outcome) return { message: undefined };
    if (!this.#pay(budget.spent))
      return {
        why: `messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run`,
      };
    if (outcome.kind !== 'exceeded') return { message: singleLine(outcome) };
    const shown = JSON.stringify(rule.text.messageExpression);
    return {
      why: `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${shown}`,
    };
  }

  #pay(cost: number): boolean {
    this.#left -= cost;
    return this.#left >= 0;
  }

  #end(place: Place | undefined, why: string): false {
    this.#tell(place, why);
    return false;
  }

  #tell(place: Place | undefined, why: string): void {
    this.#validation.push({
      reason: 'FieldValueInvalid',
      field: shownPath(pathOf(place)),
      message: `Invalid value: ${why}`,
    });
  }
}

/** What lies below a part and has rules somewhere, in order. Only keys tell which element of a list was which. */
function* partsBelow({ node, value, old, place }: Part): Generator<Part, void> {
  if (Array.isArray(value)) {
    const { items, listType, listMapKeys: keys } = node;
    if (!items?.hasRules) return;
    const isMap = listType === 'map' && Array.isArray(old);
    const before = new Map(isMap ? old.map((item) => [keyOf(item, keys), item] as const) : []);
    for (const [index, item] of value.entries()) {
      if (item === null) continue;
      const was = isMap ? before.get(keyOf(item, keys)) : undefined;
      yield { node: items, value: item, old: was, place: { of: place, name: index } };
    }
    return;
  }
  const [object, before] = [asObject(value), asObject(old)];
  if (!object) return;
  for (const name of Object.keys(object)) {
    const field = node.properties.get(name);
    const child = field ?? node.additional;
    const member = object[name];
    if (!child?.hasRules || member === undefined || member === null) continue;
    const was = before && Object.hasOwn(before, name) ? before[name] : undefined;
    yield { node: child, value: member, old: was, place: { of: place, name, isKey: field === undefined } };
  }
}

function errorText(why: string, named: string): string {
  if (!why.startsWith('no such overload')) return `${why} evaluating rule: ${named}`;
  return `'${why}': call arguments did not match a supported operator, function or macro signature for rule: ${named}`;
}

/** Undefined where it is not a single line: then the plain message stands. */
function singleLine(outcome: Outcome): string | undefined {
  const text = outcome.kind === 'value' && typeof outcome.value === 'string' ? outcome.value.trim() : '';
  return text === '' || text.includes('\n') || text.length > LIMIT_MESSAGE_CHARACTERS ? undefined : text;
}

const leads = {
  FieldValueInvalid: 'Invalid value',
  FieldValueForbidden: 'Forbidden',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
} as const;

function faultOf({ reason, fieldPath }: RuleText, path: string, why: string): FieldError {
  const known =
    reason !== undefined && Object.hasOwn(leads, reason) ? (reason as keyof typeof leads) : 'FieldValueInvalid';
  const field = fieldPath ? (path === '' ? fieldPath.replace(/^\./, '') : `${path}${fieldPath}`) : path;
  return { reason: known, field: shownPath(field), message: `${leads[known]}: ${why}` };
}

function shownPath(path: string): string {
  return path === '' ? '<nil>' : path;
}
