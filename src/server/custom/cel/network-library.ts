/** URLs, addresses and ranges of addresses in rules, as the reference server's library has them. */
import { BlockList, isIP } from 'node:net';
import type { Environment } from '@marcbachmann/cel-js/evaluator';

class Url {
  readonly url: URL;
  readonly isPathOnly: boolean;

  constructor(text: string) {
    this.isPathOnly = text.startsWith('/');
    if (!this.isPathOnly && !/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text))
      throw new Error(`invalid URI for request: "${text}"`);
    this.url = new URL(text, 'none:/');
  }
}

class Address {
  readonly text: string;
  readonly family: 4 | 6;

  constructor(text: string) {
    const family = isIP(text);
    if (family === 0 || text.includes('%')) throw new Error(`IP Address "${text}" parse error during conversion`);
    this.text = text.toLowerCase();
    this.family = family === 4 ? 4 : 6;
  }

  isIn(network: string, bits: number, family: 4 | 6): boolean {
    return family === this.family && listOf(network, bits, family).check(this.text, nameOf(this.family));
  }
}

class Network {
  readonly address: Address;
  readonly bits: number;

  constructor(text: string) {
    const slash = text.indexOf('/');
    if (slash < 0 || !/^\d{1,3}$/.test(text.slice(slash + 1)))
      throw new Error(`network address parse error: "${text}"`);
    this.address = new Address(text.slice(0, slash));
    this.bits = Number(text.slice(slash + 1));
    if (this.bits > (this.address.family === 4 ? 32 : 128)) throw new Error(`network address parse error: "${text}"`);
  }

  contains(other: Address): boolean {
    return other.isIn(this.address.text, this.bits, this.address.family);
  }
}

export function registerNetwork(environment: Environment): void {
  environment
    .registerType('Url', Url)
    .registerType('Address', Address)
    .registerType('Network', Network)
    .registerFunction('url(string): Url', (text: string) => new Url(text))
    .registerFunction('isURL(string): bool', (text: string) => succeeds(() => new Url(text)))
    .registerFunction('Url.getScheme(): string', (it: Url) => (it.isPathOnly ? '' : it.url.protocol.slice(0, -1)))
    .registerFunction('Url.getHost(): string', (it: Url) => (it.isPathOnly ? '' : it.url.host))
    .registerFunction('Url.getHostname(): string', (it: Url) =>
      it.isPathOnly ? '' : it.url.hostname.replace(/^\[(.*)\]$/, '$1'),
    )
    .registerFunction('Url.getPort(): string', (it: Url) => it.url.port)
    .registerFunction('Url.getEscapedPath(): string', (it: Url) => it.url.pathname)
    .registerFunction('ip(string): Address', (text: string) => new Address(text))
    .registerFunction('isIP(string): bool', (text: string) => succeeds(() => new Address(text)))
    .registerFunction('Address.family(): int', (it: Address) => BigInt(it.family))
    .registerFunction(
      'Address.isLoopback(): bool',
      (it: Address) => it.isIn('127.0.0.0', 8, 4) || it.isIn('::1', 128, 6),
    )
    .registerFunction(
      'Address.isUnspecified(): bool',
      (it: Address) => it.isIn('0.0.0.0', 32, 4) || it.isIn('::', 128, 6),
    )
    .registerFunction(
      'Address.isLinkLocalUnicast(): bool',
      (it: Address) => it.isIn('169.254.0.0', 16, 4) || it.isIn('fe80::', 10, 6),
    )
    .registerFunction(
      'Address.isLinkLocalMulticast(): bool',
      (it: Address) => it.isIn('224.0.0.0', 24, 4) || it.isIn('ff02::', 16, 6),
    )
    .registerFunction('cidr(string): Network', (text: string) => new Network(text))
    .registerFunction('isCIDR(string): bool', (text: string) => succeeds(() => new Network(text)))
    .registerFunction('Network.containsIP(string): bool', (it: Network, text: string) => it.contains(new Address(text)))
    .registerFunction('Network.containsIP(Address): bool', (it: Network, other: Address) => it.contains(other))
    .registerFunction('Network.containsCIDR(string): bool', (it: Network, text: string) => holds(it, new Network(text)))
    .registerFunction('Network.containsCIDR(Network): bool', (it: Network, other: Network) => holds(it, other))
    .registerFunction('Network.ip(): Address', (it: Network) => it.address)
    .registerFunction('Network.prefixLength(): int', (it: Network) => BigInt(it.bits));
}

function holds(outer: Network, inner: Network): boolean {
  return outer.bits <= inner.bits && outer.contains(inner.address);
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
  } catch {
    return false;
  }
}
