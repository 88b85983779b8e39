/**
 * The parameters that a binding gives its policy: one object by name, all with some labels, or none. Read when they are
 * needed, so that what a policy goes by is what is stored.
 */
import {
  type JsonObject,
  type KubeObject,
  type LabelSelector,
  type LabelSelectorObject,
  labelSelectorFromObject,
} from '../../../api/index.ts';
import type { Resource } from '../../registry/resource.ts';
import { objectAt, textAt } from '../../strategy/validation/fields.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { namespaceOf } from '../expressions/request-values.ts';
import { ConfigurationError, kindText } from './policy-errors.ts';

export type ParamKind = { readonly apiVersion: string; readonly kind: string };

export type ParamRef = {
  readonly name: string;
  readonly namespace: string;
  readonly selector: LabelSelector | undefined;
  readonly deniesWithout: boolean;
};

/** Where parameters are. */
export type ParamStore = {
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
  readonly get: (resource: Resource, namespace: string, name: string) => Promise<KubeObject | undefined>;
  readonly list: (resource: Resource, namespace: string, a: AdmissionAttributes) => Promise<readonly KubeObject[]>;
};

export function readParamKind(spec: JsonObject): ParamKind | undefined {
  const kind = objectAt(spec, 'paramKind');
  return kind && { apiVersion: textAt(kind, 'apiVersion'), kind: textAt(kind, 'kind') };
}

export function readParamRef(spec: JsonObject): ParamRef | undefined {
  const ref = objectAt(spec, 'paramRef');
  if (!ref) return undefined;
  const selector = objectAt(ref, 'selector');
  return {
    name: textAt(ref, 'name'),
    namespace: textAt(ref, 'namespace'),
    selector: selector && labelSelectorFromObject(selector as unknown as LabelSelectorObject),
    deniesWithout: textAt(ref, 'parameterNotFoundAction') === 'Deny',
  };
}

/** The kind must be there, whoever uses it. */
export function paramResource({ apiVersion, kind }: ParamKind, store: ParamStore): Resource {
  const found = store.resourceOf(apiVersion, kind);
  if (found) return found;
  const shown = kindText(apiVersion, kind);
  throw new ConfigurationError(`failed to find resource referenced by paramKind: '${shown}'`);
}

/** None: the binding does not count. */
export async function collectParams(
  resource: Resource | undefined,
  ref: ParamRef | undefined,
  a: AdmissionAttributes,
  store: ParamStore,
): Promise<readonly (KubeObject | null)[]> {
  if (!resource || !ref) return [null];
  const params = await findParams(resource, ref, placeOf(resource, ref, namespaceOf(a)), store, a);
  if (params.length === 0 && ref.deniesWithout)
    throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
  return params;
}

function placeOf({ isNamespaced }: Resource, ref: ParamRef, namespace: string): string {
  if (!isNamespaced) {
    if (ref.namespace === '') return '';
    throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  }
  const place = ref.namespace || namespace;
  if (place !== '') return place;
  throw new ConfigurationError(
    'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
  );
}

async function findParams(
  resource: Resource,
  { name, selector }: ParamRef,
  place: string,
  store: ParamStore,
  a: AdmissionAttributes,
): Promise<readonly KubeObject[]> {
  if (name !== '') {
    const found = await store.get(resource, place, name);
    return found ? [found] : [];
  }
  const all = await store.list(resource, place, a);
  return selector ? all.filter(({ metadata }) => selector.matches(metadata.labels)) : all;
}
