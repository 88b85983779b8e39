/** For tests: one write through plugins, with the other objects there are given as a table. */
import type { JsonObject, KubeObject } from '../../api/index.ts';
import { find } from '../kinds/strategy-run.testing.ts';
import { RequestNotice } from '../request/abort-notice.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { StrategyContext } from '../strategy/strategy.ts';
import type { AdmissionOperation, AdmissionPlugin } from './admission.ts';
import { AdmissionChain } from './admission-chain.ts';
import { WriteAttributes } from './write-attributes.ts';

export type TestWrite = {
  readonly operation?: AdmissionOperation;
  /** As messages name it: `pods`, `deployments.apps`. */
  readonly resource: string;
  readonly subresource?: string;
  readonly object?: JsonObject;
  readonly old?: JsonObject;
  readonly user?: UserInfo;
  readonly isDryRun?: boolean;
  readonly namespace?: string;
  /** The objects there are already, by `group/plural`. */
  readonly others?: Readonly<Record<string, readonly JsonObject[]>>;
};

export type Admitted = {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
};

/** Both phases; rejects with the refusal. */
export async function admitted(plugin: AdmissionPlugin, write: TestWrite): Promise<Admitted> {
  const { operation = 'CREATE', subresource = '', user = { username: 'u', groups: [] }, isDryRun = false } = write;
  const resource = find(write.resource);
  const namespace = resource.isNamespaced ? (write.namespace ?? 'ns') : '';
  const named = (given: JsonObject | undefined) => given && objectOf(given, resource.kind, resource.groupVersion);
  const [object, old] = [named(write.object), named(write.old)];
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const others = (group: string, plural: string, inNamespace = '') =>
    ((write.others?.[`${group}/${plural}`] ?? []) as unknown as KubeObject[]).filter(
      ({ metadata }) => inNamespace === '' || metadata.namespace === undefined || metadata.namespace === inNamespace,
    );
  const known: StrategyContext['known'] = (group, plural, where, name) =>
    others(group, plural, where).find(({ metadata }) => metadata.name === name);
  const context: StrategyContext = {
    now: '2024-01-01T00:00:00Z',
    subresource,
    isDryRun,
    user,
    list: async (...where) => others(...where),
    listHeld: async (...where) => others(...where),
    listKnown: async (...where) => others(...where),
    walk: async (...where) => ({ total: others(...where).length, objects: others(...where) }),
    known,
    remembered: known,
    warn: (text) => warnings.push(text),
  };
  const facts = {
    operation,
    resource,
    subresource,
    namespace,
    name: operation === 'CREATE' ? '' : (old?.metadata.name ?? ''),
    user,
    isDryRun,
    options: () => ({}),
    annotate: (key: string, value: string) => {
      annotations[key] = value;
    },
    signal: new AbortController().signal,
    notice: new RequestNotice(),
  };
  const chain = new AdmissionChain([plugin]);
  const attributes = new WriteAttributes(facts, context, object, old);
  await chain.admit(attributes);
  await chain.validate(new WriteAttributes(facts, context, attributes.object, old));
  return { object: attributes.object!, warnings, annotations };
}

function objectOf(given: JsonObject, kind: string, apiVersion: string): KubeObject {
  const metadata = { name: 'a', ...(given.metadata as JsonObject | undefined) };
  return { kind, apiVersion, ...structuredClone(given), metadata: structuredClone(metadata) } as unknown as KubeObject;
}
