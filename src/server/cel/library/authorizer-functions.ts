/**
 * `authorizer`: what whoever asks, or a service account, may do. A question is put together step by step and asked with
 * `check`, which is what costs.
 *
 * An answer that has to be waited for cannot be had in the middle of an expression: `Suspended` is thrown, which nothing
 * in the expression catches, and whoever runs it waits and runs it again.
 */
import { checkDnsLabel, checkDnsSubdomain } from '../../../api/index.ts';
import { CelError, Opaque } from '../values/values.ts';
import type { Functions } from './overloads.ts';

export type Question =
  | { readonly kind: 'path'; readonly path: string; readonly verb: string; readonly account: Account | undefined }
  | {
      readonly kind: 'resource';
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
      readonly verb: string;
      readonly account: Account | undefined;
    };

/** A service account that is asked about instead of who asks. */
export type Account = { readonly namespace: string; readonly name: string };

export type Answer = { readonly allowed: boolean; readonly reason?: string; readonly error?: string };

/** What `authorizer` stands for; throws `Suspended` where the answer is not there yet. */
export type Ask = (question: Question) => Answer;

export class Suspended {
  readonly until: Promise<unknown>;

  constructor(until: Promise<unknown>) {
    this.until = until;
  }
}

/** As much as a third of what one expression may cost. */
const CHECK_COST = 350_000;

abstract class Receiver extends Opaque {
  same(other: Opaque): boolean {
    return this === other;
  }
}

export class AuthorizerValue extends Receiver {
  readonly typeName = 'Authorizer';
  readonly ask: Ask;
  readonly account: Account | undefined;

  constructor(ask: Ask, account?: Account) {
    super();
    this.ask = ask;
    this.account = account;
  }
}

class PathCheck extends Receiver {
  readonly typeName = 'PathCheck';
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Receiver {
  readonly typeName = 'GroupCheck';
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

type Asked = {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
};

export class ResourceCheck extends Receiver {
  readonly typeName = 'ResourceCheck';
  readonly authorizer: AuthorizerValue;
  readonly asked: Asked;

  constructor(authorizer: AuthorizerValue, asked: Asked) {
    super();
    this.authorizer = authorizer;
    this.asked = asked;
  }

  with(more: Partial<Asked>): ResourceCheck {
    return new ResourceCheck(this.authorizer, { ...this.asked, ...more });
  }
}

class DecisionValue extends Receiver {
  readonly typeName = 'Decision';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super();
    this.answer = answer;
  }
}

export function declareAuthorizer(functions: Functions): void {
  functions
    .declare('Authorizer.path(string): PathCheck', 1, (it: AuthorizerValue, path: string) => {
      if (path.trim() === '') throw new CelError('path must not be empty');
      return new PathCheck(it, path);
    })
    .declare(
      'Authorizer.group(string): GroupCheck',
      1,
      (it: AuthorizerValue, group: string) => new GroupCheck(it, group),
    )
    .declare('Authorizer.serviceAccount(string, string): Authorizer', 1, asAccount)
    .declare('GroupCheck.resource(string): ResourceCheck', 1, ({ authorizer, group }: GroupCheck, resource: string) => {
      if (resource.trim() === '') throw new CelError('resource must not be empty');
      return new ResourceCheck(authorizer, { group, resource, subresource: '', namespace: '', name: '' });
    })
    .declare('ResourceCheck.subresource(string): ResourceCheck', 1, (it: ResourceCheck, subresource: string) =>
      it.with({ subresource }),
    )
    .declare('ResourceCheck.namespace(string): ResourceCheck', 1, (it: ResourceCheck, namespace: string) =>
      it.with({ namespace }),
    )
    .declare('ResourceCheck.name(string): ResourceCheck', 1, (it: ResourceCheck, name: string) => it.with({ name }))
    // No rule of this server is about selectors, so they change no answer.
    .declare('ResourceCheck.fieldSelector(string): ResourceCheck', 1, (it: ResourceCheck) => it)
    .declare('ResourceCheck.labelSelector(string): ResourceCheck', 1, (it: ResourceCheck) => it)
    .declare('PathCheck.check(string): Decision', CHECK_COST, ({ authorizer, path }: PathCheck, verb: string) =>
      decided(authorizer, { kind: 'path', path, verb, account: authorizer.account }),
    )
    .declare(
      'ResourceCheck.check(string): Decision',
      CHECK_COST,
      ({ authorizer, asked }: ResourceCheck, verb: string) =>
        decided(authorizer, { kind: 'resource', ...asked, verb, account: authorizer.account }),
    )
    .declare('Decision.allowed(): bool', 1, ({ answer }: DecisionValue) => answer.allowed)
    .declare('Decision.reason(): string', 1, ({ answer }: DecisionValue) => answer.reason ?? '')
    .declare('Decision.errored(): bool', 1, ({ answer }: DecisionValue) => answer.error !== undefined)
    .declare('Decision.error(): string', 1, ({ answer }: DecisionValue) => answer.error ?? '');
}

function asAccount({ ask }: AuthorizerValue, namespace: string, name: string): AuthorizerValue {
  if (checkDnsSubdomain(name).length > 0) throw new CelError('Invalid service account name');
  if (checkDnsLabel(namespace).length > 0) throw new CelError('Invalid service account namespace');
  return new AuthorizerValue(ask, { namespace, name });
}

function decided({ ask }: AuthorizerValue, question: Question): DecisionValue {
  return new DecisionValue(ask(question));
}
