/**
 * Brings definitions of custom kinds into a cluster and waits until objects of them can be written: the server has
 * established the kind, and answers for it. Applied, so again is the same as once; versions and fields that others own stay.
 *
 * Fails with what the server says of the definition, or says what it still waited for.
 */
import { ConfigError, isApiError } from '../errors.ts';
import type { KubeClient } from '../kube-client.ts';
import { readManifests } from '../manifests/read-manifests.ts';
import { type CustomResourceDefinition, customResourceDefinitions } from '../objects/generated/apiextensions-v1.ts';
import type { Applied, Draft } from '../objects/objects.ts';
import type { CrdDefinition } from './define-crd.ts';

export type InstallCrdOptions = {
  readonly signal?: AbortSignal | undefined;
  /** 30 s, for each of them. */
  readonly timeoutMs?: number | undefined;
  /** longwatch */
  readonly fieldManager?: string | undefined;
};

/** A definition of `defineCrd`, one as it stands in a file, or the text of a file, of which only definitions count. */
export type InstallableCrd =
  | string
  | Pick<CrdDefinition, 'crd'>
  | (Draft<CustomResourceDefinition> & { metadata: { name?: string } });

/** The server has the definition, and does not serve it. */
export class CrdError extends Error {
  override readonly name = 'CrdError';
}

const ASK_AGAIN_MS = 50;

export async function installCrd(
  client: KubeClient,
  definitions: InstallableCrd | readonly InstallableCrd[],
  { signal, timeoutMs = 30_000, fieldManager = 'longwatch' }: InstallCrdOptions = {},
): Promise<void> {
  const list = (Array.isArray(definitions) ? definitions : [definitions]) as InstallableCrd[];
  const crds = (await Promise.all(list.map(readCrds))).flat();
  const api = client.resource(customResourceDefinitions);
  for (const crd of crds)
    await api.apply(crd as Applied<CustomResourceDefinition>, { fieldManager, force: true, signal });
  for (const crd of crds) await whenServed(client, crd.metadata.name ?? '', timeoutMs, signal);
  client.discovery.forget(); // it would not look for a kind that it has just missed
}

/** Each with its name. */
export async function readCrds(one: InstallableCrd): Promise<CrdDefinition['crd'][]> {
  if (typeof one !== 'string') return [('crd' in one ? one.crd : one) as CrdDefinition['crd']];
  const found = (await readManifests(one)).filter(({ kind }) => kind === 'CustomResourceDefinition');
  if (found.length > 0) return found as unknown as CrdDefinition['crd'][];
  throw new ConfigError('Cannot install definitions: there is no CustomResourceDefinition in the text');
}

async function whenServed(client: KubeClient, name: string, timeoutMs: number, outer?: AbortSignal): Promise<void> {
  const { clock } = client.transport;
  const until = clock.now() + timeoutMs;
  for (;;) {
    const crd = await client.resource(customResourceDefinitions).get(name, { signal: outer });
    const missing = missingOf(crd) ?? (await unansweredOf(client, crd, outer));
    if (missing === undefined) return;
    if (clock.now() >= until) throw new CrdError(`Cannot install "${name}": after ${timeoutMs} ms ${missing}`);
    await clock.sleep(ASK_AGAIN_MS, outer);
  }
}

function missingOf({ metadata, status }: CustomResourceDefinition): string | undefined {
  const condition = (type: string) => status?.conditions?.find((one) => one.type === type);
  const names = condition('NamesAccepted');
  if (names?.status === 'False') throw new CrdError(`Cannot install "${metadata.name}": ${names.message}`);
  if (condition('Established')?.status === 'True') return undefined;
  return 'it is not established yet';
}

/** A server of several, or a slow one, may have established a kind that it does not answer for yet. */
async function unansweredOf(
  client: KubeClient,
  { spec }: CustomResourceDefinition,
  signal?: AbortSignal,
): Promise<string | undefined> {
  for (const { name, served } of spec.versions) {
    if (!served) continue;
    const path = `/apis/${spec.group}/${name}/${spec.names.plural}`;
    try {
      await client.transport.request('GET', path, { query: { limit: 1 }, signal });
    } catch (err) {
      if (isApiError(err, 'NotFound')) return `${path} is not found`;
      if (!isApiError(err, 'Forbidden')) throw err; // who may define kinds need not be one who may read them
    }
  }
  return undefined;
}
