/**
 * Looks after the files of a store while it is open: whether the data file is still in its place, the seal in its own file,
 * the reserve for a full disk, pages that nobody reads.
 *
 * Always true: nothing here changes what is stored. A seal that cannot be written is a problem that `status` tells; a data
 * file that is gone ends the store.
 */
import type { Clock } from '../../api/index.ts';
import { StoreError } from '../errors.ts';
import { every } from './chores.ts';
import { RESERVE_BYTES, type ReserveFile } from './disk/reserve-file.ts';
import type { SealFile } from './disk/seal-file.ts';
import type { LogEngine } from './engine/engine.ts';
import type { PageRelease } from './engine/page-release.ts';
import type { SealedEngine } from './engine/sealed-engine.ts';
import type { Quota } from './quota.ts';
import type { WritePipeline } from './write-pipeline.ts';

const TICK_MS = 500;
/** A store that lives shorter makes no reserve. */
const RESERVE_TICK_MS = 10_000;
/** Puts are refused while the disk has less than this. */
export const FREE_BYTES: number = 64 * 1024 * 1024;

export type FileUpkeepParts = {
  readonly engine: LogEngine;
  readonly sealed: SealedEngine;
  readonly sealFile: SealFile;
  /** None where nothing is flushed either. */
  readonly reserve: ReserveFile | undefined;
  readonly pages: PageRelease;
  readonly quota: Quota;
  readonly pipeline: WritePipeline;
  /** Ends the store. */
  readonly onFailure: (error: StoreError) => void;
};

export class FileUpkeep {
  readonly #parts: FileUpkeepParts;
  #sealProblem: string | undefined;

  constructor(parts: FileUpkeepParts) {
    this.#parts = parts;
  }

  /** A sentence for whoever asks how the store is. */
  get problem(): string | undefined {
    return this.#sealProblem;
  }

  /** Others have filled the disk. Once there is a reserve to give back, and then none. */
  makeRoom(): boolean {
    const hasMore = this.#parts.reserve?.giveBack() ?? false;
    this.#parts.quota.refused();
    return hasMore;
  }

  async rememberSeal(): Promise<void> {
    try {
      await this.#parts.sealFile.remember(this.#parts.sealed.seal);
      this.#sealProblem = undefined;
    } catch (err) {
      this.#sealProblem = `The file SEAL cannot be written: ${(err as Error).message}`;
    }
  }

  /** The chores, each until the signal fires. */
  run(clock: Clock, signal: AbortSignal): Promise<void>[] {
    return [
      every(TICK_MS, clock, signal, () => this.#lookAfterFile()),
      every(TICK_MS, clock, signal, () => this.rememberSeal()),
      every(RESERVE_TICK_MS, clock, signal, () => this.#makeReserve()),
    ];
  }

  async #lookAfterFile(): Promise<void> {
    const { engine, pipeline, pages, onFailure } = this.#parts;
    if (engine.isInPlace?.() === false) {
      const error = new StoreError('Closed', 'Cannot go on: the data file was removed or replaced under the store');
      pipeline.fail(error);
      onFailure(error);
      return;
    }
    pipeline.wake(); // what a full disk refused to remove
    await pages.tick();
  }

  async #makeReserve(): Promise<void> {
    const { reserve, quota } = this.#parts;
    if (!reserve || reserve.isHeld) return;
    quota.refresh();
    if (quota.freeBytes > FREE_BYTES + 2 * RESERVE_BYTES) await reserve.make();
  }
}
