/**
 * Whether the rules of a schema can be kept: each must compile, with fields that are declared and functions that there
 * are, ask about changes only where an old value can be found, and be cheap enough on the largest object that the schema
 * allows. Nothing that is not checked is ever accepted.
 * Between rules others get their turn.
 */
import { forbiddenValue, invalidValue } from '../../../api/index.ts';
import type { Structural } from '../../../schemas/structural/structural.ts';
import type { Validation } from '../../../schemas/structural/validation.ts';
import type { WorkSlices } from '../../event-loop/work-slices.ts';
import { type RuledNode, ruledNodes } from './compile-rules.ts';
import { RuleError } from './rule.ts';
import { type Cardinality, cardinalityBelow, RuleCosts } from './rule-costs.ts';

const RULES = 'x-kubernetes-validations';

/** The schema is known to be structural. `isKnown`: it was accepted before, whatever its rules may cost. */
export async function checkRules(
  root: Structural,
  path: string,
  validation: Validation,
  slices: WorkSlices,
  isKnown: boolean,
): Promise<void> {
  if (!root.hasRules) return;
  const costs = isKnown ? undefined : new RuleCosts();
  await new RuleCheck(ruledNodes(root), validation, slices, costs).visit(root, { path, hasOldValue: true, often: 1 });
  if (costs) validation.pushAll(costs.checkTotal(path));
}

/** Where a part of a schema is, whether what it was before can be found, and how often it can be in one object. */
type Place = { readonly path: string; readonly hasOldValue: boolean; readonly often: Cardinality };

class RuleCheck {
  readonly #ruled: ReadonlyMap<Structural, RuledNode>;
  readonly #validation: Validation;
  readonly #slices: WorkSlices;
  readonly #costs: RuleCosts | undefined;
  #isRoot = true;

  constructor(
    ruled: ReadonlyMap<Structural, RuledNode>,
    validation: Validation,
    slices: WorkSlices,
    costs: RuleCosts | undefined,
  ) {
    this.#ruled = ruled;
    this.#validation = validation;
    this.#slices = slices;
    this.#costs = costs;
  }

  async visit(node: Structural, place: Place): Promise<void> {
    if (!node.hasRules) return;
    const { path, hasOldValue } = place;
    const isRoot = this.#isRoot;
    this.#isRoot = false;
    for (let index = 0; index < node.rules.length; index++) {
      this.#check(node, index, place, isRoot);
      if (this.#slices.isOver) await this.#slices.pause();
    }
    const often = cardinalityBelow(node, place.often);
    for (const [name, child] of node.properties)
      if (child.hasRules) await this.visit(child, { path: `${path}.properties[${name}]`, hasOldValue, often });
    if (node.additional)
      await this.visit(node.additional, { path: `${path}.additionalProperties`, hasOldValue, often });
    if (node.items)
      await this.visit(node.items, {
        path: `${path}.items`,
        hasOldValue: hasOldValue && node.listType === 'map',
        often,
      });
  }

  #check(node: Structural, index: number, { path, hasOldValue, often }: Place, isRoot: boolean): void {
    const validation = this.#validation;
    const at = `${path}.${RULES}[${index}]`;
    try {
      const { optionalOldSelf } = node.rules[index]!;
      const rule = this.#ruled.get(node)!.rules[index]!;
      const { isTransition } = rule;
      if (this.#costs) validation.pushAll(this.#costs.check(rule, node, isRoot, often, at));
      if (!isTransition && optionalOldSelf !== undefined) {
        const why = 'may not be set if oldSelf is not used in rule';
        validation.push(invalidValue(`${at}.optionalOldSelf`, optionalOldSelf, why));
      }
      if (!isTransition || hasOldValue) return;
      const why =
        'oldSelf cannot be used on the uncorrelatable portion of the schema within a list that is not of type map';
      validation.push(forbiddenValue(`${at}.rule`, why));
    } catch (err) {
      if (!(err instanceof RuleError)) throw err;
      validation.push(invalidValue(`${at}.${err.field}`, { ...node.rules[index] }, err.message));
    }
  }
}
