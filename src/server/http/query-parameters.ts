/** How the reference server reads query parameters: booleans forgivingly, integers strictly, repeated ones once. */
import { badRequest } from '../../api/status-error.ts';

/** `0` and `false` in any case are false, and so is absence; everything else is true, the empty string included. */
export function booleanParameter(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** Undefined when absent or empty; 400 when it is no 64-bit integer. Beyond 2^53 the nearest number stands for it. */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  const quoted = JSON.stringify(value);
  if (!/^[+-]?[0-9]+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${quoted}: invalid syntax`);
  const exact = BigInt(value.replace(/^\+/, ''));
  if (BigInt.asIntN(64, exact) !== exact) throw badRequest(`strconv.ParseInt: parsing ${quoted}: value out of range`);
  return Number(exact);
}
