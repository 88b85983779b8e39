/**
 * What `authorizer` answers in the expressions of one request: each question is asked once. Where the authoriser has to
 * be waited for, the expression is suspended; run again, it finds the answer.
 */
import type { Attributes, Authorizer, Decision } from '../../auth/authorizer.ts';
import { serviceAccountGroups, serviceAccountUser } from '../../auth/service-account-name.ts';
import { type Answer, type Question, Suspended } from '../../cel/library/authorizer-functions.ts';
import type { UserInfo } from '../../request/user-info.ts';

export class KnownRights {
  readonly #authorizer: Authorizer;
  readonly #user: UserInfo;
  readonly #answers = new Map<string, Answer>();

  constructor(authorizer: Authorizer, user: UserInfo) {
    this.#authorizer = authorizer;
    this.#user = user;
  }

  ask(question: Question): Answer {
    const key = JSON.stringify(question);
    const known = this.#answers.get(key);
    if (known) return known;
    const keep = ({ allowed, reason }: Decision) => {
      const answer = { allowed, ...(reason !== undefined && { reason }) };
      this.#answers.set(key, answer);
      return answer;
    };
    const decision = this.#authorizer.authorize(userOf(question, this.#user), attributesOf(question));
    if (!(decision instanceof Promise)) return keep(decision);
    throw new Suspended(
      decision.then(keep, (err: unknown) => {
        this.#answers.set(key, { allowed: false, error: (err as Error).message });
      }),
    );
  }
}

function userOf({ account }: Question, user: UserInfo): UserInfo {
  if (!account) return user;
  const { namespace, name } = account;
  return { username: serviceAccountUser(namespace, name), groups: serviceAccountGroups(namespace) };
}

function attributesOf(question: Question): Attributes {
  if (question.kind === 'path') return { kind: 'path', verb: question.verb, path: question.path };
  const { verb, group, resource, subresource, namespace, name } = question;
  return { kind: 'resource', verb, group, version: '*', resource, subresource, namespace, name };
}
