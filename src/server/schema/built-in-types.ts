/**
 * The built-in kinds as data: every type of the API and every resource, unpacked from generated/kinds-data.ts when first asked for.
 *
 * Packed form, one JSON text:
 *
 *     groups     [group, [version, …]], in the order of discovery, the preferred version first
 *     packages   [name, 'group/version' of its kinds]
 *     types      [number of the package, short name, type]; a type's number is its place here
 *     resources  [group, version, plural, kind, namespaced, verbs, short names, categories, subresources]
 *                a subresource is [name, verbs, kind?, group?, version?]; verbs are letters, names parted by blanks
 *
 *     a type is  a letter   a scalar, in capitals with its zero as default; `o` is any object, `a` is anything
 *                n, -1-n    a reference to type n; the negative one with the default {}
 *                [item, list type (its first letter), map keys, merge key, patch strategy]   a list, short from the end
 *                {…}        p properties, m values of a map, n items, r required, e enum, v default, t the type it adds
 *                           to, g kinds (1: its own name in the package's group version); other keys as in OpenAPI
 *
 * What comes out is OpenAPI v3 as kube-apiserver says it, except that `$ref` holds the bare name of the type.
 */
import type { JsonObject, JsonValue } from '../../api/json.ts';
import { kindsData } from './generated/kinds-data.ts';
import { packedScalars } from './packed-scalars.ts';

export type BuiltInSubresource = {
  readonly name: string;
  readonly kind: string;
  /** `''`: that of the resource. */
  readonly group: string;
  readonly version: string;
  readonly verbs: readonly string[];
};

export type BuiltInResource = {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly scope: 'Namespaced' | 'Cluster';
  readonly singular: string;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly BuiltInSubresource[];
};

export interface BuiltInTypes {
  readonly groups: readonly { readonly group: string; readonly versions: readonly string[] }[];
  readonly resources: readonly BuiltInResource[];
  /** Changes whenever the facts do. */
  readonly text: string;
  /** The type of that name; the caller must not change it. */
  openApi(name: string): JsonObject | undefined;
  /** The name of the type that stands for a kind. */
  nameOf(group: string, version: string, kind: string): string | undefined;
}

type Packed = number | string | [item: Packed, ...list: string[]] | PackedRest;
type PackedRest = { [key: string]: JsonValue } & {
  p?: Record<string, Packed>;
  m?: Packed;
  n?: Packed;
  r?: string[];
  e?: JsonValue[];
  v?: JsonValue;
  t?: Packed;
  g?: 1 | string[];
};
type PackedData = {
  groups: [group: string, versions: string[]][];
  packages: [name: string, groupVersion: string][];
  types: [packageNumber: number, name: string, type: Packed][];
  resources: [string, string, string, string, 0 | 1, string, string, string, string[][]][];
};

let loaded: BuiltInTypes | undefined;

export function builtInTypes(): BuiltInTypes {
  loaded ??= load(kindsData);
  return loaded;
}

function load(text: string): BuiltInTypes {
  const data = JSON.parse(text) as PackedData;
  const fullName = (number: number) => {
    const [packageNumber, name] = data.types[number]!;
    return `${data.packages[packageNumber]![0]}.${name}`;
  };
  const numbers = new Map(data.types.map((_type, number) => [fullName(number), number]));
  const unpacked = new Map<string, JsonObject>();
  const unpacker = new Unpacker(fullName);
  let byKind: Map<string, string> | undefined;

  const openApi = (name: string): JsonObject | undefined => {
    const known = unpacked.get(name);
    const number = numbers.get(name);
    if (known || number === undefined) return known;
    const [packageNumber, shortName, packed] = data.types[number]!;
    const schema = unpacker.unpack(packed);
    const marks = marksOf(packed, data.packages[packageNumber]![1]);
    if (marks) schema['x-kubernetes-group-version-kind'] = marks.map((mark) => kindMark(mark, shortName));
    unpacked.set(name, schema);
    return schema;
  };

  const indexKinds = () => {
    const index = new Map<string, string>();
    for (const [number, [packageNumber, kind, packed]] of data.types.entries())
      for (const mark of marksOf(packed, data.packages[packageNumber]![1]) ?? [])
        index.set(`${mark}/${kind}`, fullName(number));
    return index;
  };

  return {
    text,
    groups: data.groups.map(([group, versions]) => ({ group, versions })),
    resources: data.resources.map(unpackResource),
    openApi,
    nameOf: (group, version, kind) => {
      byKind ??= indexKinds();
      return byKind.get(`${group}/${version}/${kind}`);
    },
  };
}

