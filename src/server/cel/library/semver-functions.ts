/** Versions such as `1.10.0-rc.1`, as semver.org orders them. */
import { traversal } from '../values/budget.ts';
import { CelError, Opaque } from '../values/values.ts';
import type { Functions } from './overloads.ts';

type Identifier = string | bigint;

class Semver extends Opaque {
  readonly typeName = 'Semver';
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly Identifier[];

  constructor(text: string) {
    super();
    const match = PATTERN.exec(text);
    if (!match) throw new CelError(whyNot(text));
    const [, major = '', minor = '', patch = '', prerelease] = match;
    const parts = prerelease?.split('.') ?? [];
    if ([major, minor, patch, ...parts.filter(isNumber)].some((digits) => digits.length > MOST_DIGITS))
      throw new CelError(whyNot(text));
    this.numbers = [BigInt(major), BigInt(minor), BigInt(patch)];
    if (this.numbers.some((number) => number > LARGEST)) throw new CelError(whyNot(text));
    this.prerelease = parts.map((part) => (isNumber(part) ? BigInt(part) : part));
  }

  /** What was built from it does not count. */
  compare(other: Semver): number {
    for (let i = 0; i < 3; i++) {
      const order = sign(this.numbers[i]!, other.numbers[i]!);
      if (order !== 0) return order;
    }
    const [a, b] = [this.prerelease, other.prerelease];
    if (a.length === 0 || b.length === 0) return Number(a.length === 0) - Number(b.length === 0);
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      const order = compareIdentifiers(a[i]!, b[i]!);
      if (order !== 0) return order;
    }
    return Math.sign(a.length - b.length);
  }

  same(other: Semver): boolean {
    return this.compare(other) === 0;
  }

  override toString(): string {
    return `${this.numbers.join('.')}-${this.prerelease.join('.')}`;
  }
}

const PATTERN =
  /^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-((?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/;
const LARGEST = 2n ** 64n - 1n;
const MOST_DIGITS = 20;

const reading = (text: string) => 20 + traversal(text.length);
const comparing = (a: Semver, b: Semver) => 1 + a.prerelease.length + b.prerelease.length;

export function declareSemver(functions: Functions): void {
  functions
    .declare('semver(string): Semver', reading, (text: string) => new Semver(text))
    .declare('semver(string, bool): Semver', reading, read)
    .declare('isSemver(string): bool', reading, (text: string) => isSemver(text, false))
    .declare('isSemver(string, bool): bool', reading, isSemver)
    .declare('Semver.major(): int', 1, ({ numbers }: Semver) => numbers[0])
    .declare('Semver.minor(): int', 1, ({ numbers }: Semver) => numbers[1])
    .declare('Semver.patch(): int', 1, ({ numbers }: Semver) => numbers[2])
    .declare('Semver.isGreaterThan(Semver): bool', comparing, (a: Semver, b: Semver) => a.compare(b) > 0)
    .declare('Semver.isLessThan(Semver): bool', comparing, (a: Semver, b: Semver) => a.compare(b) < 0)
    .declare('Semver.compareTo(Semver): int', comparing, (a: Semver, b: Semver) => BigInt(a.compare(b)));
}

function read(text: string, isNormalized: boolean): Semver {
  return new Semver(isNormalized ? normalized(text) : text);
}

function isSemver(text: string, isNormalized: boolean): boolean {
  try {
    read(text, isNormalized);
    return true;
  } catch (err) {
    if (err instanceof CelError) return false;
    throw err;
  }
}

/** Without the `v`, without leading zeros, with all three numbers. */
function normalized(text: string): string {
  const [major = '', minor, ...rest] = text.replace(/^v/, '').split('.');
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length > 0 ? [rest.join('.')] : [])];
  const short = parts.map((part) => (part.length > 1 ? part.replace(/^0+(?=.)/, '').replace(/^(?![0-9])/, '0') : part));
  if (short.length < 3 && /[+-]/.test(short.at(-1)!))
    throw new CelError('short version cannot contain PreRelease/Build meta data');
  while (short.length < 3) short.push('0');
  return short.join('.');
}

function whyNot(text: string): string {
  if (text === '') return 'Version string empty';
  const parts = text.split('.');
  if (parts.length < 3) return 'No Major.Minor.Patch elements found';
  const names = ['major', 'minor', 'patch'];
  for (const [i, name] of names.entries()) {
    const part = i < 2 ? parts[i]! : parts[i]!.split(/[-+]/)[0]!;
    const shown = JSON.stringify(part);
    if (!/^[0-9]*$/.test(part)) return `Invalid character(s) found in ${name} number ${shown}`;
    if (part.length > 1 && part.startsWith('0'))
      return `${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${shown}`;
  }
  return 'Prerelease meta data is empty';
}

function isNumber(part: string): boolean {
  return /^\d+$/.test(part);
}

function compareIdentifiers(a: Identifier, b: Identifier): number {
  if (typeof a !== typeof b) return typeof a === 'bigint' ? -1 : 1;
  return sign(a, b);
}

function sign(a: Identifier, b: Identifier): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
