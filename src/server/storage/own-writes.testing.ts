/** Writes in the name of the server, for tests that have nobody who asks. */
import type { KubeObject } from '../../api/index.ts';
import { CreateRight } from '../auth/create-right.ts';
import { ObjectWrites } from './object-writes.ts';
import type { View } from './resources.ts';
import type { StoredObject } from './stored-object.ts';

export class OwnWrites extends ObjectWrites {
  override create(view: View, object: KubeObject, right: CreateRight = CreateRight.ofServer): Promise<StoredObject> {
    return super.create(view, object, right);
  }
}
