/**
 * The same controllers over many clusters that come and go while the process runs: a manager for each.
 *
 *     await using clusters = new ClusterSet({
 *       setUp(manager, cluster) {
 *         manager.add(web); // its reconciles have `context.cluster`
 *         return observe(registry, { client: manager.client, manager, cluster });
 *       },
 *     });
 *     clusters.add('east', await connect({ context: 'east' }));
 *     await clusters.remove('east'); // and then its client can be closed
 *
 * What is always true: clusters share no queue, no informer, no election and no failure. One that is out of reach waits
 * for itself alone; one whose manager fails is stopped, reported to `onFailure` once, and stays in the set, with that
 * in its `health`, until somebody removes it. Clients stay their owners'.
 */
import { closeOnce, tellSafely } from '../../api/index.ts';
import type { KubeClient } from '../../client/index.ts';
import { Manager } from './manager.ts';
import type { ManagerHealth, ManagerOptions } from './manager-options.ts';

export type ClusterSetOptions = Omit<ManagerOptions, 'client' | 'cluster'> & {
  /** Adds the controllers to each new manager, before it starts. What it returns is disposed when the cluster goes. */
  readonly setUp: (manager: Manager, cluster: string) => Disposable | undefined;
  /** A manager has failed, by a bug or a client that was closed: it has stopped, and the others have not. */
  readonly onFailure?: ((cluster: string, error: unknown) => void) | undefined;
};

type Member = { readonly manager: Manager; readonly leave: () => Promise<void> };

export class ClusterSet implements AsyncDisposable {
  readonly #options: ClusterSetOptions;
  readonly #members = new Map<string, Member>();
  readonly #close: () => Promise<void>;
  #isClosed = false;

  constructor(options: ClusterSetOptions) {
    this.#options = options;
    this.#close = closeOnce(async () => {
      this.#isClosed = true;
      const ends = await Promise.allSettled([...this.#members.values()].map(({ leave }) => leave()));
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    });
  }

  /** By name; those that have failed, and those that are on their way out, are still there. */
  get managers(): ReadonlyMap<string, Manager> {
    return new Map([...this.#members].map(([name, { manager }]) => [name, manager]));
  }

  /** Of each by itself: whether one cluster that is out of reach makes the process unready is its owner's to say. */
  health(): ReadonlyMap<string, ManagerHealth> {
    return new Map([...this.#members].map(([name, { manager }]) => [name, manager.health()]));
  }

  /** Starts it, and does not wait for it. */
  add(name: string, client: KubeClient): Manager {
    if (this.#isClosed) throw new Error(`Cannot add cluster "${name}": the set is closed`);
    if (this.#members.has(name)) throw new Error(`Cannot add cluster "${name}": there is one of that name`);
    const { setUp, onFailure = warn, ...options } = this.#options;
    const manager = new Manager({ ...options, client, cluster: name });
    let held: Disposable | undefined;
    try {
      held = setUp(manager, name);
      manager.start();
    } catch (error) {
      held?.[Symbol.dispose]();
      manager.stop().catch((another: unknown) => warn(name, another));
      throw error;
    }
    const leave = closeOnce(async () => {
      try {
        await manager.stop();
      } finally {
        this.#members.delete(name);
        held?.[Symbol.dispose]();
      }
    });
    this.#members.set(name, { manager, leave });
    manager.run().catch((error: unknown) =>
      tellSafely(
        () => onFailure(name, error),
        (another) => warn(name, another),
      ),
    );
    return manager;
  }

  /** Resolves when nothing of it runs any more; false if there is none of that name. */
  async remove(name: string): Promise<boolean> {
    const member = this.#members.get(name);
    await member?.leave();
    return member !== undefined;
  }

  /** Removes all of them; one that cannot be stopped in good order holds up no other. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

function warn(cluster: string, cause: unknown): void {
  const why = cause instanceof Error ? cause.message : String(cause);
  const warning = new Error(`Cannot go on with cluster "${cluster}": ${why}`, { cause });
  process.emitWarning(Object.assign(warning, { name: 'ManagerWarning' }));
}
