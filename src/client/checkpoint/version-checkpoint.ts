/**
 * One version on disk, for a watch without an informer: how far its reader had come.
 *
 *     await using checkpoint = versionCheckpoint('pods.version');
 *     for await (const event of watchFrom(client, pods, checkpoint, { allNamespaces: true })) await handle(event);
 *
 * What is always true: the file holds a version that was saved, whole, or there is none. It is written at most every
 * `everyMs`, the newest version each time, beside the old one and then put in its place. So after a crash some events
 * come again and none is left out: at least once. A file that cannot be read is reported, and counts as none. It has no
 * lock: two processes that share one overwrite each other.
 */
import { open, readFile, rename, rm } from 'node:fs/promises';
import { type Clock, closeOnce, systemClock, tellSafely } from '../../api/index.ts';
import { CheckpointError } from './checkpoint-error.ts';

export type VersionCheckpointOptions = {
  /** 1000 */
  readonly everyMs?: number | undefined;
  /** What the version is of, such as `pods of cluster a`: a file of something else counts as none. */
  readonly of?: string | undefined;
  readonly clock?: Clock | undefined;
  /** What goes wrong with the disk; without it, it is a process warning. */
  readonly onError?: ((error: CheckpointError) => void) | undefined;
};

export type VersionCheckpoint = AsyncDisposable & {
  /** Undefined if there is none that can be used: begin with the whole state. */
  load(): Promise<string | undefined>;
  /** Everything up to this version is handled. Does not wait. */
  save(resourceVersion: string): void;
  /** Forgets, such as after `Expired`: the next `load` finds nothing. */
  clear(): Promise<void>;
  /** Resolves when the last version that was saved is written, or could not be. */
  flush(): Promise<void>;
};

type Saved = { readonly version: string; readonly of: string };

export function versionCheckpoint(file: string, options: VersionCheckpointOptions = {}): VersionCheckpoint {
  const { everyMs = 1000, of = '', clock = systemClock, onError = (error) => process.emitWarning(error) } = options;
  const stop = new AbortController();
  let wanted: string | undefined;
  let written: string | undefined;
  let writing: Promise<void> | undefined;
  let resting: Promise<void> | undefined;
  const report = (error: CheckpointError) =>
    tellSafely(
      () => onError(error),
      (thrown) => process.emitWarning(thrown as Error),
    );
  const fail = (what: string, cause: unknown) =>
    report(
      new CheckpointError('Disk', `Cannot ${what} checkpoint ${JSON.stringify(file)}: ${(cause as Error).message}`, {
        cause,
      }),
    );

  const write = async () => {
    const version = wanted;
    if (version === undefined || version === written) return;
    try {
      await replaceFile(file, await textOf({ version, of }));
      written = version;
    } catch (error) {
      fail('write', error);
    }
  };
  /** One write at a time. */
  const writeNext = async () => {
    while (writing !== undefined) await writing;
    writing = write().finally(() => {
      writing = undefined;
    });
    await writing;
  };
  const close = closeOnce(async () => {
    stop.abort();
    await resting;
    await writeNext();
  });

  return {
    async load() {
      let text: string;
      try {
        text = await readFile(file, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') fail('read', error);
        return undefined;
      }
      const saved = await savedIn(text);
      if (saved?.of === of) return saved.version;
      const why = saved ? `it is of ${JSON.stringify(saved.of)}, and not ${JSON.stringify(of)}` : 'it is damaged';
      report(new CheckpointError('Unusable', `Cannot use checkpoint ${JSON.stringify(file)}: ${why}`));
      return undefined;
    },
    save(resourceVersion) {
      wanted = resourceVersion;
      resting ??= clock
        .sleep(everyMs, stop.signal)
        .then(writeNext, () => {}) // closing writes it
        .finally(() => {
          resting = undefined;
        });
    },
    async clear() {
      wanted = undefined;
      while (writing !== undefined) await writing;
      written = undefined;
      await rm(file, { force: true });
    },
    flush: writeNext,
    [Symbol.asyncDispose]: close,
  };
}

async function textOf(saved: Saved): Promise<string> {
  const record = JSON.stringify(saved);
  return `${await checksumOf(record)} ${record}\n`;
}

async function savedIn(text: string): Promise<Saved | undefined> {
  const record = text.slice(9, -1);
  if (text !== `${await checksumOf(record)} ${record}\n`) return undefined;
  return JSON.parse(record) as Saved;
}

/** Loaded when it is needed: most clients never come here, and their import is to be cheap. */
async function checksumOf(record: string): Promise<string> {
  const { crc32 } = await import('node:zlib');
  return crc32(record).toString(16).padStart(8, '0');
}

async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.new`;
  const handle = await open(draft, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync(); // or a machine that loses power may keep the new name and none of its bytes
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}
