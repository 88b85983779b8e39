/**
 * Ranges that addresses of services are given from: those of every ServiceCIDR that is ready and not on its way out, and a
 * rule within each. The first address of the default range is the API's own; the lower part of a range is left to those who
 * ask for an address by name, until nothing else is left.
 *
 * An address is a number here: what is chosen, and how long that takes, depends on what is taken and not on the size of
 * the range.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import { objectAt, objectsAt, textAt, textsAt } from '../../strategy/validation/fields.ts';
import { parseAddress, parseRange, showAddress } from '../../strategy/validation/ip-address.ts';

export type Family = 'IPv4' | 'IPv6';

/** The ServiceCIDR that the server makes by itself, of what it was started with. */
export const DEFAULT_RANGE_NAME = 'kubernetes';
export const DEFAULT_RANGES: readonly string[] = ['10.0.0.0/24'];

/** So much of a range is for those who ask by name: a sixteenth, within these bounds; nothing of one that is that small. */
const NAMED = { part: 16, least: 16, most: 256 };
/** Of larger ranges the rest is not looked at. */
const MOST_ADDRESSES = 2 ** 31;

export class AddressRange {
  readonly text: string;
  readonly family: Family;
  readonly #network: bigint;
  readonly #size: number;

  /** `text` is a valid range in canonical form. */
  constructor(text: string) {
    const { address, bits } = parseRange(text)!;
    const bytes = address.bytes.length;
    this.text = text;
    this.family = bytes === 4 ? 'IPv4' : 'IPv6';
    this.#network = numberOf(address.bytes);
    // The network itself is nobody's address, nor is that for broadcasts, which IPv6 does not have.
    const usable = 2 ** (bytes * 8 - bits) - (bytes === 4 ? 2 : 1);
    this.#size = Math.min(MOST_ADDRESSES, Math.max(0, usable));
  }

  /** That of the network, which is given to nobody. */
  get network(): string {
    return this.#show(0);
  }

  get first(): string {
    return this.#show(1);
  }

  has(address: string): boolean {
    const parsed = parseAddress(address);
    if (!parsed || (parsed.bytes.length === 4) !== (this.family === 'IPv4')) return false;
    const at = numberOf(parsed.bytes) - this.#network;
    return at >= 1n && at <= BigInt(this.#size);
  }

  /** A free one, sought from a place that `seed` decides; undefined if there is none. */
  choose(isTaken: (address: string) => boolean, seed: number): string | undefined {
    const named = this.#namedPart();
    return this.#chooseIn(named + 1, this.#size - named, isTaken, seed) ?? this.#chooseIn(1, named, isTaken, seed);
  }

  #chooseIn(first: number, size: number, isTaken: (address: string) => boolean, seed: number): string | undefined {
    for (let i = 0; i < size; i++) {
      const address = this.#show(first + ((seed + i) % size));
      if (!isTaken(address)) return address;
    }
    return undefined;
  }

  #namedPart(): number {
    if (this.#size <= NAMED.least) return 0;
    return Math.min(NAMED.most, Math.max(NAMED.least, Math.floor(this.#size / NAMED.part)));
  }

  #show(at: number): string {
    const length = this.family === 'IPv4' ? 4 : 16;
    const value = this.#network + BigInt(at);
    return showAddress({
      bytes: Array.from({ length }, (_, i) => Number((value >> BigInt(8 * (length - 1 - i))) & 0xffn)),
    });
  }
}

export type AddressRanges = {
  /** The default one first. */
  readonly all: readonly AddressRange[];
  /** Of which addresses can be had; the one that is given to who does not say first. */
  readonly families: readonly Family[];
  /** Where the API itself is found. */
  readonly ownAddress: string;
};

/** Before there is any, that which a server has unless told otherwise. */
export function rangesOf(serviceCidrs: readonly KubeObject[]): AddressRanges {
  const own = serviceCidrs.find(({ metadata }) => metadata.name === DEFAULT_RANGE_NAME);
  const main = (own ? cidrsOf(own) : DEFAULT_RANGES).map((text) => new AddressRange(text));
  const usable = serviceCidrs.filter(isUsable);
  const all = usable.filter((one) => one !== own).flatMap((one) => cidrsOf(one).map((text) => new AddressRange(text)));
  if (!own || usable.includes(own)) all.unshift(...main);
  return { all, families: main.map(({ family }) => family), ownAddress: main[0]!.first };
}

/** One of which nobody has said yet whether it is ready is taken for ready. */
function isUsable(serviceCidr: KubeObject): boolean {
  if (serviceCidr.metadata.deletionTimestamp) return false;
  const conditions = objectsAt(objectAt(serviceCidr as JsonObject, 'status'), 'conditions');
  const ready = conditions.find((one) => textAt(one, 'type') === 'Ready');
  return !ready || textAt(ready, 'status') === 'True';
}

function cidrsOf(serviceCidr: KubeObject): readonly string[] {
  return textsAt(objectAt(serviceCidr as JsonObject, 'spec'), 'cidrs');
}

function numberOf(bytes: readonly number[]): bigint {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return value;
}
