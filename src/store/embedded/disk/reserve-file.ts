/**
 * RESERVE: room that is really taken on the disk, to be given back when others have filled it. Deletes and compaction need
 * room too, since lmdb writes anew what it changes: with this a full store can still be emptied.
 *
 * It holds noise, since a file system may keep zeros without room. Given back means removed: on a disk that others go on
 * filling it may be gone before it is of use, and then writes are refused until there is room. It is made again, in the
 * background, once the disk has plenty.
 */
import { randomFillSync } from 'node:crypto';
import { rmSync, statSync, truncateSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { PRIVATE_FILE } from '../../../files/private-files.ts';

export const RESERVE_BYTES: number = 16 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

export class ReserveFile {
  readonly #file: string;
  #isHeld: boolean;
  #isWanted = true;
  /** How often it was given back: what is being made then is not kept. */
  #givenBack = 0;

  constructor(file: string) {
    this.#file = file;
    this.#isHeld = statSync(file, { throwIfNoEntry: false })?.size === RESERVE_BYTES;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** True if there is room now that was not there before. */
  giveBack(): boolean {
    const { size = 0 } = statSync(this.#file, { throwIfNoEntry: false }) ?? {};
    this.#isHeld = false;
    this.#givenBack++;
    this.#remove();
    return size > 0;
  }

  /** Makes it if it is not there; what fails is tried again another time. */
  async make(): Promise<void> {
    if (this.#isHeld || !this.#isWanted) return;
    const before = this.#givenBack;
    const isWanted = () => this.#isWanted && this.#givenBack === before;
    try {
      const handle = await open(this.#file, 'w', PRIVATE_FILE);
      try {
        const noise = randomFillSync(Buffer.allocUnsafe(CHUNK_BYTES));
        for (let at = 0; at < RESERVE_BYTES && isWanted(); at += CHUNK_BYTES) await handle.writeFile(noise);
        await handle.sync();
      } finally {
        await handle.close();
      }
      this.#isHeld = isWanted();
    } catch {
      this.#remove();
    }
  }

  /** Stops making it; what is there stays for the next time. */
  close(): void {
    this.#isWanted = false;
  }

  #remove(): void {
    try {
      // While it is being made it is open, and its room would be taken until it is closed.
      truncateSync(this.#file);
    } catch {
      // it is not there
    }
    try {
      rmSync(this.#file, { force: true });
    } catch {
      // a disk that refuses even this has worse trouble, which the next commit tells
    }
  }
}
