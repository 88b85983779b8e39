/**
 * Versions of a custom kind made of each other by way of one of them, the hub: a pair of functions for every other
 * version is enough for all ways between them.
 *
 * What an API server forbids cannot happen: kind, version and metadata are put right here, but for labels and annotations,
 * which a converter may use to keep what the other version has no place for. One object that cannot be converted fails the
 * whole review, with its name.
 */
import type { AnyObject, Resource } from '../../client/index.ts';

type Converted<T extends AnyObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
};

export type Converter<Hub extends AnyObject, Spoke extends AnyObject> = {
  readonly toHub: (object: Spoke) => Converted<Hub>;
  readonly fromHub: (object: Hub) => Converted<Spoke>;
};

export type AnyConverter = Converter<AnyObject, AnyObject>;

export type ConversionReview = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly request?: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly AnyObject[];
  };
};

/** All versions of one kind. */
export class Conversion {
  readonly hub: Resource;
  readonly #spokes = new Map<string, AnyConverter>();

  constructor(hub: Resource) {
    this.hub = hub;
  }

  get isEmpty(): boolean {
    return this.#spokes.size === 0;
  }

  add(spoke: Resource, converter: AnyConverter): void {
    const { group, plural, apiVersion } = spoke;
    if (group !== this.hub.group || plural !== this.hub.plural)
      throw new TypeError(`Cannot convert ${plural}.${group} to ${this.hub.plural}.${this.hub.group}: another kind`);
    if (apiVersion === this.hub.apiVersion)
      throw new TypeError(`Cannot convert ${apiVersion} of ${plural} to itself: it is the hub`);
    this.#spokes.set(apiVersion, converter);
  }

  convert(object: AnyObject, wanted: string): AnyObject {
    if (object.apiVersion === wanted) return object;
    const hub =
      object.apiVersion === this.hub.apiVersion
        ? object
        : this.#put(object, this.#of(object.apiVersion).toHub, this.hub.apiVersion);
    return wanted === this.hub.apiVersion ? hub : this.#put(hub, this.#of(wanted).fromHub, wanted);
  }

  #of(apiVersion: string): AnyConverter {
    const found = this.#spokes.get(apiVersion);
    if (!found) throw new Error(`there is no converter for ${apiVersion}`);
    return found;
  }

  #put(object: AnyObject, convert: (object: AnyObject) => Converted<AnyObject>, apiVersion: string): AnyObject {
    const { metadata: given, ...fields } = convert(structuredClone(object));
    const { labels = object.metadata.labels, annotations = object.metadata.annotations } = given ?? {};
    const metadata = { ...object.metadata, ...(labels && { labels }), ...(annotations && { annotations }) };
    return { ...fields, apiVersion, kind: object.kind, metadata };
  }
}

export function convertReview({ request, kind, apiVersion }: ConversionReview, conversion: Conversion): object {
  const uid = request?.uid ?? '';
  const respond = (response: object) => ({
    apiVersion: apiVersion ?? '',
    kind: kind ?? '',
    response: { uid, ...response },
  });
  const convertedObjects: AnyObject[] = [];
  for (const object of request?.objects ?? []) {
    try {
      convertedObjects.push(conversion.convert(object, request?.desiredAPIVersion ?? ''));
    } catch (err) {
      const { name, namespace } = object.metadata;
      const shown = namespace ? `${namespace}/${name}` : name;
      const message = `Cannot convert ${object.kind} "${shown}" from ${object.apiVersion} to ${request?.desiredAPIVersion}: ${(err as Error).message}`;
      return respond({ convertedObjects: [], result: { status: 'Failure', message } });
    }
  }
  return respond({ convertedObjects, result: { status: 'Success' } });
}
