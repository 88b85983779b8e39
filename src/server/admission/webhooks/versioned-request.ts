/**
 * One request as webhooks are told of it: its objects in the version that a webhook asks for, as text, made once per
 * version however many webhooks ask.
 *
 * While webhooks change the object it exists in the version of the last of them; the next one gets it converted from
 * there, and at the end it goes back to the version of the request.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { jsonText } from '../../../api/json-text.ts';
import { withNulls } from '../../codec/index.ts';
import type { Resource } from '../../registry/resource.ts';
import type { AdmissionAttributes, ConvertObject, GroupVersionKind } from '../admission.ts';

/** What a webhook is called about: the resource in the version its rules name. */
export type Invocation = { readonly resource: Resource; readonly kind: GroupVersionKind };

export type Versioned = {
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  /** As JSON; `null` where there is none. */
  readonly objectText: string;
  readonly oldObjectText: string;
};

export class VersionedRequest {
  readonly attributes: AdmissionAttributes;
  readonly #convert: ConvertObject;
  readonly #made = new Map<string, Versioned>();

  constructor(attributes: AdmissionAttributes, convert: ConvertObject) {
    this.attributes = attributes;
    this.#convert = convert;
  }

  /** As in the request itself. */
  get invocation(): Invocation {
    return { resource: this.attributes.resource, kind: this.attributes.kind };
  }

  /** Only the object itself has other versions: what a subresource takes is the same in all of them. */
  invocationOf(resource: Resource): Invocation {
    const { kind, resource: asked, subresource } = this.attributes;
    const own = resource.subresources.find(({ name }) => name === subresource);
    const isOther = kind.kind !== asked.kind || (subresource !== '' && own?.group !== undefined);
    return {
      resource,
      kind: isOther ? kind : { group: resource.group, version: resource.version, kind: resource.kind },
    };
  }

  async in({ resource }: Invocation): Promise<Versioned> {
    const key = resource.groupVersion;
    let found = this.#made.get(key);
    if (!found) {
      const { object, oldObject, resource: asked, kind, signal } = this.attributes;
      const convert = async (one: KubeObject | undefined) =>
        one && resource !== asked && one.kind === asked.kind && kind.kind === asked.kind
          ? this.#convert(one, asked, resource, signal)
          : one;
      const [shown, old] = [await convert(object), await convert(oldObject)];
      const schema = kind.kind === asked.kind ? resource.schema : undefined;
      const written = (one: KubeObject | undefined) =>
        one && (schema ? withNulls(one as unknown as JsonObject, schema) : (one as unknown as JsonObject));
      found = {
        object: shown,
        oldObject: old,
        objectText: textOf(written(shown)),
        oldObjectText: textOf(written(old)),
      };
      this.#made.set(key, found);
    }
    return found;
  }

  /** Puts what a webhook made of the object in its place, whatever version it asked for. */
  async replace(object: JsonObject, { resource }: Invocation): Promise<void> {
    const { attributes } = this;
    const { resource: asked, kind, signal } = attributes;
    const isOther = resource !== asked && kind.kind === asked.kind;
    const back = isOther ? await this.#convert(object as unknown as KubeObject, resource, asked, signal) : object;
    attributes.replaceObject(back as unknown as JsonObject);
    this.#made.clear();
  }
}

function textOf(object: JsonObject | undefined): string {
  return object ? jsonText(object) : 'null';
}
