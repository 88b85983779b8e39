/** How kube-apiserver reads query parameters: booleans forgivingly, integers strictly, repeated ones once. */
import { badRequest } from '../../api/errors/status-error.ts';

/** `0` and `false` in any case are false, and so is absence; everything else is true, the empty string included. */
export function booleanParameter(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** Undefined when absent or empty; 400 when it is no 64-bit integer. Beyond 2^53 the nearest number stands for it. */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  return parseInteger(query.get(name));
}

/** One of several values of a parameter. */
export function parseInteger(value: string | null): number | undefined {
  if (value === null || value === '') return undefined;
  const wrong = (what: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: ${what}`);
  const match = /^([+-]?)([0-9]+)$/.exec(value);
  if (!match) throw wrong('invalid syntax');
  const digits = withoutLeadingZeros(match[2]!);
  // Converting takes longer than the text is long: what cannot fit is not converted.
  const amount = digits.length > MOST_DIGITS ? undefined : BigInt(digits);
  const exact = match[1] === '-' && amount !== undefined ? -amount : amount;
  if (exact === undefined || BigInt.asIntN(64, exact) !== exact) throw wrong('value out of range');
  return Number(exact);
}

const MOST_DIGITS = 19;

function withoutLeadingZeros(digits: string): string {
  let at = 0;
  while (at < digits.length - 1 && digits[at] === '0') at++;
  return digits.slice(at);
}
