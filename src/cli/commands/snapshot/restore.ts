/** A data folder from a snapshot: a new one, as `longwatch serve --data-dir` takes it. The snapshot is checked first. */
import { join } from 'node:path';
import { isStoreError, restoreEmbeddedStore } from '../../../store/index.ts';
import { Progress } from '../../terminal/progress.ts';
import { type Verb, VerbError } from '../../terminal/run-verb.ts';
import { showBytes } from '../../terminal/table.ts';

export type RestoreFlags = { readonly dataDir: string; readonly bumpRevision: number; readonly output?: 'json' };

export function restore(file: string, { dataDir, bumpRevision, output }: RestoreFlags): Verb {
  return async (io) => {
    using progress = new Progress(io, 'restoring');
    const began = performance.now();
    const tick = setInterval(
      () => progress.show(undefined, `${Math.round((performance.now() - began) / 1000)} s`),
      200,
    );
    try {
      const info = await restoreEmbeddedStore(file, join(dataDir, 'store'), { bumpRevisionBy: bumpRevision });
      progress[Symbol.dispose]();
      if (output === 'json') return io.print(JSON.stringify({ dataDir, ...info }));
      io.print(`restored ${dataDir}: ${showBytes(info.bytes)}, goes on after revision ${info.revision}`);
      io.note(`Next: longwatch serve --data-dir ${dataDir}`);
    } catch (err) {
      if (!isStoreError(err)) throw err;
      const next = isStoreError(err, 'Corrupt')
        ? 'Nothing was made. Take another snapshot: `longwatch snapshot status FILE` says which are whole.'
        : isStoreError(err, 'InvalidArgument')
          ? 'Name a snapshot that is there, and with --data-dir a folder that is new or empty.'
          : undefined;
      throw new VerbError(err.message, next, { cause: err });
    } finally {
      clearInterval(tick);
    }
  };
}
