/** Names that are kept for configurations of admission which a server reads from files. */
import type { KubeObject } from '../../../api/index.ts';

const SUFFIX = '.static.k8s.io';

/** They can still be taken, with a warning. */
export function staticNameWarnings({ metadata }: KubeObject): string[] {
  if (!metadata.name?.endsWith(SUFFIX)) return [];
  return [
    `metadata.name: names ending with "${SUFFIX}" are reserved for static manifest-based configurations and cannot be managed via the API`,
  ];
}
