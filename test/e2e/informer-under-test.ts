/** An informer beside the server it copies: what both hold, and a handler that checks every event it is told. */
import { expect } from 'vitest';
import {
  type AnyObject,
  configMaps,
  type Informer,
  type InformerEvent,
  type KubeClient,
  keyOf,
  type Resource,
} from '../../src/client/index.ts';
import type { ApiClient } from '../../src/testing/index.ts';
import { writeLast } from './writers.ts';

/** Key to uid and version: two states that agree in this agree in everything. */
export type Versions = Record<string, string>;

export function versionsOf(objects: Iterable<AnyObject>): Versions {
  const entries = [...objects].map((object) => [keyOf(object), versionOf(object)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function versionOf({ metadata }: AnyObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

export async function serverVersions(client: KubeClient, resource: Resource = configMaps): Promise<Versions> {
  return versionsOf((await client.resource(resource).list({ allNamespaces: true })).items);
}

/** Waits until the informer has seen a last write, and compares; nobody else may write. */
export async function expectSame(informer: Informer<AnyObject>, writer: ApiClient, client: KubeClient): Promise<void> {
  await informer.reached(await writeLast(writer, undefined, `last-${lastCount++}`));
  expect(versionsOf(informer.list())).toEqual(await serverVersions(client, informer.resource));
}
let lastCount = 0;

/** A handler that believes what it is told, and complains of what does not fit what it was told before. */
export class Believer<T extends AnyObject> {
  readonly believed = new Map<string, T>();
  readonly told: InformerEvent<T>[] = [];
  readonly complaints: string[] = [];

  readonly take = (event: InformerEvent<T>): void => {
    const { type, key, object } = event;
    const known = this.believed.get(key);
    this.told.push(event);
    const fits =
      type === 'added'
        ? known === undefined
        : type === 'updated'
          ? event.old === known && known?.metadata.uid === object.metadata.uid
          : known?.metadata.uid === object.metadata.uid;
    if (!fits) this.complaints.push(`${type} ${key} after ${known ? versionOf(known) : 'nothing'}`);
    if (type === 'deleted') this.believed.delete(key);
    else this.believed.set(key, object);
  };

  /** What it was told from now on, in short. */
  since(start: number): string[] {
    return this.told.slice(start).map(({ type, key }) => `${type} ${key}`);
  }

  expectSame(informer: Informer<T>): void {
    expect(this.complaints).toEqual([]);
    expect(versionsOf(this.believed.values())).toEqual(versionsOf(informer.list()));
  }
}
