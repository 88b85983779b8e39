/** A handler that checks every event it is told. Runs outside of the test runner too. */
import { deepStrictEqual } from 'node:assert/strict';
import { type AnyObject, type Informer, type InformerEvent, keyOf } from '../../../src/client/index.ts';

/** Key to uid and version: two states that agree in this agree in everything. */
export type Versions = Record<string, string>;

export function versionsOf(objects: Iterable<AnyObject>): Versions {
  const entries = [...objects].map((object) => [keyOf(object), versionOf(object)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function versionOf({ metadata }: AnyObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`;
}

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
    deepStrictEqual(this.complaints, []);
    deepStrictEqual(versionsOf(this.believed.values()), versionsOf(informer.list()));
  }
}
