/** URLs, addresses and ranges of addresses, as kube-apiserver's library has them. */
import { BlockList, isIP } from 'node:net';
import { traversal } from '../values/budget.ts';
import { CelError, Opaque } from '../values/values.ts';
import type { Functions } from './overloads.ts';
import { withoutStack } from './without-stack.ts';

class Url extends Opaque {
  readonly typeName = 'Url';
  readonly url: URL;
  readonly isPathOnly: boolean;

  constructor(text: string) {
    super();
    this.isPathOnly = text.startsWith('/');
    const wrong = () => new CelError(`URL parse error during conversion from string: ${JSON.stringify(text)}`);
    if (!this.isPathOnly && !/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text)) throw wrong();
    try {
      this.url = withoutStack(() => new URL(text, 'none:/'));
    } catch {
      throw wrong();
    }
  }

  same(other: Url): boolean {
    return this.url.href === other.url.href;
  }

  override toString(): string {
    return this.url.href;
  }

  get query(): Map<string, string[]> {
    const query = new Map<string, string[]>();
    for (const [name, value] of this.url.searchParams) {
      const values = query.get(name);
      if (values) values.push(value);
      else query.set(name, [value]);
    }
    return query;
  }
}

class Address extends Opaque {
  readonly typeName = 'Address';
  readonly text: string;
  readonly family: 4 | 6;

  constructor(text: string) {
    super();
    const family = isIP(text);
    if (family === 0 || text.includes('%'))
      throw new CelError(`IP Address ${JSON.stringify(text)} parse error during conversion`);
    this.text = text.toLowerCase();
    this.family = family === 4 ? 4 : 6;
  }

  /** As one writes it: small letters, no zeros that may be left out. */
  get canonical(): string {
    return this.family === 4 ? this.text : new URL(`http://[${this.text}]/`).hostname.slice(1, -1);
  }

  get bytes(): number[] {
    if (this.family === 4) return this.text.split('.').map(Number);
    const [head = '', tail] = this.canonical.split('::');
    const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
    const [before, after] = [groups(head), groups(tail ?? '')];
    const all = [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
    return all.flatMap((group) => [group >> 8, group & 0xff]);
  }

  isIn(network: string, bits: number, family: 4 | 6): boolean {
    return family === this.family && listOf(network, bits, family).check(this.text, nameOf(this.family));
  }

  same(other: Address): boolean {
    return this.isIn(other.text, other.family === 4 ? 32 : 128, other.family);
  }

  override toString(): string {
    return this.text;
  }
}

class Network extends Opaque {
  readonly typeName = 'Network';
  readonly address: Address;
  readonly bits: number;

  constructor(text: string) {
    super();
    const wrong = () => new CelError(`network address parse error during conversion: ${JSON.stringify(text)}`);
    const slash = text.indexOf('/');
    if (slash < 0 || !/^\d{1,3}$/.test(text.slice(slash + 1))) throw wrong();
    this.address = new Address(text.slice(0, slash));
    this.bits = Number(text.slice(slash + 1));
    if (this.bits > (this.address.family === 4 ? 32 : 128)) throw wrong();
  }

  contains(other: Address): boolean {
    return other.isIn(this.address.text, this.bits, this.address.family);
  }

  holds(inner: Network): boolean {
    return this.bits <= inner.bits && this.contains(inner.address);
  }

  /** With nothing behind its bits. */
  masked(): Network {
    const bytes = this.address.bytes.map((byte, i) => byte & (0xff00 >> Math.max(0, Math.min(8, this.bits - 8 * i))));
    const hex = () =>
      Array.from({ length: 8 }, (_, i) => ((bytes[2 * i]! << 8) | bytes[2 * i + 1]!).toString(16)).join(':');
    const address = new Address(this.address.family === 4 ? bytes.join('.') : hex());
    return new Network(`${address.canonical}/${this.bits}`);
  }

  same(other: Network): boolean {
    return this.bits === other.bits && this.address.same(other.address);
  }

