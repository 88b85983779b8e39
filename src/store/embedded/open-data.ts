/**
 * From a directory to a store that can be trusted: made if it is not there, locked, looked through, read, and compared with
 * what was remembered of it.
 *
 *   data.mdb   the data                       SEAL     how far they had come, and that they were there (disk/seal-file.ts)
 *   LOCK       who has it open                RESERVE  room for bad times (disk/reserve-file.ts)
 *   HISTORY    whose revisions those are (disk/history-file.ts)
 *
 * A store is made under another name and renamed when it is whole, so whatever a power cut leaves behind is no store yet, and
 * is made anew. From then on a data file that is missing, empty or older than SEAL is Corrupt, never an empty store. What
 * fails leaves the directory unlocked and as it was.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type FileLock, lockFile } from '../../files/file-lock.ts';
import { isStoreError, StoreError } from '../errors.ts';
import type { StoreHistory } from '../kv.ts';
import { fileSystemError, makeDataDir, syncFoldersUpFrom } from './disk/data-dir.ts';
import { beginRun } from './disk/history-file.ts';
import { openLmdbEngine } from './disk/lmdb-engine.ts';
import { checkLmdbFile, readLmdbLog } from './disk/lmdb-file-check.ts';
import { type FoundSeal, readSealFile, SealFile } from './disk/seal-file.ts';
import type { LogEngine } from './engine/engine.ts';
import { isSameSeal } from './engine/seal.ts';
import { firstCommit, type ReadLog, type Recovered, recover } from './state/recovery.ts';

export type OpenData = {
  readonly engine: LogEngine;
  readonly recovered: Recovered;
  readonly sealFile: SealFile;
  readonly history: StoreHistory;
  readonly unlock: () => Promise<void>;
};

export type DataOptions = {
  readonly dataDir: string;
  readonly isDurable: boolean;
  readonly openEngine: ((file: string) => LogEngine) | undefined;
};

export function reservePathIn(dataDir: string): string {
  return join(dataDir, 'RESERVE');
}

export async function openData(options: DataOptions): Promise<OpenData> {
  const { dataDir, isDurable } = options;
  makeDataDir(dataDir);
  const { release: unlock } = await lock(dataDir);
  try {
    const sealPath = join(dataDir, 'SEAL');
    const file = join(dataDir, 'data.mdb');
    const remembered = readSealFile(sealPath);
    if (!hasData(file, remembered)) await makeData(file, options);
    const engine = await openChecked(file, options);
    try {
      const readLog: ReadLog | undefined = options.openEngine ? undefined : (see) => readLmdbLog(file, see);
      const recovered = await recover(engine, file, readLog);
      mustNotBeOlder(file, recovered, remembered);
      const sealFile = await SealFile.start(sealPath, isDurable, recovered.seal, remembered);
      const history = beginRun(join(dataDir, 'HISTORY'), recovered.seal.store, recovered.revision, isDurable);
      return { engine, recovered, sealFile, history, unlock };
    } catch (err) {
      await engine.close();
      throw err;
    }
  } catch (err) {
    await unlock();
    throw err;
  }
}

/** One owner per directory. Where the disk is full, the reserve is there for this too. */
async function lock(dataDir: string): Promise<FileLock> {
  const refuse = (why: string) => new StoreError('Locked', `Cannot open ${JSON.stringify(dataDir)}: ${why}`);
  const take = () => lockFile(join(dataDir, 'LOCK'), { refuse });
  try {
    return await take();
  } catch (err) {
    const error = fileSystemError(err, dataDir);
    if (!isStoreError(error, 'NoSpace') || !existsSync(reservePathIn(dataDir))) throw error;
    rmSync(reservePathIn(dataDir), { force: true });
    try {
      return await take();
    } catch (again) {
      throw fileSystemError(again, dataDir);
    }
  }
}

function hasData(file: string, remembered: FoundSeal | undefined): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  const isThere = size !== undefined && size > 0 && !isBlank(file, size);
  if (isThere || !remembered) return isThere;
  const what = size === undefined ? 'is missing' : size === 0 ? 'is empty' : 'holds nothing but zeros';
  throw new StoreError(
    'Corrupt',
    `Cannot open ${JSON.stringify(file)}: it ${what}, and held revision ${remembered.seal.revision} before; ` +
      'restore a snapshot to a new directory (or, to begin anew without these data, use an empty one)',
  );
}

/** What earlier versions could leave behind when the power was cut while they made a store. */
function isBlank(file: string, size: number): boolean {
  const MOST_BYTES = 1024 * 1024;
  return size <= MOST_BYTES && readFileSync(file).every((byte) => byte === 0);
}

async function makeData(file: string, options: DataOptions): Promise<void> {
  const draft = `${file}.new`;
  const removeDraft = () => {
    for (const one of [draft, `${draft}-lock`]) rmSync(one, { force: true });
  };
  try {
    removeDraft();
    const engine = openEngine(draft, options);
    await engine.commit(firstCommit()).finally(() => engine.close());
    renameSync(draft, file);
    removeDraft();
    if (options.isDurable) syncFoldersUpFrom(options.dataDir);
  } catch (err) {
    removeDraft();
    throw fileSystemError(err, file);
  }
}

async function openChecked(file: string, options: DataOptions): Promise<LogEngine> {
  try {
    if (!options.openEngine) await checkLmdbFile(file);
    return openEngine(file, options);
  } catch (err) {
    throw fileSystemError(err, file);
  }
}

function openEngine(file: string, { openEngine: openOther, isDurable }: DataOptions): LogEngine {
  return openOther ? openOther(file) : openLmdbEngine({ file, isDurable });
}

/** SEAL may be behind, never ahead; and it is of the same store. */
function mustNotBeOlder(file: string, { seal }: Recovered, remembered: FoundSeal | undefined): void {
  if (!remembered || isSameSeal(seal, remembered.seal)) return;
  const before = remembered.seal;
  const isOther = seal.store !== before.store;
  if (!isOther && seal.commit > before.commit) return;
  const what = isOther
    ? 'it is the file of another store'
    : `it is at commit ${seal.commit}, revision ${seal.revision}, and had come to commit ${before.commit}, revision ${before.revision}`;
  throw new StoreError(
    'Corrupt',
    `Cannot open ${JSON.stringify(file)}: ${what}; restore a snapshot to a new directory (or, if you put this file there ` +
      'yourself and accept what it lacks, remove the file SEAL beside it)',
  );
}
