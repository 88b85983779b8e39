/**
 * Types that an expression can make values of by name, `Name{field: value}`. Which there are is for the environment to
 * say; a value is a map that knows the name of its type.
 */
import { type CelType, dyn } from './types.ts';
import type { Value } from './values.ts';

export type StructType = {
  readonly type: CelType & { readonly kind: 'object' };
  /** What is wrong with the values of fields is a CelError. */
  readonly make: (fields: Map<string, Value>) => Value;
};

export class StructValue extends Map<string, Value> {
  readonly structName: string;

  constructor(structName: string, fields: Iterable<readonly [string, Value]>) {
    super(fields);
    this.structName = structName;
  }
}

/** Whatever the name, there is such a field, and it may be anything. */
class AnyFields extends Map<string, CelType> {
  override get(_name: string): CelType {
    return dyn;
  }
}

const anyFields: ReadonlyMap<string, CelType> = new AnyFields();

/** A type of which nothing is known but its name. */
export function openStruct(name: string): StructType {
  return {
    type: { kind: 'object', name, fields: anyFields },
    make: (fields) => new StructValue(name, fields),
  };
}
