import { expect, it } from 'vitest';
import { signatureFault } from './signing-request.ts';

/** Of the name `writer`, signed with a key on P-256. */
const request = Buffer.from(
  [
    'MIHLMHMCAQAwETEPMA0GA1UEAwwGd3JpdGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0D',
    'AQcDQgAE5n+IRglF1rmeBTO8kecPwX6ypBrL2krSlMzl5WKQL95DviwMs73HR8kb',
    'zAHYpRjwhpJ22vxaYlpxxGpPwMJtM6AAMAoGCCqGSM49BAMCA0gAMEUCIAhXw9Rt',
    'Krdsdk1tIoXS9zvVg5x2zz1J2SS9M+omBnrGAiEAtV4egHenkdb07e4i6Q5nnIXf',
    'eAjmbiP3UwooT3DG+Vk=',
  ].join(''),
  'base64',
);

it('signatureFault() finds nothing wrong with a request that is signed with its own key', () => {
  expect(signatureFault(request)).toBeUndefined();
});

it('signatureFault() finds any byte that is another one, and any that is missing or too many', () => {
  for (let at = 0; at < request.length; at++) {
    const other = Buffer.from(request);
    other[at]! ^= 1;
    expect(signatureFault(other), `byte ${at}`).toBeDefined();
    expect(signatureFault(request.subarray(0, at)), `the first ${at}`).toBeDefined();
  }
  expect(signatureFault(Buffer.concat([request, Buffer.of(0)]))).toBe('asn1: syntax error: trailing data');
});

it.each<[claim: string, from: string, to: string, fault: string]>([
  [
    'an algorithm nobody trusts any more',
    '06082a8648ce3d040302',
    '06072a8648ce3d0401',
    'insecure algorithm ECDSA-SHA1',
  ],
  ['one that nobody knows', '06082a8648ce3d040302', '06082a8648ce3d04037f', 'algorithm unimplemented'],
])('signatureFault() tells of %s', (_claim, from, to, fault) => {
  const hex = request.toString('hex').replace(`30${length(from)}${from}`, `30${length(to)}${to}`);
  const total = (hex.length / 2 - 3).toString(16);
  const other = Buffer.from(`3081${total}${hex.slice(6)}`, 'hex');
  expect(signatureFault(other)).toBe(`x509: cannot verify signature: ${fault}`);
});

function length(hex: string): string {
  return (hex.length / 2).toString(16).padStart(2, '0');
}
