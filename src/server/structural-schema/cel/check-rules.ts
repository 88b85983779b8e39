/**
 * Whether the rules of a schema can be kept: each must compile, with fields that are declared and functions that there
 * are, and ask about changes only where an old value can be found. Nothing that is not checked is ever accepted.
 * Between rules others get their turn.
 */
import { forbiddenValue, invalidValue } from '../../../api/index.ts';
import type { WorkSlices } from '../../event-loop/work-slices.ts';
import type { Structural } from '../structural.ts';
import type { Validation } from '../validation.ts';
import { type RuledNode, ruledNodes } from './compile-rules.ts';
import { RuleError } from './rule.ts';

const RULES = 'x-kubernetes-validations';

/** The schema is known to be structural. */
export async function checkRules(
  root: Structural,
  path: string,
  validation: Validation,
  slices: WorkSlices,
): Promise<void> {
  if (root.hasRules) await new RuleCheck(ruledNodes(root), validation, slices).visit(root, path, true);
}

class RuleCheck {
  readonly #ruled: ReadonlyMap<Structural, RuledNode>;
  readonly #validation: Validation;
  readonly #slices: WorkSlices;

  constructor(ruled: ReadonlyMap<Structural, RuledNode>, validation: Validation, slices: WorkSlices) {
    this.#ruled = ruled;
    this.#validation = validation;
    this.#slices = slices;
  }

  async visit(node: Structural, path: string, hasOldValue: boolean): Promise<void> {
    if (!node.hasRules) return;
    for (let index = 0; index < node.rules.length; index++) {
      this.#check(node, index, `${path}.${RULES}[${index}]`, hasOldValue);
      if (this.#slices.isOver) await this.#slices.pause();
    }
    for (const [name, child] of node.properties)
      if (child.hasRules) await this.visit(child, `${path}.properties[${name}]`, hasOldValue);
    if (node.additional) await this.visit(node.additional, `${path}.additionalProperties`, hasOldValue);
    if (node.items) await this.visit(node.items, `${path}.items`, hasOldValue && node.listType === 'map');
  }

  #check(node: Structural, index: number, at: string, hasOldValue: boolean): void {
    const validation = this.#validation;
    try {
      const { optionalOldSelf } = node.rules[index]!;
      const { isTransition } = this.#ruled.get(node)!.rules[index]!;
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
