/** Whose a checkpoint is: from what an informer selects to the header of its file, and back to what is different. */
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isTransportError } from '../errors.ts';
import type { Resource } from '../objects/define-resource.ts';
import type { SelectOptions } from '../resources/options.ts';
import { fieldSelectorText, labelSelectorText } from '../resources/selectors.ts';
import type { Transport } from '../transport/transport.ts';
import { type CheckpointHeader, FORMAT } from './checkpoint-format.ts';
import type { CheckpointOptions } from './checkpoint-options.ts';

type Selected = SelectOptions & {
  readonly resource: Resource;
  /** `*` is all. */
  readonly scopes: readonly string[];
  readonly transform: ((object: never) => unknown) | undefined;
};

export function headerOf(
  server: URL,
  selected: Selected,
  { transformId }: Pick<CheckpointOptions, 'transformId'>,
): CheckpointHeader {
  const { resource, scopes, labelSelector, fieldSelector, shardSelector, transform } = selected;
  const kept = transform ? `transformed by ${transformId}` : 'whole';
  return {
    format: FORMAT,
    resource: `${resource.apiVersion} ${resource.plural}`,
    namespaces: [...scopes].sort(),
    labelSelector: labelSelectorText(labelSelector) ?? '',
    fieldSelector: fieldSelectorText(fieldSelector) ?? '',
    ...(shardSelector && { shardSelector }),
    shape: resource.isMetadataOnly ? `metadata, ${kept}` : kept,
    server: server.href,
  };
}

/** What makes a file one of something else; undefined if nothing does. Server and cluster are left out. */
export function differenceOf(found: CheckpointHeader, wanted: CheckpointHeader): string | undefined {
  const names = ['resource', 'namespaces', 'labelSelector', 'fieldSelector', 'shardSelector', 'shape'] as const;
  for (const name of names) {
    const [is, wants] = [JSON.stringify(found[name] ?? ''), JSON.stringify(wanted[name] ?? '')];
    if (is !== wants) return `its ${name} is ${is}, and not ${wants}`;
  }
  return undefined;
}

/** The path as given, or a name of its own in a folder. */
export async function pathOf(file: string, header: CheckpointHeader): Promise<string> {
  const isFolder =
    file.endsWith('/') || file.endsWith(sep) || (await stat(file).catch(() => undefined))?.isDirectory() === true;
  if (!isFolder) return file;
  const [apiVersion, plural] = header.resource.split(' ');
  return join(file, `${plural}.${apiVersion!.replace('/', '.')}-${digest(JSON.stringify(header))}.checkpoint`);
}

const asked = new WeakMap<Transport, Promise<string>>();

/** The uid that stands for a cluster by custom; rejects if it may not be read, or if there is no answer. */
export function clusterIdOf(transport: Transport): Promise<string> {
  const known = asked.get(transport) ?? askClusterId(transport);
  asked.set(transport, known);
  return known;
}

async function askClusterId(transport: Transport): Promise<string> {
  try {
    const { body } = await transport.request<{ metadata: { uid: string } }>('GET', '/api/v1/namespaces/kube-system');
    return body.metadata.uid;
  } catch (error) {
    if (isTransportError(error)) asked.delete(transport); // the next one may have more luck
    throw error;
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