  override toString(): string {
    return `${this.address}/${this.bits}`;
  }
}

/** An address is read part by part. */
const parsing = (text: string) => 20 + traversal(text.length);
/** Each question makes a list of blocks for the occasion: a few microseconds. */
const BLOCKS = 150;
/** Reading a URL goes through it several times, and answers about it may be as long as it is. */
const reading = (text: string) => 20 + 5 * traversal(text.length);
const asked = ({ url }: Url) => 1 + traversal(url.href.length);

export function declareNetworks(functions: Functions): void {
  functions
    .declare('url(string): Url', reading, (text: string) => new Url(text))
    .declare('isURL(string): bool', reading, (text: string) => succeeds(() => new Url(text)))
    .declare('Url.getScheme(): string', 1, (it: Url) => (it.isPathOnly ? '' : it.url.protocol.slice(0, -1)))
    .declare('Url.getHost(): string', 1, (it: Url) => (it.isPathOnly ? '' : it.url.host))
    .declare('Url.getHostname(): string', 1, (it: Url) =>
      it.isPathOnly ? '' : it.url.hostname.replace(/^\[(.*)\]$/, '$1'),
    )
    .declare('Url.getPort(): string', 1, (it: Url) => it.url.port)
    .declare('Url.getEscapedPath(): string', asked, (it: Url) => it.url.pathname)
    .declare(
      'Url.getQuery(): map<string, list<string>>',
      (it) => 10 * asked(it),
      (it: Url) => it.query,
    )
    .declare('ip(string): Address', parsing, (text: string) => new Address(text))
    .declare('isIP(string): bool', parsing, (text: string) => succeeds(() => new Address(text)))
    .declare('string(Address): string', 1, String)
    .declare('Address.family(): int', 1, (it: Address) => BigInt(it.family))
    .declare('cidr(string): Network', parsing, (text: string) => new Network(text))
    .declare('isCIDR(string): bool', parsing, (text: string) => succeeds(() => new Network(text)))
    .declare('string(Network): string', 1, String)
    .declare('ip::isCanonical(string): bool', parsing, (text: string) => new Address(text).canonical === text)
    .declare('Address.isGlobalUnicast(): bool', 8 * BLOCKS, isGlobalUnicast)
    .declare('Network.masked(): Network', BLOCKS, (it: Network) => it.masked())
    .declare('Network.ip(): Address', 1, (it: Network) => it.address)
    .declare('Network.prefixLength(): int', 1, (it: Network) => BigInt(it.bits))
    .declare('Network.containsIP(string): bool', containing, (it: Network, text: string) =>
      it.contains(new Address(text)),
    )
    .declare('Network.containsIP(Address): bool', BLOCKS, (it: Network, other: Address) => it.contains(other))
    .declare('Network.containsCIDR(string): bool', containing, (it: Network, text: string) =>
      it.holds(new Network(text)),
    )
    .declare('Network.containsCIDR(Network): bool', BLOCKS, (it: Network, other: Network) => it.holds(other));
  for (const [name, four, fourBits, six, sixBits] of RANGES)
    functions.declare(
      `Address.${name}(): bool`,
      2 * BLOCKS,
      (it: Address) => it.isIn(four, fourBits, 4) || it.isIn(six, sixBits, 6),
    );
}

const RANGES: readonly [name: string, four: string, fourBits: number, six: string, sixBits: number][] = [
  ['isLoopback', '127.0.0.0', 8, '::1', 128],
  ['isUnspecified', '0.0.0.0', 32, '::', 128],
  ['isLinkLocalUnicast', '169.254.0.0', 16, 'fe80::', 10],
  ['isLinkLocalMulticast', '224.0.0.0', 24, 'ff02::', 16],
];

function isGlobalUnicast(it: Address): boolean {
  const isInAny = (...ranges: [network: string, bits: number, family: 4 | 6][]) =>
    ranges.some(([network, bits, family]) => it.isIn(network, bits, family));
  return !isInAny(
    ['255.255.255.255', 32, 4],
    ['0.0.0.0', 32, 4],
    ['127.0.0.0', 8, 4],
    ['224.0.0.0', 4, 4],
    ['169.254.0.0', 16, 4],
    ['::', 128, 6],
    ['::1', 128, 6],
    ['ff00::', 8, 6],
    ['fe80::', 10, 6],
  );
}

function containing(_: Network, text: string): number {
  return BLOCKS + parsing(text);
}

function listOf(network: string, bits: number, family: 4 | 6): BlockList {
  const list = new BlockList();
  list.addSubnet(network, bits, nameOf(family));
  return list;
}

function nameOf(family: 4 | 6): 'ipv4' | 'ipv6' {
  return family === 4 ? 'ipv4' : 'ipv6';
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch (err) {
    if (err instanceof CelError) return false;
    throw err;
  }
}
