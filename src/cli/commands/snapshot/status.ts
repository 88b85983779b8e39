/** What is in a snapshot: its sum is checked, every record is read, nothing is made. */
import { openSnapshotFile } from '../../../store/embedded/snapshot/snapshot-reader.ts';
import { isStoreError } from '../../../store/index.ts';
import { Progress } from '../../terminal/progress.ts';
import { type Verb, VerbError } from '../../terminal/run-verb.ts';
import { showBytes, tableLines } from '../../terminal/table.ts';

export function status(file: string, { output }: { readonly output?: 'json' }): Verb {
  return async (io) => {
    using progress = new Progress(io, 'reading');
    await using snapshot = await openSnapshotFile(file).catch((err: unknown) => {
      const { code, message } = err as NodeJS.ErrnoException;
      if (isStoreError(err)) throw new VerbError(message, 'It cannot be restored: take another one.', { cause: err });
      if (code === 'ENOENT') throw new VerbError(`Cannot read ${JSON.stringify(file)}: there is none`);
      throw err;
    });
    const { header, bytes, sha256 } = snapshot;
    let records = 0;
    for await (const some of snapshot.records()) {
      io.signal.throwIfAborted();
      records += some.length;
      progress.show(undefined, `${records} records`);
    }
    progress[Symbol.dispose]();
    const { revision, compactRevision, leases } = header;
    const found = { file, revision, compactRevision, records, leases: leases.length, bytes: bytes + 32, sha256 };
    if (output === 'json') return io.print(JSON.stringify(found));
    const rows = [
      ['revision', String(revision)],
      ['history from', String(compactRevision)],
      ['records', String(records)],
      ['leases', String(leases.length)],
      ['size', showBytes(bytes + 32)],
      ['sha256', sha256],
    ];
    for (const line of tableLines(rows)) io.print(line);
  };
}
