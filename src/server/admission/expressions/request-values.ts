/**
 * What the expressions of webhooks and policies see of one request: the object and the old one in the version that was
 * matched, the request, its namespace, and what its user may do. Made when the first expression asks.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { AuthorizerValue, ResourceCheck } from '../../cel/library/authorizer-functions.ts';
import { jsonValue } from '../../cel/values/json-values.ts';
import type { Value } from '../../cel/values/values.ts';
import { type ExpressionVariable, expressionVariables } from '../../kinds/admissionregistration/expressions.ts';
import type { Resource } from '../../registry/resource.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { AdmissionAttributes, GroupVersionKind } from '../admission.ts';
import type { KnownRights } from './known-rights.ts';

/** The resource in the version that the rules name. */
export type Matched = { readonly resource: Resource; readonly kind: GroupVersionKind };

export type RequestObjects = {
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
};

export class RequestValues {
  readonly #attributes: AdmissionAttributes;
  readonly #matched: Matched;
  readonly #objects: RequestObjects;
  readonly #rights: KnownRights;
  readonly #namespace: KubeObject | undefined;
  readonly #made = new Map<ExpressionVariable, Value>();

  /** `namespace`: the one the object is in; none where it is in none. */
  constructor(
    attributes: AdmissionAttributes,
    matched: Matched,
    objects: RequestObjects,
    rights: KnownRights,
    namespace?: KubeObject,
  ) {
    this.#attributes = attributes;
    this.#matched = matched;
    this.#objects = objects;
    this.#rights = rights;
    this.#namespace = namespace;
  }

  /** For one program: `uses` of it, and what is not of the request. Without rights there is no authorizer. */
  for(uses: ReadonlySet<string>, params: Value, variables: Value, hasRights: boolean): Value[] {
    return expressionVariables.map((name) => {
      if (!uses.has(name)) return undefined;
      if (name === 'params') return params;
      if (name === 'variables') return variables;
      if (!hasRights && name.startsWith('authorizer')) return undefined;
      return this.#value(name);
    });
  }

  #value(name: ExpressionVariable): Value {
    let value = this.#made.get(name);
    if (value === undefined) {
      value = this.#make(name);
      this.#made.set(name, value);
    }
    return value;
  }

  #make(name: ExpressionVariable): Value {
    switch (name) {
      case 'object':
      case 'oldObject':
        return jsonValue(this.#objects[name] as unknown as JsonObject | undefined);
      case 'request':
        return jsonValue(requestObject(this.#attributes, this.#matched));
      case 'namespaceObject':
        return jsonValue(this.#namespace && namespaceObject(this.#namespace));
      case 'authorizer':
        return new AuthorizerValue((question) => this.#rights.ask(question));
      case 'authorizer.requestResource': {
        const { resource, subresource, name: asked } = this.#attributes;
        return new ResourceCheck(this.#value('authorizer') as AuthorizerValue, {
          group: resource.group,
          resource: resource.plural,
          subresource,
          namespace: namespaceOf(this.#attributes),
          name: asked,
        });
      }
      default:
        return null;
    }
  }
}

/** A Namespace counts as lying in itself. */
export function namespaceOf({ resource, namespace, name, object }: AdmissionAttributes): string {
  const isNamespace = resource.group === '' && resource.plural === 'namespaces';
  return isNamespace ? name || (object?.metadata.name ?? '') : namespace;
}

/** An AdmissionRequest without uid and objects; what is empty is left out, as on the wire. */
function requestObject(attributes: AdmissionAttributes, matched: Matched): JsonObject {
  return { ...requestFacts(attributes, matched), dryRun: attributes.isDryRun, options: attributes.options };
}

/** Of an AdmissionRequest what comes between the uid and the objects. */
export function requestFacts(attributes: AdmissionAttributes, { resource, kind }: Matched): JsonObject {
  const { resource: asked, kind: askedKind, subresource, name, operation, user } = attributes;
  const namespace = namespaceOf(attributes);
  return {
    kind: { ...kind },
    resource: { group: resource.group, version: resource.version, resource: resource.plural },
    ...(subresource && { subResource: subresource }),
    requestKind: { ...askedKind },
    requestResource: { group: asked.group, version: asked.version, resource: asked.plural },
    ...(subresource && { requestSubResource: subresource }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    operation,
    userInfo: userObject(user),
  };
}

function userObject({ username, uid, groups, extra }: UserInfo): JsonObject {
  const shown: JsonObject = {};
  if (username) shown.username = username;
  if (uid) shown.uid = uid;
  if (groups.length > 0) shown.groups = [...groups];
  if (extra && Object.keys(extra).length > 0)
    shown.extra = Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));
  return shown;
}

const NAMESPACE_METADATA = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'finalizers',
];

function namespaceObject({ metadata, spec, status }: KubeObject): JsonObject {
  const shown: JsonObject = {};
  for (const field of NAMESPACE_METADATA) {
    const value = (metadata as JsonObject)[field];
    if (value !== undefined) shown[field] = value;
  }
  return { metadata: shown, spec: (spec ?? {}) as JsonObject, status: (status ?? {}) as JsonObject };
}
