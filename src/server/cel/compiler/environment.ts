/** What an expression is compiled against besides its variables: functions, and types that it can make values of. */
import { library } from '../library/library.ts';
import type { Functions } from '../library/overloads.ts';
import type { StructType } from '../values/struct-types.ts';

export type Environment = {
  readonly functions: Functions;
  readonly structType?: (name: string) => StructType | undefined;
};

let shared: Environment | undefined;

/** What every expression has. */
export function baseEnvironment(): Environment {
  shared ??= { functions: library() };
  return shared;
}
