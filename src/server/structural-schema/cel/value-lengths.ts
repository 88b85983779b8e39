/**
 * How long the values of a schema can be, for reckoning what a rule may cost: what `maxItems`, `maxProperties` and
 * `maxLength` say, and where they say nothing what fits into the largest request there is. Made from a schema that is
 * known to be structural; each node once, when it is asked for.
 */
import type { JsonValue } from '../../../api/index.ts';
import type { Structural } from '../../../schemas/structural/structural.ts';
import { celName, objectFields } from './value-forms.ts';

/** The largest body, which is also the largest value. */
const LIMIT_BODY_BYTES = 3 * 1024 * 1024;
/** A character of a text takes up to four bytes. */
const CHARACTER_BYTES = 4;
/** Quotes, brackets or braces. */
const ENDS = 2;

export type Lengths = {
  /** Characters, elements or entries; 0 for what has none. */
  readonly most: number;
  /** What a value takes at least, as JSON. */
  readonly leastBytes: number;
  /** Of an object, by its spelling in rules. */
  readonly fields?: () => ReadonlyMap<string, Lengths>;
  readonly elements?: Lengths;
  readonly keys?: Lengths;
};

const KEYS: Lengths = { most: 0, leastBytes: ENDS };

/** The most that stands at a path below a value, whose own name comes first; undefined where the schema says nothing. */
export function lengthAt(root: Lengths, path: readonly string[]): number | undefined {
  let at: Lengths | undefined = root;
  for (const step of path.slice(1)) {
    if (step === '@items' || step === '@values') at = at.elements;
    else at = step === '@keys' ? at.keys : at.fields?.().get(step);
    if (!at) return undefined;
  }
  return at.most;
}

/** How often a value of this length at least can be in one body. */
export function mostOften({ leastBytes }: Lengths): number {
  return Math.floor(LIMIT_BODY_BYTES / (leastBytes + 1));
}

/** Undefined for what rules cannot see. */
export class ValueLengths {
  readonly #known = new Map<Structural, Lengths | undefined>();

  of(node: Structural, isWhole: boolean = node.isEmbedded): Lengths | undefined {
    if (!this.#known.has(node)) this.#known.set(node, this.#make(isWhole ? withObjectNames(node) : node));
    return this.#known.get(node);
  }

  #make(node: Structural): Lengths | undefined {
    if (node.isIntOrString) return { most: textLength(node) ?? LIMIT_BODY_BYTES - ENDS, leastBytes: 1 };
    switch (node.type) {
      case 'array':
        return this.#list(node);
      case 'object':
        return node.additional ? this.#map(node, node.additional) : this.#object(node);
      case 'string':
        return text(node);
      case 'boolean':
        return { most: 0, leastBytes: 4 };
      case 'number':
      case 'integer':
        return { most: 0, leastBytes: 1 };
      default:
        return undefined;
    }
  }

  #list({ items, source }: Structural): Lengths | undefined {
    const elements = items && this.of(items);
    if (!elements) return undefined;
    const fitting = Math.floor((LIMIT_BODY_BYTES - ENDS) / (elements.leastBytes + 1));
    return { most: bound(source.maxItems) ?? fitting, leastBytes: ENDS, elements };
  }

  /** Beside its value an entry has quotes, a colon, a comma and a key. */
  #map({ source }: Structural, additional: Structural): Lengths | undefined {
    const elements = this.of(additional);
    if (!elements) return undefined;
    const fitting = Math.floor((LIMIT_BODY_BYTES - ENDS) / (elements.leastBytes + 6));
    return { most: bound(source.maxProperties) ?? fitting, leastBytes: ENDS, elements, keys: KEYS };
  }

  /** At least it has what is required, if the server does not put that in itself. */
  #object({ properties, source }: Structural): Lengths {
    const required = Array.isArray(source.required) ? source.required : [];
    let leastBytes = ENDS;
    for (const name of new Set(required as string[])) {
      const node = properties.get(name);
      const field = node && node.default === undefined ? this.of(node) : undefined;
      if (field) leastBytes += Buffer.byteLength(name) + field.leastBytes + 4;
    }
    let fields: Map<string, Lengths> | undefined;
    return {
      most: 0,
      leastBytes,
      fields: () => {
        fields ??= this.#fieldsOf(properties);
        return fields;
      },
    };
  }

  #fieldsOf(properties: Structural['properties']): Map<string, Lengths> {
    const fields = new Map<string, Lengths>();
    for (const [name, node] of properties) {
      const [spelling, lengths] = [celName(name), this.of(node)];
      if (spelling !== undefined && lengths) fields.set(spelling, lengths);
    }
    return fields;
  }
}

function withObjectNames(node: Structural): Structural {
  return { ...node, properties: new Map([...node.properties, ...objectFields()]) };
}

/** Times and spans are written in a few characters. */
const written: ReadonlyMap<string, Lengths> = new Map([
  ['duration', { most: 32, leastBytes: 3 }],
  ['date', { most: 12, leastBytes: 12 }],
  ['date-time', { most: 32, leastBytes: 22 }],
]);

function text(node: Structural): Lengths {
  const { format, enum: values } = node.source;
  const known = written.get(String(format));
  if (known) return known;
  if (format === 'byte') return { most: bound(node.source.maxLength) ?? LIMIT_BODY_BYTES - ENDS, leastBytes: ENDS };
  const longest = Array.isArray(values) && values.length > 0 ? longestOf(values) : LIMIT_BODY_BYTES - ENDS;
  return { most: textLength(node) ?? longest, leastBytes: ENDS };
}

function textLength({ source }: Structural): number | undefined {
  const most = bound(source.maxLength);
  return most === undefined ? undefined : most * CHARACTER_BYTES;
}

function longestOf(values: readonly JsonValue[]): number {
  let longest = 0;
  for (const value of values) if (typeof value === 'string') longest = Math.max(longest, Buffer.byteLength(value));
  return longest;
}

function bound(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? Math.max(Number(value), 0) : undefined;
}
