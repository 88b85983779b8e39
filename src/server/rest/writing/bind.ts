/**
 * A binding that was admitted: the pod gets its node, if it is the one that the binding means, by its uid and its version
 * where these are named, and has none yet.
 */
import { conflict, type KubeObject } from '../../../api/index.ts';
import { cloneJson } from '../../codec/index.ts';
import { applyBinding } from '../../kinds/pods/binding.ts';
import { nowInSeconds } from '../rest.ts';
import { admittedBefore, mustRead, uidMismatch, updateObject, type WriteRequest } from './write.ts';

export async function bindPod(request: WriteRequest, binding: KubeObject): Promise<void> {
  const { storage, place, options } = request;
  const { uid, resourceVersion } = binding.metadata;
  const mustBe = (field: string, asked: string | undefined, found = '') => {
    if (asked && asked !== found)
      throw conflict(storage.resource, place.name, uidMismatch(storage, place, options, asked, found, field));
  };
  const change = (old: KubeObject) => {
    mustBe('UID', uid, old.metadata.uid);
    mustBe('ResourceVersion', resourceVersion, old.metadata.resourceVersion);
    const pod = cloneJson(old);
    applyBinding(pod, binding, nowInSeconds());
    delete pod.metadata.resourceVersion;
    return pod;
  };
  const current = await mustRead(storage, place);
  await updateObject(request, { current, change, admission: admittedBefore });
}
