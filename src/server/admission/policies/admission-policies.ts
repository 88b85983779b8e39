/**
 * The admission policies of one server: follows policies and bindings in storage and gives them to the admission chain as
 * two plugins. A change is in effect as soon as storage tells of it.
 */
import type { KubeObject } from '../../../api/index.ts';
import type { Authorizer } from '../../auth/authorizer.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { StoredObject } from '../../storage/objects/stored-object.ts';
import type { ResourceStorages } from '../../storage/resource-storages.ts';
import type { AdmissionPlugin, ConvertObject } from '../admission.ts';
import { EquivalentResources } from '../matching/equivalent-resources.ts';
import { mutatingPolicies } from './mutating/mutating-plugin.ts';
import { MutatingPolicy } from './mutating/mutating-policy.ts';
import type { ParamStore } from './params.ts';
import { readBinding } from './policy-binding.ts';
import { type NamespaceNamed, PolicyMatcher } from './policy-matcher.ts';
import { expressionTimer, mutatingMetrics, validatingMetrics } from './policy-metrics.ts';
import { PolicySource } from './policy-source.ts';
import { validatingPolicies } from './validating/validating-plugin.ts';
import { ValidatingPolicy } from './validating/validating-policy.ts';

export const ADMISSION_GROUP = 'admissionregistration.k8s.io';
const FILL_MS = 60_000;

export type AdmissionPoliciesParts = {
  readonly storages: ResourceStorages;
  readonly authorizer: Authorizer;
  readonly metrics: Metrics;
  readonly log: (line: string) => void;
  readonly convert: ConvertObject;
};

type Followed = {
  setPolicy(name: string, object?: KubeObject): void;
  setBinding(name: string, object?: KubeObject): void;
};

export class AdmissionPolicies {
  readonly plugins: readonly AdmissionPlugin[];
  readonly #storages: ResourceStorages;

  constructor({ storages, authorizer, metrics, log, convert }: AdmissionPoliciesParts) {
    this.#storages = storages;
    const validating = new PolicySource((object) => new ValidatingPolicy(object), readBinding, log);
    const mutating = new PolicySource((object) => new MutatingPolicy(object), readBinding, log);
    this.#follow('validatingadmissionpolicies', 'validatingadmissionpolicybindings', validating);
    this.#follow('mutatingadmissionpolicies', 'mutatingadmissionpolicybindings', mutating);
    const matcher = new PolicyMatcher(new EquivalentResources(storages.registry), namespaces(storages));
    const timer = expressionTimer(metrics);
    const parts = { matcher, authorizer, convert, timer, params: paramStore(storages, convert) };
    this.plugins = [
      mutatingPolicies({ ...parts, policies: mutating, observer: mutatingMetrics(metrics) }),
      validatingPolicies({ ...parts, policies: validating, observer: validatingMetrics(metrics) }),
    ];
  }

  /** Everything that was stored before is known: before that nothing may be let in. */
  async ready(signal: AbortSignal = new AbortController().signal): Promise<void> {
    for (const kind of ['validating', 'mutating'])
      for (const plural of [`${kind}admissionpolicies`, `${kind}admissionpolicybindings`]) {
        const { objects } = this.#storages.followedStorageOf(ADMISSION_GROUP, plural);
        if (!(await objects.waitFor(1, FILL_MS, signal)))
          throw new Error(`Cannot read ${plural}: the store does not answer`);
      }
  }

  #follow(policies: string, bindings: string, source: Followed): void {
    const follow = (plural: string, set: (name: string, object?: KubeObject) => void) =>
      this.#storages
        .followedStorageOf(ADMISSION_GROUP, plural)
        .objects.follow((current, previous) => set((current ?? previous)!.name, current?.parse()));
    follow(policies, (name, object) => source.setPolicy(name, object));
    follow(bindings, (name, object) => source.setBinding(name, object));
  }
}

/** As the cache has them; the store is asked for what it does not have. */
function namespaces(storages: ResourceStorages): NamespaceNamed {
  const parsed = new WeakMap<StoredObject, KubeObject>();
  return (name) => {
    const storage = storages.storageOf('', 'namespaces');
    const cached = storage.objects.peek('', name);
    if (!cached) return storage.read('', name).then((found) => found?.parse());
    let object = parsed.get(cached);
    if (!object) {
      object = cached.parse();
      parsed.set(cached, object);
    }
    return object;
  };
}

function paramStore(storages: ResourceStorages, convert: ConvertObject): ParamStore {
  const { registry } = storages;
  return {
    resourceOf: (apiVersion, kind) => {
      const [version = '', group = ''] = apiVersion.split('/').reverse();
      return registry.findByKind(group, version, kind);
    },
    get: async (resource, namespace, name) => {
      const storage = storages.storageFor(resource);
      const found = await storage.read(namespace, name);
      return found && storage.toObject(found);
    },
    list: async (resource, namespace, { context, signal }) => {
      const { group, plural } = resource;
      const found = await context.list(group, plural, namespace);
      const { resource: listed } = storages.storageOf(group, plural);
      return Promise.all(found.map((object) => convert(object, listed, resource, signal)));
    },
  };
}
