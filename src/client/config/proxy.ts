/**
 * Which proxy leads to a server: the one the kubeconfig names, else the one the environment names, by the rules that
 * Go programs follow, so that what works for kubectl works here. Loopback addresses are never reached by proxy.
 */
import { BlockList, isIP } from 'node:net';
import { ConfigError } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function proxyFor(server: URL, configured: string | undefined, env: Environment): URL | undefined {
  if (configured !== undefined) return parseProxy(configured, 'proxy-url');
  const name = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const value = env[name] || env[name.toLowerCase()];
  if (!value || goesDirect(server, env.NO_PROXY || env.no_proxy || '')) return undefined;
  return parseProxy(value.includes('://') ? value : `http://${value}`, name);
}

function parseProxy(text: string, source: string): URL {
  if (!URL.canParse(text)) throw new ConfigError(`Cannot use ${source}: "${text}" is no URL`);
  const url = new URL(text);
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw new ConfigError(`Cannot use ${source}: "${url.protocol}//" is not supported, only http:// and https:// are`);
}

function goesDirect(server: URL, noProxy: string): boolean {
  const host = hostOf(server);
  if (host === 'localhost' || isLoopback(host)) return true;
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry !== '' && matches(entry, host, port));
}

/** `*`, `10.0.0.0/8`, `10.1.2.3`, `example.com` (also what lies below it), `.example.com` (only that), each with `:port`. */
function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  const [, address = '', bits] = /^([^/]+)\/(\d+)$/.exec(entry) ?? [];
  if (bits !== undefined) return isWithin(host, address, Number(bits));
  if (isIP(entry)) return entry === host;
  const [, name = entry, wantedPort] = /^(.*):(\d+)$/.exec(entry) ?? [];
  if (wantedPort !== undefined && wantedPort !== port) return false;
  const plain = name.replace(/^\[|\]$/g, '');
  if (plain.startsWith('*.')) return host.endsWith(plain.slice(1));
  if (plain.startsWith('.')) return host.endsWith(plain);
  return host === plain || host.endsWith(`.${plain}`);
}

function isWithin(host: string, address: string, bits: number): boolean {
  const family = familyOf(host);
  if (!family || family !== familyOf(address) || bits > (family === 'ipv4' ? 32 : 128)) return false;
  const list = new BlockList();
  list.addSubnet(address, bits, family);
  return list.check(host, family);
}

function isLoopback(host: string): boolean {
  return host === '::1' || isWithin(host, '127.0.0.0', 8);
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : undefined;
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').toLowerCase();
}
