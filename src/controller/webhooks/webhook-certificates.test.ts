import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { renewed } from './webhook-certificates.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const start = new Date('2030-01-01T00:00:00Z');
const after = (days: number) => new Date(start.getTime() + days * DAY_MS);
const hosts = ['hooks.ops.svc', '127.0.0.1'];
const first = renewed(undefined, hosts, start);
const [authority] = [new X509Certificate(first.authorityPem)];

it('a set is kept as it is while it is good', () => {
  expect(renewed(first, hosts, after(59))).toBe(first);
  const leaf = new X509Certificate(first.certPem);
  expect(leaf.verify(authority!.publicKey)).toBe(true);
  expect([leaf.checkHost('hooks.ops.svc'), leaf.checkIP('127.0.0.1')]).toEqual(['hooks.ops.svc', '127.0.0.1']);
});

it('a certificate is renewed when a third of its life is left, by the same authority', () => {
  const next = renewed(first, hosts, after(61));
  expect(next.authorityPem).toBe(first.authorityPem);
  expect(next.certPem).not.toBe(first.certPem);
  expect(Date.parse(new X509Certificate(next.certPem).validTo)).toBe(after(151).getTime());
});

it('a host more is a new certificate', () => {
  const next = renewed(first, [...hosts, 'hooks.other.svc'], start);
  expect(new X509Certificate(next.certPem).checkHost('hooks.other.svc')).toBe('hooks.other.svc');
});

it('an authority near its end is followed by another, and trusted until then', () => {
  const next = renewed(first, hosts, after(3600));
  const bundle = next.authorityPem.split('-----END CERTIFICATE-----\n').slice(0, -1);
  expect(bundle).toHaveLength(2);
  expect(next.authorityPem.endsWith(first.authorityPem)).toBe(true);
  expect(new X509Certificate(next.certPem).verify(new X509Certificate(next.authorityPem).publicKey)).toBe(true);
  const later = renewed(next, hosts, after(3655));
  expect(later.authorityPem.split('-----END CERTIFICATE-----\n').slice(0, -1)).toHaveLength(1);
});

it('what is damaged is made anew', () => {
  for (const field of ['authorityPem', 'authorityKeyPem', 'certPem', 'keyPem'] as const) {
    const next = renewed({ ...first, [field]: 'nonsense' }, hosts, start);
    expect(new X509Certificate(next.certPem).verify(new X509Certificate(next.authorityPem).publicKey)).toBe(true);
  }
});
