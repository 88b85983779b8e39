/**
 * The configuration as people have it: files merged as kubectl merges them, contexts, and what one context means.
 *
 *     const config = await KubeConfig.load();                 // KUBECONFIG, ~/.kube/config, or the pod we run in
 *     const access = config.access({ context: 'staging' });   // how to reach that cluster, as that user
 *
 * Merging: of every cluster, user, context and of current-context the first file that has it counts, whole. A file of
 * KUBECONFIG may be missing, one that was named by the caller may not. Nothing is written, nothing is watched: files
 * that a user or cluster refers to are read when they are needed, and again when they may have changed.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { ConfigError } from '../errors.ts';
import { type ClusterAccess, clusterAccess } from './cluster-access.ts';
import { type InClusterOptions, inClusterAccess, isInCluster } from './in-cluster.ts';
import {
  type ClusterEntry,
  type ContextEntry,
  type From,
  type KubeConfigFile,
  readKubeConfig,
  type UserEntry,
} from './kubeconfig-file.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type LoadOptions = InClusterOptions & {
  /** Instead of KUBECONFIG and `~/.kube/config`; each must exist. */
  readonly paths?: readonly string[] | undefined;
};

export type AccessOptions = {
  /** current-context */
  readonly context?: string | undefined;
  /** Instead of the context's own. */
  readonly cluster?: string | undefined;
  readonly user?: string | undefined;
  readonly namespace?: string | undefined;
  /** Where proxies are looked up: the environment of this process. */
  readonly env?: Environment | undefined;
};

export type ContextSummary = { readonly name: string } & ContextEntry;

export class KubeConfig {
  readonly currentContext: string | undefined;
  /** What was read, in order of weight; empty for the pod's own. */
  readonly origins: readonly string[];
  readonly #clusters = new Map<string, From<ClusterEntry>>();
  readonly #users = new Map<string, From<UserEntry>>();
  readonly #contexts = new Map<string, From<ContextEntry>>();
  readonly #own: ClusterAccess | undefined;

  private constructor(files: readonly KubeConfigFile[], own?: ClusterAccess) {
    this.origins = files.map(({ origin }) => origin);
    this.currentContext = files.find(({ currentContext }) => currentContext !== undefined)?.currentContext;
    this.#own = own;
    for (const { clusters, users, contexts } of files) {
      addMissing(this.#clusters, clusters);
      addMissing(this.#users, users);
      addMissing(this.#contexts, contexts);
    }
  }

  /** Files first; the pod's own account if there are none, or if they say nothing. */
  static async load(options: LoadOptions = {}): Promise<KubeConfig> {
    const env = options.env ?? process.env;
    const files = options.paths
      ? await Promise.all(options.paths.map((path) => readFileAt(path)))
      : await readPresent(defaultPaths(env));
    const config = new KubeConfig(files);
    if (config.#contexts.size > 0 || config.#clusters.size > 0 || options.paths) return config;
    if (isInCluster(options)) return KubeConfig.inCluster(options);
    const looked = defaultPaths(env).join('", "');
    throw new ConfigError(
      `Cannot find a cluster: "${looked}" ${files.length > 0 ? 'names none' : 'does not exist'}, and this is no pod (KUBERNETES_SERVICE_HOST is not set)`,
    );
  }

  /** A kubeconfig from elsewhere; `origin` names it in messages, relative paths count from `folder`. */
  static async fromText(text: string, origin = 'text', folder: string = process.cwd()): Promise<KubeConfig> {
    return new KubeConfig([await readKubeConfig(text, origin, folder)]);
  }

  /** The service account of the pod we run in. */
  static inCluster(options: InClusterOptions = {}): KubeConfig {
    return new KubeConfig([], inClusterAccess(options));
  }

  get contexts(): readonly ContextSummary[] {
    return [...this.#contexts].map(([name, { entry }]) => ({ name, ...entry }));
  }

  access(options: AccessOptions = {}): ClusterAccess {
    if (this.#own) return options.namespace === undefined ? this.#own : { ...this.#own, namespace: options.namespace };
    const name = options.context ?? this.currentContext;
    const context = name === undefined ? undefined : this.#context(name);
    if (!context && options.cluster === undefined)
      throw new ConfigError(
        `Cannot choose a cluster: ${this.#files()} has no current-context, and no context was named`,
      );
    const place = context ? `context "${name}" of ${quoted(context.origin)}` : 'the call';
    const cluster = this.#entry(this.#clusters, 'cluster', options.cluster ?? context?.entry.cluster, place);
    if (!cluster) throw new ConfigError(`Cannot use ${place}: its cluster is not set`);
    const user = this.#entry(this.#users, 'user', options.user ?? context?.entry.user, place);
    const namespace = options.namespace ?? context?.entry.namespace ?? 'default';
    return clusterAccess({ cluster, ...(user && { user }), namespace, env: options.env ?? process.env });
  }

  #context(name: string): From<ContextEntry> {
    const context = this.#contexts.get(name);
    if (context) return context;
    const known = [...this.#contexts.keys()].map(quoted).join(', ') || 'none';
    throw new ConfigError(`Cannot use context ${quoted(name)}: ${this.#files()} has ${known}`);
  }

  #entry<T>(entries: Map<string, From<T>>, what: string, name: string | undefined, place: string): From<T> | undefined {
    if (name === undefined || name === '') return undefined;
    const found = entries.get(name);
    if (!found) throw new ConfigError(`Cannot use ${place}: ${this.#files()} has no ${what} ${quoted(name)}`);
    return found;
  }

  #files(): string {
    return this.origins.length > 0 ? this.origins.map(quoted).join(', ') : 'the configuration';
  }
}

function addMissing<T>(into: Map<string, T>, from: ReadonlyMap<string, T>): void {
  for (const [name, entry] of from) if (!into.has(name)) into.set(name, entry);
}

/** KUBECONFIG is a list; kubectl skips its empty parts and counts a repeated one once. */
export function defaultPaths(env: Environment): string[] {
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '');
  if (listed.length > 0) return [...new Set(listed.map((path) => resolve(path)))];
  return [join(env.HOME || env.USERPROFILE || homedir(), '.kube', 'config')];
}

async function readPresent(paths: readonly string[]): Promise<KubeConfigFile[]> {
  const read = await Promise.all(
    paths.map((path) =>
      readFileAt(path).catch((err: unknown) => {
        if (isMissing((err as Error).cause)) return undefined;
        throw err;
      }),
    ),
  );
  return read.filter((file) => file !== undefined);
}

async function readFileAt(path: string): Promise<KubeConfigFile> {
  const full = resolve(path);
  let text: string;
  try {
    text = await readFile(full, 'utf8');
  } catch (cause) {
    throw new ConfigError(`Cannot read kubeconfig "${full}": ${(cause as Error).message}`, { cause });
  }
  return readKubeConfig(text, full);
}

function isMissing(err: unknown): boolean {
  return (err as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
}

const quoted = (text: string) => `"${text}"`;
