/** A folder of a test's own that goes with it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type TemporaryDir = AsyncDisposable & { readonly path: string };

export async function temporaryDir(): Promise<TemporaryDir> {
  const path = await mkdtemp(join(tmpdir(), 'longwatch-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
