/**
 * What expressions of mutations have besides: `Object{...}` and `Object.spec{...}` of which no field is declared,
 * `JSONPatch{op, path, from, value}`, and `jsonpatch.escapeKey`.
 */

import type { Environment } from './compiler/environment.ts';
import { library } from './library/library.ts';
import { Functions } from './library/overloads.ts';
import { traversal } from './values/budget.ts';
import { openStruct, type StructType, StructValue } from './values/struct-types.ts';
import { type CelType, dyn, string } from './values/types.ts';
import { CelError, kindOf, type Value } from './values/values.ts';

const patchFields: ReadonlyMap<string, CelType> = new Map([
  ['op', string],
  ['path', string],
  ['from', string],
  ['value', dyn],
]);
const patch: StructType = {
  type: { kind: 'object', name: 'JSONPatch', fields: patchFields },
  make: (fields) => {
    for (const [name, value] of fields)
      if (name !== 'value' && typeof value !== 'string')
        throw new CelError(`unexpected type ${kindOf(value)} for JSONPatchType '${name}' field`);
    return new StructValue('JSONPatch', fields);
  },
};

/** One operation of a patch. */
export const patchType: CelType = patch.type;

let shared: Environment | undefined;

export function patchEnvironment(): Environment {
  shared ??= {
    functions: new Functions(library()).declare(
      'jsonpatch::escapeKey(string): string',
      (key: string) => 2 * traversal(key.length),
      (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1'),
    ),
    structType: (name) => {
      if (name === 'JSONPatch') return patch;
      return name === 'Object' || name.startsWith('Object.') ? openStruct(name) : undefined;
    },
  };
  return shared;
}

/** Whether a value is an operation of a patch. */
export function isPatch(value: Value): value is StructValue {
  return value instanceof StructValue && value.structName === 'JSONPatch';
}
