/**
 * Writers that quarrel over the same few objects: they create, update by compare-and-swap, patch and delete, each as
 * fast as it is answered, and are refused as often as writers are.
 */
import { isStatusError } from '../../../src/api/index.ts';
import type { ApiClient } from '../../../src/testing/index.ts';
import { randomFrom } from '../random.ts';

export const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

export type Writing = {
  readonly client: ApiClient;
  /** Attempts of all writers together. */
  readonly writes: number;
  /** 8 */
  readonly writers?: number;
  /** 40 */
  readonly names?: number;
  readonly seed: number;
  /** CONFIG_MAPS */
  readonly path?: string;
};

/** The versions that were answered, as they came: each is the version of one change, or of none. */
export async function writeALot(writing: Writing): Promise<string[]> {
  const { client, writes, writers = 8, names = 40, seed, path = CONFIG_MAPS } = writing;
  const answered: string[] = [];
  let left = writes;
  const write = async (writer: number) => {
    const random = randomFrom(seed + writer);
    while (left-- > 0) {
      const name = `object-${Math.floor(random() * names)}`;
      const data = { value: `${writer}.${left}` };
      try {
        const version = await attempt(client, path, name, data, random());
        if (version) answered.push(version);
      } catch (err) {
        if (!isRefusal(err)) throw err;
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return answered;
}

/** Writes one last object that a watcher can wait for; its version. */
export async function writeLast(client: ApiClient, path: string = CONFIG_MAPS, name = 'the-last'): Promise<string> {
  const { metadata } = await client.create(path, { metadata: { name } });
  return metadata.resourceVersion!;
}

async function attempt(client: ApiClient, path: string, name: string, data: object, dice: number) {
  if (dice < 0.35) {
    const { metadata } = await client.create(path, { metadata: { name }, data });
    return metadata.resourceVersion;
  }
  if (dice < 0.75) {
    const { metadata } = await client.patch(`${path}/${name}`, { data });
    return metadata.resourceVersion;
  }
  if (dice < 0.85) {
    const found = await client.get(`${path}/${name}`);
    const { metadata } = await client.update(`${path}/${name}`, { ...found, data });
    return metadata.resourceVersion;
  }
  await client.delete(`${path}/${name}`);
  return undefined;
}

/** Too early or too late; anything else is a fault. */
function isRefusal(err: unknown): boolean {
  return isStatusError(err) && (err.code === 404 || err.code === 409);
}
