/**
 * Objects that the server makes by itself, for nobody's request: prepared and checked as any other, and then stored. What
 * another server on the same store has made meanwhile is as good.
 */
import { isStatusError, type KubeObject } from '../../../api/index.ts';
import { CreateRight } from '../../auth/create-right.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorage } from '../../storage/resource-storage.ts';
import type { Rest } from '../rest.ts';
import { prepareCreate } from './prepare.ts';

/** Who the fields of such objects belong to. */
const MANAGER = 'longwatch';

/** A status that is given is kept: nobody else writes it. */
export async function createAsServer(
  rest: Rest,
  storage: ResourceStorage,
  object: KubeObject,
  manager: string = MANAGER,
): Promise<void> {
  const { status } = object;
  const prepared = await prepareCreate(storage, object, { manager }, rest.ownContext(''));
  if (status !== undefined) prepared.status = status;
  await storage.create(prepared, CreateRight.ofServer).catch((err: unknown) => {
    if (!isStatusError(err, 'AlreadyExists')) throw err; // another server on the same store was faster
  });
}

/** The newest there is, as far as this server knows. */
export function atHand(
  storage: ResourceStorage,
  { namespace = '', name = '' }: KubeObject['metadata'],
): Promise<StoredObject | undefined> {
  return storage.objects.get(namespace, name, { resourceVersion: '0' });
}
