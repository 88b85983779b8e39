/**
 * Whether the rules of a definition are cheap enough on the largest objects that its schema allows: each for itself, and
 * all of them together. A rule below a list or a map is asked as often as that has elements; where nothing bounds them,
 * as often as the smallest value fits into a request.
 *
 * It charges nobody: what a rule costs on an object is counted when it runs, whatever was reckoned here.
 */
import { type FieldError, forbiddenValue } from '../../../api/index.ts';
import type { Structural } from '../../../schemas/structural/structural.ts';
import { product } from '../../cel/cost/size.ts';
import type { Rule } from './rule.ts';
import { type Lengths, mostOften, ValueLengths } from './value-lengths.ts';

const LIMIT_RULE_COST = 10_000_000;
const LIMIT_TOTAL_COST = 100_000_000;
/** So many are named when all together are too dear, none that takes less than its hundredth part. */
const MOST_NAMED = 4;

/** How often a value can be in one object; undefined: nothing bounds it. */
export type Cardinality = number | undefined;

export class RuleCosts {
  readonly #lengths = new ValueLengths();
  #total = 0;
  #dearest: { readonly path: string; readonly cost: number }[] = [];

  /** `at`: where the rule is written. */
  check(rule: Rule, node: Structural, isRoot: boolean, often: Cardinality, at: string): FieldError[] {
    const lengths = this.#lengths.of(node, isRoot || node.isEmbedded);
    if (!lengths) return [];
    const costs = rule.mostCosts(lengths);
    return [
      ...this.#judge(`${at}.rule`, 'estimated rule cost', product(costs.rule, times(often, lengths))),
      // A message is needed once.
      ...(rule.text.messageExpression
        ? this.#judge(`${at}.messageExpression`, 'estimated messageExpression cost', costs.message)
        : []),
    ];
  }

  /** What all of them come to; `path`: of the schema. */
  checkTotal(path: string): FieldError[] {
    if (this.#total <= LIMIT_TOTAL_COST) return [];
    const why = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    return [
      ...this.#dearest.map(({ path: at }) => forbiddenValue(at, why)),
      forbiddenValue(path, tooDear(what, this.#total, LIMIT_TOTAL_COST)),
    ];
  }

  #judge(path: string, what: string, cost: number): FieldError[] {
    this.#total += cost;
    if (cost >= LIMIT_TOTAL_COST / 100) {
      this.#dearest.push({ path, cost });
      this.#dearest = this.#dearest.sort((a, b) => b.cost - a.cost).slice(0, MOST_NAMED);
    }
    return cost > LIMIT_RULE_COST ? [forbiddenValue(path, tooDear(what, cost, LIMIT_RULE_COST))] : [];
  }
}

/** Below a value that can be there so often. */
export function cardinalityBelow({ type, source, additional }: Structural, often: Cardinality): Cardinality {
  const isMap = type === 'object' && (additional !== undefined || source.additionalProperties === true);
  if (!isMap && type !== 'array') return often;
  const most = isMap ? source.maxProperties : source.maxItems;
  if (often === undefined || (typeof most !== 'number' && typeof most !== 'bigint')) return undefined;
  return product(often, Math.max(Number(most), 0));
}

function times(often: Cardinality, lengths: Lengths): number {
  return often ?? mostOften(lengths);
}

function tooDear(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? 'more than 100x' : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`;
  return (
    `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and ` +
    'maxLength where arrays, maps, and strings are declared)'
  );
}