function marksOf(packed: Packed, own: string): string[] | undefined {
  if (typeof packed !== 'object' || Array.isArray(packed) || packed.g === undefined) return undefined;
  return packed.g === 1 ? [own] : packed.g;
}

function kindMark(groupVersion: string, kind: string): JsonObject {
  const slash = groupVersion.indexOf('/');
  return { group: groupVersion.slice(0, slash), kind, version: groupVersion.slice(slash + 1) };
}

const listTypes: Readonly<Record<string, string>> = { a: 'atomic', s: 'set', m: 'map' };

class Unpacker {
  readonly #fullName: (number: number) => string;
  constructor(fullName: (number: number) => string) {
    this.#fullName = fullName;
  }

  unpack(packed: Packed): JsonObject {
    if (typeof packed === 'string') return { ...packedScalars[packed] };
    if (typeof packed === 'number')
      return packed < 0 ? { default: {}, $ref: this.#fullName(-1 - packed) } : { $ref: this.#fullName(packed) };
    return Array.isArray(packed) ? this.#list(packed) : this.#rest(packed);
  }

  #list([item, listType, keys, mergeKey, strategy]: [Packed, ...string[]]): JsonObject {
    return {
      type: 'array',
      items: this.unpack(item),
      ...(keys && { 'x-kubernetes-list-map-keys': keys.split(' ') }),
      ...(listType && { 'x-kubernetes-list-type': listTypes[listType]! }),
      ...(mergeKey && { 'x-kubernetes-patch-merge-key': mergeKey }),
      ...(strategy && { 'x-kubernetes-patch-strategy': strategy }),
    };
  }

  #rest({ p, m, n, r, e, v, t, g: _marks, ...others }: PackedRest): JsonObject {
    const base = t === undefined ? (p || m ? { type: 'object' } : {}) : this.unpack(t);
    const schema: JsonObject = { ...base };
    if (r) schema.required = r;
    if (p) schema.properties = Object.fromEntries(Object.entries(p).map(([name, type]) => [name, this.unpack(type)]));
    if (m !== undefined) schema.additionalProperties = this.unpack(m);
    if (n !== undefined) schema.items = this.unpack(n);
    if (v !== undefined) schema.default = v;
    if (e) schema.enum = e;
    return Object.assign(schema, others);
  }
}

const verbs: Readonly<Record<string, string>> = {
  c: 'create',
  d: 'delete',
  D: 'deletecollection',
  g: 'get',
  l: 'list',
  p: 'patch',
  u: 'update',
  w: 'watch',
};

function unpackResource(packed: PackedData['resources'][number]): BuiltInResource {
  const [group, version, resource, kind, isNamespaced, letters, shortNames, categories, subresources] = packed;
  return {
    group,
    version,
    resource,
    kind,
    scope: isNamespaced ? 'Namespaced' : 'Cluster',
    singular: kind.toLowerCase(),
    verbs: unpackVerbs(letters),
    shortNames: words(shortNames),
    categories: words(categories),
    subresources: subresources.map(([name, subVerbs, subKind = kind, subGroup = '', subVersion = '']) => ({
      name: name!,
      kind: subKind,
      group: subGroup,
      version: subVersion,
      verbs: unpackVerbs(subVerbs!),
    })),
  };
}

function unpackVerbs(letters: string): string[] {
  return Array.from(letters, (letter) => verbs[letter]!);
}

function words(text: string): string[] {
  return text === '' ? [] : text.split(' ');
}
