/** An informer beside the server it copies: what both hold. */
import { expect } from 'vitest';
import type { AnyObject, Informer, KubeClient, Resource } from '../../../src/client/index.ts';
import { configMaps } from '../../../src/client/objects/generated/core-v1.ts';
import type { ApiClient } from '../../../src/testing/index.ts';
import { writeLast } from '../server/writers.ts';
import { type Versions, versionsOf } from './believer.ts';

export async function serverVersions(client: KubeClient, resource: Resource = configMaps): Promise<Versions> {
  return versionsOf((await client.resource(resource).list({ allNamespaces: true })).items);
}

/** Waits until the informer has seen a last write, and compares; nobody else may write. */
export async function expectSame(informer: Informer<AnyObject>, writer: ApiClient, client: KubeClient): Promise<void> {
  await informer.reached(await writeLast(writer, undefined, `last-${lastCount++}`));
  expect(versionsOf(informer.list())).toEqual(await serverVersions(client, informer.resource));
}
let lastCount = 0;
