/** What is in the file of a checkpoint, read as the next process would. */
import { CheckpointFile } from '../../../src/client/checkpoint/checkpoint-file.ts';
import type { SavedState } from '../../../src/client/checkpoint/checkpoint-format.ts';
import type { AnyObject } from '../../../src/client/index.ts';
import type { ConfigMap } from '../../../src/client/objects/generated/core-v1.ts';
import { until } from './client-under-test.ts';

export function savedIn<T extends AnyObject = ConfigMap>(file: string): Promise<SavedState<T> | undefined> {
  return new CheckpointFile(file).read<T>();
}

/** Waits until the file has everything up to this version. */
export async function untilSaved(file: string, version: string, scope = '*'): Promise<void> {
  await until(async () => BigInt((await savedIn(file))?.versions[scope] ?? '0') >= BigInt(version));
}
