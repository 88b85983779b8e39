/** `Name{field: value}`: the name must be a type, the fields must be its own, and their values must go with them. */

import type { Expression } from '../syntax/syntax.ts';
import type { StructType } from '../values/struct-types.ts';
import { isAssignable, typeName } from '../values/types.ts';
import { CelError, Optional, type Value } from '../values/values.ts';
import type { Compiled, Compiling, Scope } from './scope.ts';

const STRUCT_COST = 40;

type Struct = Extract<Expression, { kind: 'struct' }>;
type StructCompiling = Compiling & { readonly structType: (name: string) => StructType | undefined };

export function compileStruct(compiler: StructCompiling, struct: Struct, scope: Scope | undefined): Compiled {
  const { name, fields, at } = struct;
  const found = compiler.structType(name);
  if (!found) return compiler.fault(at, `undeclared reference to '${name}' (in container '')`);
  const { type, make } = found;
  const values = fields.map(({ name: field, value, isOptional, at: place }) => {
    const compiled = compiler.compile(value, scope);
    const wanted = type.fields.get(field);
    const given = isOptional && compiled.type.kind === 'optional' ? compiled.type.of : compiled.type;
    if (!wanted) compiler.fault(place, `undefined field '${field}'`);
    else if (!isAssignable(wanted, given, new Map()))
      compiler.fault(
        place,
        `expected type of field '${field}' is '${typeName(wanted)}' but provided type is '${typeName(given)}'`,
      );
    return compiled.run;
  });
  return {
    type,
    run: (frame) => {
      frame.budget.charge(STRUCT_COST);
      const made = new Map<string, Value>();
      for (let i = 0; i < values.length; i++) {
        const value = values[i]!(frame);
        if (!fields[i]!.isOptional) made.set(fields[i]!.name, value);
        else if (!(value instanceof Optional))
          throw new CelError(`cannot initialize optional entry '${fields[i]!.name}'`);
        else if (value.hasValue) made.set(fields[i]!.name, value.value);
      }
      return make(made);
    },
  };
}
