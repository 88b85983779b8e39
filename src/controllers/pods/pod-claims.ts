/** Which claims of storage a Pod uses, those of its own ephemeral volumes among them. */
import type { corev1 } from '../../client/index.ts';

/** By name, in the Pod's namespace. */
export function claimNamesOf({ metadata, spec }: corev1.Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim) return [persistentVolumeClaim.claimName];
    return ephemeral ? [`${metadata.name}-${name}`] : [];
  });
}
