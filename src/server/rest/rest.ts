/** What every handler of the resource API works with. */
import type { Exchange } from '../http/exchange.ts';
import type { RuleContext } from '../kinds/kind-rules.ts';
import { ObjectWrites } from './object-writes.ts';
import type { Resources } from './resources.ts';
import type { WatchKeeper } from './watch.ts';

export class Rest {
  readonly resources: Resources;
  readonly keeper: WatchKeeper;
  readonly writes = new ObjectWrites();

  constructor(resources: Resources, keeper: WatchKeeper) {
    this.resources = resources;
    this.keeper = keeper;
  }

  ruleContext(exchange: Exchange, subresource: string): RuleContext {
    return {
      now: nowInSeconds(),
      subresource,
      warn: (text) => exchange.warn(text),
      list: async (group, plural, namespace) => {
        const view = this.resources.viewOf(group, plural);
        await view.cache.waitForNow(3000, exchange.signal);
        return view.cache.objects.values(namespace ? `${namespace}/` : '').map((cached) => view.toObject(cached));
      },
    };
  }
}

/** RFC 3339 in whole seconds, as all times of the API are. */
export function nowInSeconds(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
