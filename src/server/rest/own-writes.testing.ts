/** Writes in the name of the server, for tests that have nobody who asks. */
import type { KubeObject } from '../../api/index.ts';
import type { CachedObject } from '../watchcache/cached-object.ts';
import { CreateRight } from './create-right.ts';
import { ObjectWrites } from './object-writes.ts';
import type { View } from './resources.ts';

export class OwnWrites extends ObjectWrites {
  override create(view: View, object: KubeObject, right: CreateRight = CreateRight.ofServer): Promise<CachedObject> {
    return super.create(view, object, right);
  }
}
