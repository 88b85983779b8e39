/**
 * A ValidatingAdmissionPolicy, read once, and its judgement of one request with one parameter: a decision for every
 * validation, and the annotations it wants in the audit log.
 *
 * What cannot be worked out is a refusal, or nothing, as the failure policy says. Messages are worked out only for what
 * is refused, in what is left of the budget.
 */
import type { JsonObject, KubeObject } from '../../../../api/index.ts';
import { jsonValue } from '../../../cel/values/json-values.ts';
import { bool, plainType, string } from '../../../cel/values/types.ts';
import { kindOf } from '../../../cel/values/values.ts';
import type { WorkSlices } from '../../../event-loop/work-slices.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { CostBudget, LIMIT_POLICY_COST, OutOfBudgetError } from '../../expressions/cost-budget.ts';
import { Evaluation, type EvaluationParts, type ExpressionTimer, type Outcome } from '../../expressions/evaluation.ts';
import { type ConditionText, MatchConditions } from '../../expressions/match-conditions.ts';
import { PolicyVariables, type VariableText } from '../../expressions/policy-variables.ts';
import type { RequestValues } from '../../expressions/request-values.ts';
import { StoredExpression } from '../../expressions/stored-expression.ts';
import { type ParamKind, readParamKind } from '../params.ts';
import { type MatchResources, readMatchResources } from '../policy-matcher.ts';

export type ErrorType = 'no_error' | 'compile_error' | 'invalid_error' | 'out_of_budget';

export type Decision = {
  readonly isDenied: boolean;
  readonly message: string;
  readonly reason: string;
  /** What could not be worked out; `no_error` for what was, whatever came out. */
  readonly errorType: ErrorType;
  readonly seconds: number;
};

export type Annotation =
  | { readonly key: string; readonly value: string }
  | { readonly key: string; readonly error: string; readonly errorType: ErrorType };

export type Judgement = { readonly decisions: readonly Decision[]; readonly annotations: readonly Annotation[] };

type Validation = {
  readonly expression: StoredExpression;
  readonly message: string;
  readonly messageExpression: StoredExpression | undefined;
  readonly reason: string;
};

/** What a judgement is about. */
export type Judged = {
  readonly request: RequestValues;
  /** As the request has it in match conditions, where no namespace is to be seen. */
  readonly bareRequest: RequestValues;
  readonly param: KubeObject | null;
  readonly slices: WorkSlices;
  readonly timer?: ExpressionTimer | undefined;
};

const LIMIT_MESSAGE_BYTES = 5 * 1024;
const LIMIT_ANNOTATION_BYTES = 10 * 1024;

export class ValidatingPolicy {
  readonly name: string;
  readonly match: MatchResources;
  readonly paramKind: ParamKind | undefined;
  readonly failsOpen: boolean;
  readonly #variables: PolicyVariables;
  readonly #conditions: MatchConditions;
  readonly #validations: readonly Validation[];
  readonly #annotations: readonly { readonly key: string; readonly expression: StoredExpression }[];

