/**
 * Commits with their seal (seal.ts), and what becomes of them when the disk is full.
 *
 *   commit → engine → done
 *                   → full → the engine is opened again, its seal tells that nothing happened → once more with the reserve
 *                                                                                            → NoSpace: as if never asked
 *
 * Always true: `seal` and `leases` are what is on the disk. NoSpace means that nothing of the commit is there, and that the
 * next one may be tried; any other error means that nobody knows, and the store must be opened again.
 */
import { StoreError } from '../../errors.ts';
import type { LeaseId } from '../../kv.ts';
import { DiskFullError, type EngineCommit, type LogEngine } from './engine.ts';
import { decodeSeal, encodeSeal, isSameSeal, type Seal, sealAfter } from './seal.ts';

export type SealedEngineOptions = {
  readonly engine: LogEngine;
  readonly seal: Seal;
  readonly leases: ReadonlyMap<LeaseId, number>;
  /** Closes and opens the engine, with readers kept away. */
  readonly reopen: () => Promise<void>;
  /** Told each time the disk had no room; true if there is some now. */
  readonly makeRoom: () => boolean;
};

export class SealedEngine {
  readonly #options: SealedEngineOptions;
  readonly #leases: Map<LeaseId, number>;
  #seal: Seal;

  constructor(options: SealedEngineOptions) {
    this.#options = options;
    this.#leases = new Map(options.leases);
    this.#seal = options.seal;
  }

  get seal(): Seal {
    return this.#seal;
  }

  get leases(): ReadonlyMap<LeaseId, number> {
    return this.#leases;
  }

  async commit(asked: EngineCommit): Promise<void> {
    const next = sealAfter(this.#seal, asked, this.#leases);
    const commit = { seal: encodeSeal(next), ...asked };
    while (!(await this.#try(commit)))
      if (!this.#options.makeRoom())
        throw new StoreError('NoSpace', 'Cannot write: the disk is full, and nothing was written; make room on it');
    this.#seal = next;
    for (const [id, ttl] of asked.leases)
      if (ttl === undefined) this.#leases.delete(id);
      else this.#leases.set(id, ttl);
  }

  /** False: there was no room, and the disk is as it was before. */
  async #try(commit: EngineCommit): Promise<boolean> {
    const { engine, reopen } = this.#options;
    try {
      await engine.commit(commit);
      return true;
    } catch (err) {
      if (!(err instanceof DiskFullError)) throw err;
      await reopen();
      const found = decodeSeal(engine.seal());
      if (found && isSameSeal(found, this.#seal)) return false;
      throw err; // it may be there, but was not flushed
    }
  }
}
