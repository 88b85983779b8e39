/**
 * One kubeconfig file, read: YAML to typed entries, paths made absolute, every complaint with file and field.
 *
 * All scalars are read as text (a token `0123` is no number), and become numbers or booleans only where a field is one.
 * Fields we do not know are left alone: other tools keep theirs in the same file.
 */

import { dirname, isAbsolute, join } from 'node:path';
import type { YAMLException } from 'js-yaml';
import { ConfigError } from '../errors.ts';
import { FieldReader, type Fields } from './field-reader.ts';

export type ClusterEntry = {
  readonly server: string;
  readonly caFile?: string;
  readonly caData?: string;
  readonly skipsTlsVerify: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
};

export type ExecEntry = {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always';
  readonly provideClusterInfo: boolean;
  readonly installHint?: string;
};

export type UserEntry = {
  readonly certFile?: string;
  readonly certData?: string;
  readonly keyFile?: string;
  readonly keyData?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly exec?: ExecEntry;
  readonly authProvider?: string;
  readonly impersonate?: Impersonation;
};

export type Impersonation = {
  readonly user: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
};

export type ContextEntry = { readonly cluster: string; readonly user: string; readonly namespace?: string };

/** Where an entry comes from, for messages. */
export type From<T> = { readonly entry: T; readonly origin: string; readonly path: string };

export type KubeConfigFile = {
  readonly origin: string;
  readonly currentContext?: string;
  readonly clusters: ReadonlyMap<string, From<ClusterEntry>>;
  readonly users: ReadonlyMap<string, From<UserEntry>>;
  readonly contexts: ReadonlyMap<string, From<ContextEntry>>;
};

/** `origin` is the path of the file; relative paths in the text count from its folder. */
export async function readKubeConfig(
  text: string,
  origin: string,
  folder: string = dirname(origin),
): Promise<KubeConfigFile> {
  const root = await parse(text, origin);
  const currentContext = root.text('current-context');
  return {
    origin,
    ...(currentContext !== undefined && { currentContext }),
    clusters: named(root, 'clusters', 'cluster', (fields) => clusterOf(fields, folder)),
    users: named(root, 'users', 'user', (fields) => userOf(fields, folder)),
    contexts: named(root, 'contexts', 'context', contextOf),
  };
}

async function parse(text: string, origin: string): Promise<FieldReader> {
  const { load, FAILSAFE_SCHEMA } = await import('js-yaml');
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : load(text, { schema: FAILSAFE_SCHEMA, maxAliases: 100, maxDepth: 50 });
  } catch (err) {
    // Not its message, nor as a cause: it quotes the lines around the mistake, and they hold credentials.
    const { reason, mark } = err as YAMLException;
    const place = mark ? ` at line ${mark.line + 1}, column ${mark.column + 1}` : '';
    throw new ConfigError(`Cannot read kubeconfig "${origin}": ${reason ?? 'it is no YAML'}${place}`);
  }
  if (value === '' || value === null || value === undefined) value = {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw new ConfigError(`Cannot read kubeconfig "${origin}": it is no mapping of fields`);
  const root = new FieldReader(value as Fields, origin, '');
  const kind = root.text('kind') ?? 'Config';
  if (kind !== 'Config') throw root.error('kind', `must be "Config", found "${kind}"`);
  return root;
}

/** A list of `{ name, <what>: {...} }`; of a name that occurs twice the first counts, as between files. */
function named<T>(
  root: FieldReader,
  list: string,
  what: string,
  read: (fields: FieldReader) => T,
): Map<string, From<T>> {
  const entries = new Map<string, From<T>>();
  for (const item of root.list(list)) {
    const name = item.required('name');
    if (entries.has(name)) continue;
    const fields = item.child(what);
    entries.set(name, { entry: read(fields), origin: root.origin, path: fields.path });
  }
  return entries;
}

function clusterOf(fields: FieldReader, folder: string): ClusterEntry {
  return defined({
    server: fields.text('server') ?? '',
    caFile: filePath(fields.text('certificate-authority'), folder),
    caData: fields.base64('certificate-authority-data'),
    skipsTlsVerify: fields.flag('insecure-skip-tls-verify'),
    tlsServerName: fields.text('tls-server-name'),
    proxyUrl: fields.text('proxy-url'),
  });
}

function userOf(fields: FieldReader, folder: string): UserEntry {
  const as = fields.text('as');
  const groups = fields.texts('as-groups');
  const uid = fields.text('as-uid');
  const extra = fields.textLists('as-user-extra');
  if (as === undefined && (groups || uid !== undefined || extra))
    throw fields.error('as', 'must be set where as-groups, as-uid or as-user-extra is');
  const exec = fields.optionalChild('exec');
  return defined({
    certFile: filePath(fields.text('client-certificate'), folder),
    certData: fields.base64('client-certificate-data'),
    keyFile: filePath(fields.text('client-key'), folder),
    keyData: fields.base64('client-key-data'),
    token: fields.text('token'),
    tokenFile: filePath(fields.text('tokenFile'), folder),
    username: fields.text('username'),
    password: fields.text('password'),
    authProvider: fields.optionalChild('auth-provider')?.text('name'),
    exec: exec && execOf(exec, folder),
    impersonate: as === undefined ? undefined : defined({ user: as, uid, groups, extra }),
  });
}

const execVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const interactiveModes = ['Never', 'IfAvailable', 'Always'] as const;

function execOf(fields: FieldReader, folder: string): ExecEntry {
  const apiVersion = fields.required('apiVersion');
  if (!execVersions.includes(apiVersion))
    throw fields.error('apiVersion', `must be one of "${execVersions.join('", "')}", found "${apiVersion}"`);
  const command = fields.required('command');
  const mode = fields.text('interactiveMode') ?? (apiVersion.endsWith('/v1') ? undefined : 'IfAvailable');
  const interactiveMode = interactiveModes.find((known) => known === mode);
  if (!interactiveMode)
    throw fields.error('interactiveMode', `must be one of "${interactiveModes.join('", "')}", found "${mode ?? ''}"`);
  const env = fields.list('env').map((item) => [item.required('name'), item.text('value') ?? ''] as const);
  return defined({
    apiVersion,
    // A bare name is looked up on the PATH; anything with a slash belongs to the folder of the file.
    command: /[/\\]/.test(command) ? (filePath(command, folder) ?? command) : command,
    args: fields.texts('args') ?? [],
    env: Object.fromEntries(env),
    interactiveMode,
    provideClusterInfo: fields.flag('provideClusterInfo'),
    installHint: fields.text('installHint'),
  });
}

function contextOf(fields: FieldReader): ContextEntry {
  return defined({
    cluster: fields.text('cluster') ?? '',
    user: fields.text('user') ?? '',
    namespace: fields.text('namespace'),
  });
}

function filePath(path: string | undefined, folder: string): string | undefined {
  return path === undefined || isAbsolute(path) ? path : join(folder, path);
}

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The same without the fields that are undefined: with exact optional types they may not even be there. */
function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Defined<T>;
}
