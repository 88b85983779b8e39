/** What every handler of the resource API works with. */
import type { JsonObject } from '../../api/index.ts';
import type { Authenticate } from '../auth/authenticator.ts';
import type { Authorizer } from '../auth/authorizer.ts';
import type { Exchange, UserInfo } from '../http/exchange.ts';
import type { RuleContext } from '../kinds/kind-rules.ts';
import { ObjectWrites } from './object-writes.ts';
import { readState } from './read.ts';
import type { Resources } from './resources.ts';
import type { WatchKeeper } from './watch.ts';

export type RestParts = {
  readonly resources: Resources;
  readonly keeper: WatchKeeper;
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
};

export class Rest {
  readonly resources: Resources;
  readonly keeper: WatchKeeper;
  readonly authenticate: Authenticate;
  readonly authorizer: Authorizer;
  readonly writes: ObjectWrites = new ObjectWrites();

  constructor({ resources, keeper, authenticate, authorizer }: RestParts) {
    this.resources = resources;
    this.keeper = keeper;
    this.authenticate = authenticate;
    this.authorizer = authorizer;
  }

  /** What a user may do, as far as it can be listed. */
  rulesFor({ groups }: UserInfo): JsonObject {
    const all = groups.includes('system:masters');
    return {
      resourceRules: all ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] : [],
      nonResourceRules: all ? [{ verbs: ['*'], nonResourceURLs: ['*'] }] : [],
      incomplete: false,
    };
  }

  ruleContext(exchange: Exchange, subresource: string): RuleContext {
    return {
      now: nowInSeconds(),
      subresource,
      warn: (text) => exchange.warn(text),
      list: async (group, plural, namespace) => {
        const view = this.resources.viewOf(group, plural);
        const scope = namespace ? `${namespace}/` : '';
        const { objects } = await readState(view.cache, scope, scope, '', exchange.signal);
        return objects.map((cached) => view.toObject(cached));
      },
    };
  }
}

/** RFC 3339 in whole seconds, as all times of the API are. */
export function nowInSeconds(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
