/** Objects of the server itself: made where they are missing, and otherwise left as they are but for some fields. */
import type { KubeObject } from '../../api/index.ts';
import type { Rest } from '../rest/rest.ts';
import { atHand, createAsServer } from '../rest/writing/create-as-server.ts';
import { sameValue } from '../strategy/validation/fields.ts';

/** `kept`: fields that are set again where they differ. */
export async function ensureObject(
  rest: Rest,
  group: string,
  plural: string,
  wanted: KubeObject,
  kept: readonly string[] = [],
): Promise<void> {
  const storage = rest.storages.storageOf(group, plural);
  const found = await atHand(storage, wanted.metadata);
  if (!found) return createAsServer(rest, storage, wanted);
  const stored = storage.toObject(found);
  if (kept.every((field) => sameValue(stored[field], wanted[field]))) return;
  const next: KubeObject = { ...stored };
  for (const field of kept) next[field] = wanted[field]!;
  await storage.update(found, next); // lost to another server: it is as good
}
