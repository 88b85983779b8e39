/**
 * The types of expressions, as far as they are known before anything runs. `dyn` is what is not known: it goes with
 * everything, and is looked at when it is there. Objects are told apart by where they are declared, not by their
 * fields. Pure.
 */
export type CelType =
  | { readonly kind: PlainKind }
  | { readonly kind: 'list' | 'optional'; readonly of: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly of: CelType }
  | { readonly kind: 'object'; readonly name: string; readonly fields: ReadonlyMap<string, CelType> }
  | { readonly kind: 'opaque' | 'param'; readonly name: string };

type PlainKind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null'
  | 'timestamp'
  | 'duration'
  | 'type'
  | 'dyn';

const PLAIN: readonly PlainKind[] = [
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'null',
  'timestamp',
  'duration',
  'type',
  'dyn',
];
const plainTypes: ReadonlyMap<string, CelType> = new Map(PLAIN.map((kind) => [kind, { kind }]));

export const dyn: CelType = plainTypes.get('dyn')!;
/** What nothing is known of yet, such as the elements of `[]`: next to any other type it is that type. */
export const open: CelType = { kind: 'dyn' };
export const bool: CelType = plainTypes.get('bool')!;
export const int: CelType = plainTypes.get('int')!;
export const string: CelType = plainTypes.get('string')!;

export function plainType(kind: PlainKind): CelType {
  return plainTypes.get(kind)!;
}

export function listOf(of: CelType): CelType {
  return { kind: 'list', of };
}

export function mapOf(key: CelType, of: CelType): CelType {
  return { kind: 'map', key, of };
}

export function optionalOf(of: CelType): CelType {
  return { kind: 'optional', of };
}

/** What signatures call shortly. */
const opaqueNames: ReadonlyMap<string, string> = new Map([
  ['Address', 'net.IP'],
  ['Network', 'net.CIDR'],
  ['Url', 'kubernetes.URL'],
  ['Quantity', 'kubernetes.Quantity'],
  ['Semver', 'kubernetes.Semver'],
  ['Format', 'kubernetes.NamedFormat'],
  ['Authorizer', 'kubernetes.authorization.Authorizer'],
  ['PathCheck', 'kubernetes.authorization.PathCheck'],
  ['GroupCheck', 'kubernetes.authorization.GroupCheck'],
  ['ResourceCheck', 'kubernetes.authorization.ResourceCheck'],
  ['Decision', 'kubernetes.authorization.Decision'],
]);

/** As errors name it. */
export function typeName(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeName(type.of)})`;
    case 'optional':
      return `optional_type(${typeName(type.of)})`;
    case 'map':
      return `map(${typeName(type.key)}, ${typeName(type.of)})`;
    case 'opaque':
      return opaqueNames.get(type.name) ?? type.name;
    case 'object':
    case 'param':
      return type.name;
    case 'null':
      return 'null_type';
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'duration':
      return 'google.protobuf.Duration';
    default:
      return type.kind;
  }
}

/** What the letters of a signature stand for. */
export type Bindings = Map<string, CelType>;

/** Whether a value of `from` can be given where `to` is wanted. */
export function isAssignable(to: CelType, from: CelType, bindings: Bindings): boolean {
  if (to.kind === 'param') {
    const bound = bindings.get(to.name);
    if (!bound || bound === open) {
      bindings.set(to.name, from);
      return true;
    }
    if (isAssignable(bound, from, bindings)) return true;
    if (!isAssignable(from, bound, bindings)) return false;
    bindings.set(to.name, from);
    return true;
  }
  if (to.kind === 'dyn' || from.kind === 'dyn' || to === from) return true;
  if (from.kind === 'null') return to.kind === 'null' || NULLABLE.has(to.kind);
  if (to.kind !== from.kind) return false;
  switch (to.kind) {
    case 'list':
    case 'optional':
      return isAssignable(to.of, (from as typeof to).of, bindings);
    case 'map':
      return (
        isAssignable(to.key, (from as typeof to).key, bindings) && isAssignable(to.of, (from as typeof to).of, bindings)
      );
    case 'object':
      return false;
    case 'opaque':
      return to.name === (from as typeof to).name;
    default:
      return true;
  }
}

const NULLABLE: ReadonlySet<string> = new Set(['object', 'opaque', 'timestamp', 'duration']);

/** A type of a signature with its letters filled in; a letter that stands for nothing stands for anything. */
export function filledIn(type: CelType, bindings: Bindings): CelType {
  switch (type.kind) {
    case 'param':
      return bindings.get(type.name) ?? open;
    case 'list':
    case 'optional':
      return { kind: type.kind, of: filledIn(type.of, bindings) };
    case 'map':
      return mapOf(filledIn(type.key, bindings), filledIn(type.of, bindings));
    default:
      return type;
  }
}

/** Whether it is that type and no other; what is open in it may be anything. */
export function isExactly(type: CelType, wanted: CelType): boolean {
  if (type === wanted) return true;
  if (type.kind === 'list' || type.kind === 'optional')
    return type.kind === wanted.kind && (type.of === open || isExactly(type.of, (wanted as typeof type).of));
  if (type.kind === 'map' && wanted.kind === 'map')
    return isExactly(type.key, wanted.key) && isExactly(type.of, wanted.of);
  if (type.kind === 'object' || type.kind === 'opaque') return wanted.kind === type.kind && type.name === wanted.name;
  return type.kind === wanted.kind;
}

/** A type that both go with; undefined if they have nothing in common. */
export function joined(a: CelType, b: CelType): CelType | undefined {
  if (a === open || b === open) return a === open ? b : a;
  if (a.kind === 'dyn' || b.kind === 'dyn') return dyn;
  if ((a.kind === 'list' || a.kind === 'optional') && a.kind === b.kind) {
    const of = joined(a.of, (b as typeof a).of);
    return of && { kind: a.kind, of };
  }
  if (a.kind === 'map' && b.kind === 'map') {
    const [key, of] = [joined(a.key, b.key), joined(a.of, b.of)];
    return key && of && mapOf(key, of);
  }
  if (isAssignable(a, b, new Map())) return a;
  return isAssignable(b, a, new Map()) ? b : undefined;
}

/** `list<A>`, `map<string, int>`, `Quantity`: as signatures write types. */
export function readType(text: string): CelType {
  const inner = /^(list|optional|map)<(.*)>$/.exec(text);
  if (inner) {
    if (inner[1] !== 'map') return { kind: inner[1] as 'list' | 'optional', of: readType(inner[2]!) };
    const comma = inner[2]!.indexOf(',');
    return mapOf(readType(inner[2]!.slice(0, comma)), readType(inner[2]!.slice(comma + 1).trim()));
  }
  const known = plainTypes.get(text);
  if (known) return known;
  return { kind: /^[A-Z]$/.test(text) ? 'param' : 'opaque', name: text };
}
