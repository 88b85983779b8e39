/**
 * What is written while faults strike: create, change, relabel, delete and make anew, over so few names that everything
 * happens to everyone. And marks: the last write before a quiet moment, by which all know that they have seen the rest.
 */
import type { ApiClient } from '../../../src/testing/index.ts';
import { randomFrom } from '../../support/random.ts';

export const NAMESPACES = ['default', 'red', 'blue'] as const;
const NAMES_EACH = 10;

/** Three at a time, over the same few names. */
export async function write(client: ApiClient, writes: number, seed: number): Promise<void> {
  const random = randomFrom(seed);
  let left = writes;
  const writer = async () => {
    while (left-- > 0) {
      const namespace = NAMESPACES[Math.floor(random() * NAMESPACES.length)]!;
      await writeOnce(client, pathIn(namespace), `object-${Math.floor(random() * NAMES_EACH)}`, random);
    }
  };
  await Promise.all([writer(), writer(), writer()]);
}

async function writeOnce(client: ApiClient, path: string, name: string, random: () => number): Promise<void> {
  const dice = random();
  const labels = { tier: random() < 0.5 ? 'gold' : 'tin' };
  const data = { value: String(random()), text: 'ü'.repeat(Math.floor(random() * 300)) };
  if (dice < 0.4) await orRefused(client.create(path, { metadata: { name, labels }, data }));
  else if (dice < 0.65) await orRefused(client.patch(`${path}/${name}`, { data }));
  else if (dice < 0.75) await orRefused(client.patch(`${path}/${name}`, { metadata: { labels } }));
  else {
    await orRefused(client.delete(`${path}/${name}`));
    if (dice > 0.9) await orRefused(client.create(path, { metadata: { name, labels }, data }));
  }
}

export async function setMark(client: ApiClient, namespace: string, mark: string): Promise<void> {
  const annotations = { mark };
  const object = { metadata: { name: 'mark', labels: { tier: 'gold' }, annotations } };
  const created = await orRefused(client.create(pathIn(namespace), object));
  if (!created) await client.patch(`${pathIn(namespace)}/mark`, { metadata: { annotations } });
}

function pathIn(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}

/** Too early or too late is no fault. */
export function orRefused<T>(writing: Promise<T>): Promise<T | undefined> {
  return writing.catch((err: { code?: unknown }) => {
    if (err.code === 404 || err.code === 409) return undefined;
    throw err;
  });
}