  constructor(policy: KubeObject) {
    const spec = objectAt(policy as unknown as JsonObject, 'spec') ?? {};
    this.name = policy.metadata.name ?? '';
    this.match = readMatchResources(objectAt(spec, 'matchConstraints') ?? {});
    this.paramKind = readParamKind(spec);
    this.failsOpen = textAt(spec, 'failurePolicy') === 'Ignore';
    const surroundings = { hasParams: this.paramKind !== undefined };
    this.#variables = new PolicyVariables(objectsAt(spec, 'variables') as unknown as VariableText[], surroundings);
    const seen = () => ({ ...surroundings, variables: this.#variables.types });
    const withoutRights = () => ({ ...seen(), hasNoAuthorizer: true });
    this.#conditions = new MatchConditions(objectsAt(spec, 'matchConditions') as unknown as ConditionText[], seen);
    this.#validations = objectsAt(spec, 'validations').map((one) => {
      const messageExpression = textAt(one, 'messageExpression');
      return {
        expression: new StoredExpression(textAt(one, 'expression'), seen, [bool]),
        message: textAt(one, 'message').trim(),
        messageExpression:
          messageExpression === '' ? undefined : new StoredExpression(messageExpression, withoutRights, [string]),
        reason: textAt(one, 'reason') || 'Invalid',
      };
    });
    this.#annotations = objectsAt(spec, 'auditAnnotations').map((one) => ({
      key: textAt(one, 'key'),
      expression: new StoredExpression(textAt(one, 'valueExpression'), seen, [string, plainType('null')]),
    }));
  }

  async judge({ request, bareRequest, param, slices, timer }: Judged): Promise<Judgement> {
    const parts = {
      params: jsonValue(param as unknown as JsonObject | null),
      variables: this.#variables,
      slices,
      timer,
    };
    const { isMatch, error } = await this.#conditions.judge({ ...parts, request: bareRequest });
    if (error !== undefined)
      return this.failsOpen ? nothing : { decisions: [this.#failed(error, 'invalid_error', 0)], annotations: [] };
    if (!isMatch) return nothing;
    const decisions = await this.#decide({ ...parts, request });
    const annotations = await this.#annotate({ ...parts, request });
    return { decisions, annotations };
  }

  async #decide(parts: Omit<EvaluationParts, 'budget' | 'hasRights'>): Promise<Decision[]> {
    const budget = new CostBudget(LIMIT_POLICY_COST);
    const evaluation = new Evaluation({ ...parts, budget, hasRights: true });
    const messages = new Evaluation({ ...parts, budget, hasRights: false });
    const decisions: Decision[] = [];
    try {
      for (const { expression } of this.#validations) {
        const began = performance.now();
        const outcome = await evaluation.run(expression);
        const seconds = (performance.now() - began) / 1000;
        if (outcome.kind === 'error') decisions.push(this.#failed(outcome.why, errorTypeOf(outcome), seconds));
        else
          decisions.push({ isDenied: outcome.value !== true, message: '', reason: '', errorType: 'no_error', seconds });
      }
    } catch (err) {
      if (!(err instanceof OutOfBudgetError)) throw err;
      return [this.#failed(err.message, 'out_of_budget', 0)];
    }
    for (const [index, decision] of decisions.entries()) {
      if (!decision.isDenied || decision.errorType !== 'no_error') continue;
      decisions[index] = await this.#explained(decision, this.#validations[index]!, messages);
    }
    return decisions;
  }

  async #explained(decision: Decision, validation: Validation, messages: Evaluation): Promise<Decision> {
    const { expression, message, messageExpression, reason } = validation;
    const fallback = message || `failed expression: ${expression.text.trim()}`;
    if (!messageExpression) return { ...decision, reason, message: fallback };
    try {
      return { ...decision, reason, message: messageOf(await messages.run(messageExpression)) || fallback };
    } catch (err) {
      if (!(err instanceof OutOfBudgetError)) throw err;
      return this.#failed(`failed messageExpression: ${err.message}`, 'out_of_budget', decision.seconds);
    }
  }

  async #annotate(parts: Omit<EvaluationParts, 'budget' | 'hasRights'>): Promise<Annotation[]> {
    if (this.#annotations.length === 0) return [];
    const evaluation = new Evaluation({ ...parts, budget: new CostBudget(LIMIT_POLICY_COST), hasRights: false });
    const annotations: Annotation[] = [];
    const fail = (key: string, error: string, errorType: ErrorType) => {
      if (!this.failsOpen) annotations.push({ key, error, errorType });
    };
    for (const { key, expression } of this.#annotations) {
      try {
        const outcome = await evaluation.run(expression);
        if (outcome.kind === 'error') fail(key, outcome.why, errorTypeOf(outcome));
        else if (typeof outcome.value === 'string') {
          const value = cut(outcome.value.trim(), LIMIT_ANNOTATION_BYTES);
          if (value !== '') annotations.push({ key, value });
        } else if (outcome.value !== null)
          fail(key, unsupported(expression.text, kindOf(outcome.value)), 'invalid_error');
      } catch (err) {
        if (!(err instanceof OutOfBudgetError)) throw err;
        fail(key, err.message, 'out_of_budget');
        return annotations;
      }
    }
    return annotations;
  }

  /** What could not be worked out. */
  #failed(message: string, errorType: ErrorType, seconds: number): Decision {
    return { isDenied: !this.failsOpen, message, reason: 'Invalid', errorType, seconds };
  }
}

const nothing: Judgement = { decisions: [], annotations: [] };

function errorTypeOf(outcome: Extract<Outcome, { kind: 'error' }>): ErrorType {
  return outcome.isCompileError ? 'compile_error' : 'invalid_error';
}

/** One line, not too long; else none. */
function messageOf(outcome: Outcome): string {
  if (outcome.kind === 'error' || typeof outcome.value !== 'string') return '';
  const message = outcome.value.trim();
  return message.includes('\n') || Buffer.byteLength(message) > LIMIT_MESSAGE_BYTES ? '' : message;
}

function unsupported(expression: string, type: string): string {
  return `valueExpression '${expression}' resulted in unsupported return type: ${type}. Return type must be either string or null.`;
}

function cut(text: string, bytes: number): string {
  return text.length <= bytes / 4 ? text : Buffer.from(text).subarray(0, bytes).toString('utf8');
}
