/**
 * SEAL: a copy of the last seal in a file of its own, beside the data.
 *
 * It says two things that the data file cannot say of itself. That there is a store: where SEAL is, a data file that is
 * missing or empty is a loss, not a beginning. And how far it had come: a data file whose newest header page went back to
 * what it was one commit before is whole, and only older than SEAL tells.
 *
 *   two places of 512 bytes, written in turn, each a seal with its checksum: a torn write leaves the other one
 *
 * Always true: it is never ahead of the data on the disk. It may be behind, by what was committed since it was last written
 * (it is written now and then, off the way of commits, and when the store closes).
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PRIVATE_FILE } from '../../../files/private-files.ts';
import { StoreError } from '../../errors.ts';
import { decodeSeal, encodeSeal, SEAL_BYTES, type Seal } from '../engine/seal.ts';
import { fileSystemError, syncFile, syncFolder } from './data-dir.ts';

const SLOT_BYTES = 512;
const SLOTS = 2;

export type FoundSeal = { readonly seal: Seal; readonly slot: number };

/** The newest seal that was remembered; undefined where there never was a store, as far as this file tells. */
export function readSealFile(file: string): FoundSeal | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fileSystemError(err, file);
  }
  if (bytes.every((byte) => byte === 0)) return undefined;
  let newest: FoundSeal | undefined;
  for (let slot = 0; slot < SLOTS; slot++) {
    const seal = decodeSeal(bytes.subarray(slot * SLOT_BYTES, slot * SLOT_BYTES + SEAL_BYTES));
    if (seal && (newest === undefined || seal.commit > newest.seal.commit)) newest = { seal, slot };
  }
  if (newest) return newest;
  throw new StoreError(
    'Corrupt',
    `Cannot open ${JSON.stringify(dirname(file))}: ${JSON.stringify(file)} is damaged; it only guards data.mdb: look ` +
      `after the disk, and if data.mdb is known to be the last one, remove this file and open the store again`,
  );
}

export class SealFile {
  readonly #handle: FileHandle;
  readonly #isDurable: boolean;
  #found: FoundSeal;
  #writing: Promise<void> | undefined;

  private constructor(handle: FileHandle, isDurable: boolean, found: FoundSeal) {
    this.#handle = handle;
    this.#isDurable = isDurable;
    this.#found = found;
  }

  /** Remembers `seal` from now on. What was found in the file before stays until there is something newer. */
  static async start(file: string, isDurable: boolean, seal: Seal, found: FoundSeal | undefined): Promise<SealFile> {
    if (!found) writeSealFile(file, isDurable, seal);
    const handle = await open(file, 'r+').catch((err: unknown) => {
      throw fileSystemError(err, file);
    });
    return new SealFile(handle, isDurable, found ?? { seal, slot: 0 });
  }

  /** Writes what it has not written yet, one at a time. */
  async remember(seal: Seal): Promise<void> {
    await this.#writing;
    if (seal.commit <= this.#found.seal.commit) return;
    this.#writing = this.#write(seal).finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #write(seal: Seal): Promise<void> {
    const slot = (this.#found.slot + 1) % SLOTS;
    await this.#handle.write(encodeSeal(seal), 0, SEAL_BYTES, slot * SLOT_BYTES);
    if (this.#isDurable) await this.#handle.datasync();
    this.#found = { seal, slot };
  }
}

/** Made whole under another name first. */
export function writeSealFile(file: string, isDurable: boolean, seal: Seal): void {
  const draft = `${file}.new`;
  try {
    const bytes = Buffer.alloc(SLOT_BYTES * SLOTS);
    encodeSeal(seal).copy(bytes);
    rmSync(draft, { force: true });
    writeFileSync(draft, bytes, { mode: PRIVATE_FILE });
    if (isDurable) syncFile(draft);
    renameSync(draft, file);
    if (isDurable) syncFolder(dirname(file));
  } catch (err) {
    throw fileSystemError(err, file);
  }
}
