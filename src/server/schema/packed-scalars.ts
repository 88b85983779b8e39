/** The letters that stand for common types in generated/kinds-data.ts: written by its generator, read by built-in-types.ts. */
import type { JsonObject } from '../../api/index.ts';

export const packedScalars: Readonly<Record<string, JsonObject>> = {
  s: { type: 'string' },
  S: { type: 'string', default: '' },
  i: { type: 'integer', format: 'int32' },
  I: { type: 'integer', format: 'int32', default: 0 },
  l: { type: 'integer', format: 'int64' },
  L: { type: 'integer', format: 'int64', default: 0 },
  b: { type: 'boolean' },
  B: { type: 'boolean', default: false },
  d: { type: 'number', format: 'double' },
  y: { type: 'string', format: 'byte' },
  o: { type: 'object' },
  a: {},
};
