/** Events about objects that are nothing but a name, for tests of those who carry events. */
import type { AnyObject } from '../../objects/objects.ts';
import type { InformerEvent } from '../informer-event.ts';

export const object = (name: string): AnyObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '' },
});

export const added = (key: string): InformerEvent<AnyObject> => ({
  type: 'added',
  key,
  object: object(key),
  isInitial: false,
});
