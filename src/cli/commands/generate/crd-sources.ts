/** Where definitions of custom kinds come from: files of YAML or JSON, `-` for stdin, or a cluster. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { loadAll } from 'js-yaml';
import { customResourceDefinitions } from '../../../client/objects/generated/apiextensions-v1.ts';
import { type ClusterFlags, connectTo } from '../../cluster/cluster-flags.ts';
import { VerbError } from '../../terminal/run-verb.ts';
import type { CrdInput } from './generate-types.ts';

type Document = { apiVersion?: string; kind?: string; items?: unknown[]; spec?: unknown } | null | undefined;

export async function definitionsIn(files: readonly string[]): Promise<CrdInput[]> {
  const found: CrdInput[] = [];
  for (const file of files) {
    const source = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
    const inFile = parsed(file, source).flatMap(definitionsOf);
    if (inFile.length === 0)
      throw new VerbError(
        `Cannot generate types from ${JSON.stringify(file)}: there is no CustomResourceDefinition in it`,
        'It must hold objects of apiextensions.k8s.io/v1, as kubectl applies them.',
      );
    found.push(...inFile);
  }
  return found;
}

export async function definitionsOfCluster(flags: ClusterFlags, signal: AbortSignal): Promise<CrdInput[]> {
  await using client = await connectTo(flags);
  const found: CrdInput[] = [];
  for await (const definition of client.resource(customResourceDefinitions).listAll({ signal })) found.push(definition);
  return found;
}

function parsed(file: string, source: string): Document[] {
  try {
    return loadAll(source) as Document[];
  } catch (err) {
    throw new VerbError(`Cannot read ${JSON.stringify(file)}: ${(err as Error).message.split('\n')[0]}`, undefined, {
      cause: err,
    });
  }
}

function definitionsOf(document: Document): CrdInput[] {
  if (document?.kind === 'List' || document?.kind === 'CustomResourceDefinitionList')
    return (document.items ?? []).flatMap((item) => definitionsOf(item as Document));
  if (document?.kind !== 'CustomResourceDefinition') return [];
  const { group, names, versions } = (document.spec ?? {}) as Partial<CrdInput['spec']>;
  if (
    document.apiVersion === 'apiextensions.k8s.io/v1' &&
    group &&
    names?.kind &&
    names.plural &&
    Array.isArray(versions)
  )
    return [document as CrdInput];
  throw new VerbError(
    `Cannot use a CustomResourceDefinition of ${document.apiVersion}: group, names or versions are missing`,
    'Only apiextensions.k8s.io/v1 is known.',
  );
}
