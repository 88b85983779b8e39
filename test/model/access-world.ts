/**
 * A whole server with a few objects of many kinds, people with real tokens, and rights that change: what random requests
 * are tried on.
 *
 * Always true: every object carries a mark that names it, so that an answer in any format shows what it tells of.
 * `settle` resolves when the server decides by everything written before; `restore` brings back the objects there were.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../src/api/index.ts';
import { type ApiClient, startTestServer, type TestServer } from '../../src/testing/index.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import type { Person, Policy } from './rbac-model.ts';

export const RBAC = '/apis/rbac.authorization.k8s.io/v1';
export const NAMESPACES = ['one', 'two'] as const;
/** Those that are there; `new` is not. */
export const NAMES = ['a', 'b'] as const;

export type Kind = {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly isCustom?: true;
  /** An update of what is not there makes it. */
  readonly createsOnUpdate?: true;
  /** Parts with a path of their own that are read and written. */
  readonly parts: readonly string[];
  readonly body?: object;
};

const container = { containers: [{ name: 'c', image: 'i' }] };
const labels = { app: 'x' };

export const KINDS: readonly Kind[] = [
  { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', isNamespaced: true, parts: [] },
  { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', isNamespaced: true, parts: [] },
  { group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount', isNamespaced: true, parts: [] },
  {
    ...{ group: '', version: 'v1', plural: 'pods', kind: 'Pod', isNamespaced: true },
    ...{ parts: ['status'], body: { spec: container } },
  },
  {
    ...{ group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', isNamespaced: true },
    parts: ['status', 'scale'],
    body: { spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: container } } },
  },
  {
    ...{ group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease', isNamespaced: true },
    ...{ createsOnUpdate: true, parts: [] },
  },
  { group: '', version: 'v1', plural: 'nodes', kind: 'Node', isNamespaced: false, parts: ['status'] },
  {
    ...{ group: 'example.com', version: 'v1', plural: 'widgets', kind: 'Widget', isNamespaced: true, isCustom: true },
    ...{ parts: ['status', 'scale'], body: { spec: { replicas: 1 } } },
  },
  {
    ...{ group: 'example.com', version: 'v1', plural: 'gadgets', kind: 'Gadget', isNamespaced: false, isCustom: true },
    parts: [],
  },
];

const everybody = 'system:authenticated';

/** Users by a file of tokens; service accounts, which live where nobody tries anything, by tokens of their own. */
const USERS: readonly Person[] = [
  { name: 'alice', groups: ['devs', everybody] },
  { name: 'bert', groups: ['devs', 'ops', everybody] },
  { name: 'carol', groups: [everybody] },
];
export const HOME = 'home';
export const ACCOUNTS = ['robot', 'droid'] as const;

export class AccessWorld implements AsyncDisposable {
  readonly people: readonly Person[] = [
    ...USERS,
    ...ACCOUNTS.map((name) => ({
      name: `system:serviceaccount:${HOME}:${name}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${HOME}`, everybody],
    })),
  ];
  /** What the server has had from its start. */
  readonly ownPolicies: Policy[] = [];
  readonly #server: TestServer;
  readonly #tokens = new Map<string, string>();
  readonly #clients = new Map<string, ApiClient>();
  #settled = 0;

  private constructor(server: TestServer) {
    this.#server = server;
  }

  static async start(): Promise<AccessWorld> {
    await using folder = await temporaryDir();
    const tokenAuthFile = join(folder.path, 'tokens.csv'); // read once
    const lines = USERS.map(({ name, groups }) => `token-of-${name},${name},,"${groups.slice(0, -1).join(',')}"`);
    writeFileSync(tokenAuthFile, `${lines.join('\n')}\n`);
    const world = new AccessWorld(await startTestServer({ tokenAuthFile, introspection: true }));
    await world.#furnish();
    return world;
  }

  get admin(): ApiClient {
    return this.#server.client;
  }

  /** As this person, with a token of his own. */
  clientOf({ name }: Person): ApiClient {
    let client = this.#clients.get(name);
    if (!client) {
      client = this.#server.connect({ token: this.#tokens.get(name)! });
      this.#clients.set(name, client);
    }
    return client;
  }

  /** The version of the last change to anything. */
  async revision(): Promise<string> {
    return (await this.admin.list('/api/v1/nodes', { limit: 1 })).metadata.resourceVersion;
  }

  async addPolicies(policies: readonly Policy[]): Promise<void> {
    await Promise.all(policies.map((policy) => this.admin.create(policyPath(policy), policy)));
  }

  async removePolicies(): Promise<void> {
    const query = { labelSelector: 'try' };
    const scopes = ['roles', 'rolebindings'].flatMap((plural) => NAMESPACES.map((ns) => `namespaces/${ns}/${plural}`));
    for (const place of [...scopes, 'clusterroles', 'clusterrolebindings'])
      await this.admin.delete(`${RBAC}/${place}`, undefined, query);
  }

  /**
   * Resolves when all roles and bindings written so far count. Each kind is followed in order, so a last one of each is
   * enough; gathered roles are written in the order of their names.
   */
  async settle(): Promise<void> {
    const name = `zz-${++this.#settled}`;
    const marked = { name, labels: { try: 'settle', [`gather-${name}`]: 'yes' } };
    const rules = [{ verbs: ['settle'], apiGroups: ['try'], resources: [name] }];
    const bind = (kind: string, role: string, user: string, more: object) => ({
      metadata: { ...marked, ...more },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
      subjects: [{ kind: 'User', name: user }],
    });
    const gathers = { clusterRoleSelectors: [{ matchLabels: { [`gather-${name}`]: 'yes' } }] };
    const inOne = `${RBAC}/namespaces/one`;
    const more = { ...marked, name: `${name}-gathers`, labels: { try: 'settle' } };
    await Promise.all([
      this.admin.create(`${inOne}/roles`, { metadata: marked, rules }),
      this.admin.create(`${inOne}/rolebindings`, bind('Role', name, 'settler-1', {})),
      this.admin.create(`${RBAC}/clusterroles`, { metadata: marked, rules }),
      this.admin.create(`${RBAC}/clusterroles`, { metadata: more, aggregationRule: gathers }),
      this.admin.create(`${RBAC}/clusterrolebindings`, bind('ClusterRole', name, 'settler-2', {})),
      this.admin.create(
        `${RBAC}/clusterrolebindings`,
        bind('ClusterRole', more.name, 'settler-3', { name: more.name }),
      ),
    ]);
    const resourceAttributes = { verb: 'settle', group: 'try', resource: name, namespace: 'one' };
    for (const user of ['settler-1', 'settler-2', 'settler-3'])
      for (;;) {
        const review = { spec: { user, resourceAttributes } };
        const { status } = await this.admin.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
        if ((status as { allowed: boolean }).allowed) break;
      }
  }

  /** The objects of a kind as they were in the beginning, as far as it matters. */
  async restore(kind: Kind, namespace: string): Promise<void> {
    const path = pathOf(kind, namespace);
    const { items } = await this.admin.list(path);
    const there = new Set<string>();
    for (const { metadata, spec } of items) {
      const name = metadata.name!;
      const isBound = kind.plural === 'pods' && (spec as { nodeName?: string }).nodeName;
      if ((NAMES as readonly string[]).includes(name) && !isBound) there.add(name);
      else await this.admin.delete(`${path}/${name}`, { gracePeriodSeconds: 0 });
    }
    for (const name of NAMES) if (!there.has(name)) await this.admin.create(path, objectOf(kind, namespace, name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  async #furnish(): Promise<void> {
    const { admin } = this;
    for (const kind of KINDS) if (kind.isCustom) await admin.create(DEFINITIONS, definitionOf(kind));
    for (const name of [HOME, ...NAMESPACES])
      await admin.create('/api/v1/namespaces', {
        metadata: { name, annotations: { mark: markOf('namespaces', '', name) } },
      });
    for (const { plural, isCustom } of KINDS)
      if (isCustom) while (!isEstablished(await admin.get(`${DEFINITIONS}/${plural}.example.com`)));
    for (const kind of KINDS) for (const namespace of scopesOf(kind)) await this.restore(kind, namespace);
    for (const { name } of USERS) this.#tokens.set(name, `token-of-${name}`);
    for (const name of ACCOUNTS) {
      const accounts = `/api/v1/namespaces/${HOME}/serviceaccounts`;
      const annotations = { mark: markOf('serviceaccounts', HOME, name) };
      await admin.create(accounts, { metadata: { name, annotations } });
      const { status } = await admin.create(`${accounts}/${name}/token`, {});
      this.#tokens.set(`system:serviceaccount:${HOME}:${name}`, (status as { token: string }).token);
    }
    for (const [plural, kind] of POLICY_KINDS) {
      const { items } = await admin.list(`${RBAC}/${plural}`);
      this.ownPolicies.push(...items.map((item) => ({ ...item, kind }) as unknown as Policy));
    }
  }
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const POLICY_KINDS = [
  ['roles', 'Role'],
  ['clusterroles', 'ClusterRole'],
  ['rolebindings', 'RoleBinding'],
  ['clusterrolebindings', 'ClusterRoleBinding'],
] as const;

export function policyPath({ kind, metadata: { namespace } }: Policy): string {
  const plural = POLICY_KINDS.find(([, one]) => one === kind)![0];
  return namespace === undefined ? `${RBAC}/${plural}` : `${RBAC}/namespaces/${namespace}/${plural}`;
}

export function scopesOf({ isNamespaced }: Kind): readonly string[] {
  return isNamespaced ? NAMESPACES : [''];
}

/** Of the collection in a namespace; of all of them for ''. */
export function pathOf({ group, version, plural }: Kind, namespace: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === '' ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`;
}

export function objectOf({ group, version, plural, kind, body }: Kind, namespace: string, name: string): object {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const annotations = { mark: markOf(plural, namespace, name) };
  return { apiVersion, kind, metadata: { name, annotations, ...(namespace && { namespace }) }, ...body };
}

export function markOf(plural: string, namespace: string, name: string): string {
  return `<ruby ${plural} ${namespace || '-'} ${name}>`;
}

/** Which objects a text tells of, in whatever format it is. */
export function marksIn(text: string): string[] {
  return (
    text
      .replaceAll('\\u003c', '<')
      .replaceAll('\\u003e', '>')
      .match(/<ruby [^>]*>/g) ?? []
  );
}

function definitionOf({ group, version, plural, kind, isNamespaced, parts }: Kind): object {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  const subresources = { ...(parts.includes('status') && { status: {} }), ...(parts.includes('scale') && { scale }) };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: isNamespaced ? 'Namespaced' : 'Cluster',
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema, subresources }],
    },
  };
}

function isEstablished({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status: is }) => type === 'Established' && is === 'True');
}
