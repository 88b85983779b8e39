/** Objects as text: YAML as kubectl prints it, and the short names people know them by. */
import { dump } from 'js-yaml';

type Named = {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata: { name: string; namespace?: string };
};

export function yamlOf(value: unknown): string {
  return dump(value, { noRefs: true, lineWidth: -1 });
}

/** `pod/web`, `deployment.apps/web`, as `kubectl -o name` has it. */
export function shortNameOf({ kind = '', apiVersion = '', metadata }: Named): string {
  const group = apiVersion.includes('/') ? `.${apiVersion.split('/')[0]}` : '';
  return `${kind.toLowerCase()}${group}/${metadata.name}`;
}

export function placeOf({ metadata }: Named): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}
