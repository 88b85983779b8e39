/** The flags that say what Services are given: ranges of addresses and of node ports, as kube-apiserver takes them. */
import { InvalidArgumentError } from 'commander';
import type { PortRange } from '../../server/strategy/strategy.ts';
import { checkRange, parseRange } from '../../server/strategy/validation/ip-address.ts';

/** By the bytes of an address: fewer bits are more addresses than anybody gives out, more are fewer than eight. */
const BITS = { 4: { least: 12, most: 29 }, 16: { least: 64, most: 125 } };

/** `10.96.0.0/16`, or one of each family: `10.96.0.0/16,fd00:10::/108`. */
export function parseServiceRanges(text: string): string[] {
  const ranges = text.split(',').map((range) => range.trim());
  const families = ranges.map(checkedFamily);
  if (ranges.length > 2 || families[0] === families[1])
    throw new InvalidArgumentError(`"${text}" is more than one range, or one of each family.`);
  return ranges;
}

/** Its bytes. */
function checkedFamily(text: string): number {
  const [problem] = checkRange(text, true);
  if (problem !== undefined) throw new InvalidArgumentError(`"${text}" ${problem}; write for example 10.96.0.0/16.`);
  const { address, bits } = parseRange(text)!;
  const bytes = address.bytes.length as 4 | 16;
  const { least, most } = BITS[bytes];
  if (bits < least || bits > most)
    throw new InvalidArgumentError(`"${text}" has not between ${least} and ${most} bits behind its slash.`);
  return bytes;
}

/** `30000-32767`, `30000+2767` (so many more), or a single port. */
export function parsePortRange(text: string): PortRange {
  const [, from, sign, to] = /^([0-9]{1,5})(?:([-+])([0-9]{1,5}))?$/.exec(text.trim()) ?? [];
  const first = Number(from);
  const last = sign === '-' ? Number(to) : first + Number(to ?? 0);
  if (!(first >= 1 && last >= first && last <= 65535))
    throw new InvalidArgumentError(`"${text}" is no range of ports; write for example 30000-32767.`);
  return { first, last };
}
