/**
 * How API servers learn of webhooks: a configuration for those that mutate, one for those that validate, and the place of
 * the converter in the definition of a kind. Applied, so again is the same as once, and a new authority is told by telling
 * all of it again.
 */
import {
  admissionregistrationv1,
  apiextensionsv1,
  type KubeClient,
  mergePatch,
  type Resource,
} from '../../client/index.ts';
import type { Operation } from './admission-handlers.ts';

type Selector = {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
};

/** As in a webhook of a configuration. */
export type RuleOptions = {
  /** CREATE and UPDATE */
  readonly operations?: readonly Operation[] | undefined;
  /** Such as `status`, instead of the objects themselves. */
  readonly subresource?: string | undefined;
  /** Fail */
  readonly failurePolicy?: 'Fail' | 'Ignore' | undefined;
  /** 10 s */
  readonly timeoutSeconds?: number | undefined;
  readonly namespaceSelector?: Selector | undefined;
  readonly objectSelector?: Selector | undefined;
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[] | undefined;
  /** It does something that lasts, if it is no dry run: NoneOnDryRun instead of None. */
  readonly hasSideEffects?: boolean | undefined;
};

export type RegisteredHook = {
  readonly kind: 'validate' | 'mutate';
  readonly path: string;
  readonly resource: Resource;
  readonly options: RuleOptions;
};

/** Where API servers call: a Service of the cluster, or an address. */
export type CallTarget =
  | { readonly service: { readonly name: string; readonly namespace: string; readonly port?: number | undefined } }
  | { readonly url: string };

export type Registration = {
  /** Of the configurations. */
  readonly name: string;
  readonly target: CallTarget;
  readonly authorityPem: string;
  readonly hooks: readonly RegisteredHook[];
  readonly conversions: readonly { readonly resource: Resource; readonly path: string }[];
};

const { mutatingWebhookConfigurations, validatingWebhookConfigurations } = admissionregistrationv1;

export async function register(client: KubeClient, registration: Registration, signal?: AbortSignal): Promise<void> {
  const { name, hooks, conversions } = registration;
  const options = { fieldManager: `${name}-webhooks`, force: true, signal };
  const of = (kind: RegisteredHook['kind']) =>
    hooks.filter((hook) => hook.kind === kind).map((hook, index) => webhookOf(hook, index, registration));
  const mutating = of('mutate');
  const validating = of('validate');
  if (mutating.length > 0)
    await client.resource(mutatingWebhookConfigurations).apply({ metadata: { name }, webhooks: mutating }, options);
  if (validating.length > 0)
    await client.resource(validatingWebhookConfigurations).apply({ metadata: { name }, webhooks: validating }, options);
  for (const { resource, path } of conversions) {
    const webhook = { clientConfig: clientConfig(registration, path), conversionReviewVersions: ['v1'] };
    const change = mergePatch<apiextensionsv1.CustomResourceDefinition>({
      spec: { conversion: { strategy: 'Webhook', webhook } },
    });
    const crds = client.resource(apiextensionsv1.customResourceDefinitions);
    await crds.patch(`${resource.plural}.${resource.group}`, change, { signal, fieldManager: options.fieldManager });
  }
}

/** What is registered under a name is there no more; definitions keep their converter, without which nothing is read. */
export async function unregister(client: KubeClient, name: string, signal?: AbortSignal): Promise<void> {
  for (const resource of [mutatingWebhookConfigurations, validatingWebhookConfigurations]) {
    const api = client.resource(resource as Resource);
    if (await api.find(name, { signal })) await api.delete(name, { signal });
  }
}

function webhookOf({ kind, path, resource, options }: RegisteredHook, index: number, registration: Registration) {
  const { group, version, plural } = resource;
  const { operations = ['CREATE', 'UPDATE'], subresource, failurePolicy = 'Fail', timeoutSeconds = 10 } = options;
  const { namespaceSelector, objectSelector, matchConditions, hasSideEffects = false } = options;
  return {
    // Three parts at least, and each name once.
    name: `${kind}${index === 0 ? '' : `-${index + 1}`}.${plural}.${group || 'core'}`,
    admissionReviewVersions: ['v1'],
    sideEffects: hasSideEffects ? ('NoneOnDryRun' as const) : ('None' as const),
    failurePolicy,
    timeoutSeconds,
    clientConfig: clientConfig(registration, path),
    rules: [
      {
        operations: [...operations],
        apiGroups: [group],
        apiVersions: [version],
        resources: [subresource === undefined ? plural : `${plural}/${subresource}`],
      },
    ],
    ...(namespaceSelector && { namespaceSelector }),
    ...(objectSelector && { objectSelector }),
    ...(matchConditions && { matchConditions: [...matchConditions] }),
  };
}

function clientConfig({ target, authorityPem }: Registration, path: string) {
  const caBundle = Buffer.from(authorityPem).toString('base64');
  if ('url' in target) return { url: `${target.url}${path}`, caBundle };
  const { name, namespace, port = 443 } = target.service;
  return { service: { name, namespace, port, path }, caBundle };
}
