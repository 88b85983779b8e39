/**
 * Objects out of YAML or JSON as people write it for kubectl: several documents, empty ones, Lists. In the order of the
 * text. What is no object of Kubernetes is refused with its place; the parser is loaded with the first text.
 */
import { ConfigError } from '../errors.ts';

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
};

export async function readManifests(text: string): Promise<Manifest[]> {
  const { loadAll } = await import('js-yaml');
  let documents: unknown[];
  try {
    documents = loadAll(text) as unknown[];
  } catch (cause) {
    throw new ConfigError(`Cannot read manifests: ${(cause as Error).message.split('\n')[0]}`, { cause });
  }
  return documents.flatMap((document, index) =>
    document === null || document === undefined ? [] : manifestsIn(document, `document ${index + 1}`),
  );
}

export function manifestsIn(value: unknown, place: string): Manifest[] {
  const { apiVersion, kind, metadata, items } = (value ?? {}) as Partial<Manifest> & { items?: unknown };
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || apiVersion === '' || kind === '')
    throw new ConfigError(`Cannot read manifests: ${place} has no apiVersion and kind`);
  if (kind.endsWith('List') && Array.isArray(items))
    return items.flatMap((item, index) => manifestsIn(item, `${place}, item ${index + 1}`));
  if (typeof metadata?.name !== 'string' || metadata.name === '')
    throw new ConfigError(`Cannot read manifests: ${place} (${kind}) has no name`);
  return [value as Manifest];
}
