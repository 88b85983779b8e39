/** The real engine with somebody between it and the store: who may look at a commit, hold it up, or make it fail. */

import { openLmdbEngine } from '../../../src/store/embedded/disk/lmdb-engine.ts';
import type { EngineCommit, LogEngine } from '../../../src/store/embedded/engine/engine.ts';

/** Stands in for a commit; `commit` does what was asked for. `count` is 1 for the first one. */
export type CommitHook = (asked: EngineCommit, commit: () => Promise<void>, count: number) => Promise<void>;

export function watchedEngine(hook: CommitHook): (file: string) => LogEngine {
  return (file) => {
    const engine = openLmdbEngine({ file, isDurable: false });
    let count = 0;
    const commit: LogEngine['commit'] = (asked) => hook(asked, () => engine.commit(asked), ++count);
    return new Proxy(engine, {
      get: (target, name) => {
        if (name === 'commit') return commit;
        const member = Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  };
}
