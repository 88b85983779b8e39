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
import { whenThere } from '../../event-loop/when-there.ts';
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

  /** At once, but for what has to be converted by somebody else. */
  in({ resource }: Invocation): Versioned | Promise<Versioned> {
    const known = this.#made.get(resource.groupVersion);
    if (known) return known;
    const { object, oldObject } = this.attributes;
    return whenThere(this.#converted(object, resource), (shown) =>
      whenThere(this.#converted(oldObject, resource), (old) => this.#keep(resource, shown, old)),
    );
  }

  #converted(
    one: KubeObject | undefined,
    resource: Resource,
  ): KubeObject | undefined | Promise<KubeObject | undefined> {
    const { resource: asked } = this.attributes;
    if (!one || resource === asked || one.kind !== asked.kind || !this.#isOfOwnKind) return one;
    return this.#convert(one, asked, resource, this.attributes.signal);
  }

  #keep(resource: Resource, object: KubeObject | undefined, oldObject: KubeObject | undefined): Versioned {
    const schema = this.#isOfOwnKind ? resource.schema : undefined;
    const made = { object, oldObject, objectText: textOf(object, schema), oldObjectText: textOf(oldObject, schema) };
    this.#made.set(resource.groupVersion, made);
    return made;
  }

  /** Not what a subresource takes. */
  get #isOfOwnKind(): boolean {
    const { kind, resource } = this.attributes;
    return kind.kind === resource.kind;
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

function textOf(object: KubeObject | undefined, schema: Resource['schema'] | undefined): string {
  if (!object) return 'null';
  const written = object as unknown as JsonObject;
  return jsonText(schema ? withNulls(written, schema) : written);
}
