/**
 * What the servers of one process need not make twice: keys and certificates, and the objects that every cluster begins
 * with. The first server makes them, the next ones find them in their folder and their store when they start; the
 * server itself sees nothing but data that is there already. Of the objects the build leaves a copy beside the bundle
 * (scripts/bundle.mjs), so that there the first finds them, too.
 *
 * Always true: two servers share keys and the text of those objects, never an identity: uids, times and tokens are new.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rfc3339, wallNow } from '../../api/index.ts';
import type { Op, Store } from '../../store/index.ts';
import { putAll } from './reset-store.ts';

const ROOT = '/registry/';
/** Made by the server from what it knows, at each start the same: not what tells of this one server. */
const KINDS = [
  'namespaces',
  'clusterroles',
  'clusterrolebindings',
  'roles',
  'rolebindings',
  'flowschemas',
  'prioritylevelconfigurations',
  'priorityclasses',
  'apiregistration.k8s.io/apiservices',
];

type Image = ReadonlyMap<string, string>;

const BUILT_IMAGE = './test-server-image.json';

let keyFiles: ReadonlyMap<string, string> | undefined;
let image: Image | undefined;

/** Into a data folder that is new. */
export function lendKeys(dataDir: string): void {
  const folder = join(dataDir, 'pki');
  if (!keyFiles || existsSync(folder)) return;
  mkdirSync(folder, { mode: 0o700 });
  for (const [name, text] of keyFiles) writeFileSync(join(folder, name), text, { mode: 0o600 });
  writeFileSync(join(dataDir, 'admin.token'), randomBytes(32).toString('base64url'), { mode: 0o600 });
}

/** Into a store that is new. */
export async function lendObjects(store: Store): Promise<void> {
  image ??= readBuiltImage();
  if (!image || (await store.revision()) > 1) return;
  const now = rfc3339(wallNow());
  const ops = [...image].map(([key, text]): Op => {
    const own = text
      .replace(/"uid":"[-0-9a-f]{36}"/g, () => `"uid":"${randomUUID()}"`)
      .replace(/"(creationTimestamp|time|lastTransitionTime)":"[-0-9:TZ]{20}"/g, (_all, name) => `"${name}":"${now}"`);
    return { kind: 'put', key, value: Buffer.from(own) };
  });
  await putAll(store, ops);
}

/** After a start on an empty folder: what the next one may have. */
export async function keepForNext(dataDir: string, store: Store): Promise<void> {
  const folder = join(dataDir, 'pki');
  keyFiles ??= new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  image ??= await imageOf(store);
}

/** What the build keeps. */
export async function imageOf(store: Store): Promise<Image> {
  const objects = new Map<string, string>();
  for (const kind of KINDS) {
    const { kvs } = await store.range({ prefix: `${ROOT}${kind}/` });
    for (const { key, value } of kvs) objects.set(key, Buffer.from(value).toString('utf8'));
  }
  return objects;
}

function readBuiltImage(): Image | undefined {
  if (import.meta.url.endsWith('.ts')) return undefined; // from the sources there is none that must fit them
  const file = new URL(BUILT_IMAGE, import.meta.url);
  return existsSync(file) ? new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')))) : undefined;
}
