import { expect, it } from 'vitest';
import { proxyFor } from './proxy.ts';

const proxy = 'http://p:1/';

it.each<[claim: string, server: string, env: Record<string, string>, want: string | undefined]>([
  ['by HTTPS_PROXY', 'https://api.ex.io', { HTTPS_PROXY: 'http://p:1' }, proxy],
  ['by its lower-case name', 'https://api.ex.io', { https_proxy: 'http://p:1' }, proxy],
  ['without a scheme', 'https://api.ex.io', { HTTPS_PROXY: 'p:1' }, proxy],
  ['not by HTTP_PROXY', 'https://api.ex.io', { HTTP_PROXY: 'http://p:1' }, undefined],
  ['plain by HTTP_PROXY', 'http://api.ex.io', { HTTP_PROXY: 'http://p:1' }, proxy],
  ['never to loopback', 'https://127.9.9.9:6443', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['never to localhost', 'https://localhost:6443', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['never to ::1', 'https://[::1]:6443', { HTTPS_PROXY: 'http://p:1' }, undefined],
  ['not with *', 'https://api.ex.io', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' }, undefined],
  ['not below a domain', 'https://api.ex.io', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'a, ex.io' }, undefined],
  ['with a name that only ends alike', 'https://apex.io', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'ex.io' }, proxy],
  [
    'to the domain itself if the entry has a dot',
    'https://ex.io',
    { HTTPS_PROXY: 'http://p:1', NO_PROXY: '.ex.io' },
    proxy,
  ],
  ['not within a network', 'https://10.2.3.4', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8' }, undefined],
  ['outside of a network', 'https://11.2.3.4', { HTTPS_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8' }, proxy],
  ['not within an IPv6 network', 'https://[fd00::5]', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'fd00::/16' }, undefined],
  ['on another port', 'https://ex.io:6443', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'ex.io:443' }, proxy],
  ['not on that port', 'https://ex.io:6443', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'ex.io:6443' }, undefined],
])('a server is reached by proxy: %s', (_claim, server, env, want) =>
  expect(proxyFor(new URL(server), undefined, env)?.href).toBe(want),
);

it('what the kubeconfig names goes before the environment, also to loopback', () => {
  const env = { HTTPS_PROXY: 'http://other', NO_PROXY: '*' };
  expect(proxyFor(new URL('https://127.0.0.1'), 'https://p:1', env)?.href).toBe('https://p:1/');
  expect(() => proxyFor(new URL('https://x'), 'socks5://p', {})).toThrow('"socks5://" is not supported');
});
