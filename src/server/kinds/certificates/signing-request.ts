/**
 * A signing request (PKCS #10): who it is for, the organizations in its subject, and whether it is signed with the key that
 * it is about. Of the DER only what leads there is read.
 *
 * Always true: never past the bytes that are there; what cannot be read so far gives undefined.
 */
import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';

type Element = { readonly tag: number; readonly at: number; readonly from: number; readonly to: number };

const SEQUENCE = 0x30;
const SET = 0x31;
const BIT_STRING = 0x03;
const OID = 0x06;
const BMP_STRING = 0x1e;
/** 2.5.4.10 */
const ORGANIZATION = Buffer.from([0x55, 0x04, 0x0a]);

type Scheme = { readonly key: string; readonly hash: string | null };

/** How it may be signed, by the OID that says so. */
const schemes: Readonly<Record<string, Scheme>> = {
  '2a864886f70d01010b': { key: 'rsa', hash: 'sha256' },
  '2a864886f70d01010c': { key: 'rsa', hash: 'sha384' },
  '2a864886f70d01010d': { key: 'rsa', hash: 'sha512' },
  '2a8648ce3d040302': { key: 'ec', hash: 'sha256' },
  '2a8648ce3d040303': { key: 'ec', hash: 'sha384' },
  '2a8648ce3d040304': { key: 'ec', hash: 'sha512' },
  '2b6570': { key: 'ed25519', hash: null },
};
const RSA_PSS = '2a864886f70d01010a';
/** Once common, and not to be trusted. */
const INSECURE: Readonly<Record<string, string>> = {
  '2a864886f70d010104': 'MD5-RSA',
  '2a864886f70d010105': 'SHA1-RSA',
  '2a8648ce3d0401': 'ECDSA-SHA1',
};
const MISMATCH: Readonly<Record<string, string>> = {
  rsa: 'crypto/rsa: verification error',
  ec: 'x509: ECDSA verification failure',
  ed25519: 'x509: Ed25519 verification failure',
};
const UNREADABLE = 'asn1: structure error: malformed certificate request';
const CANNOT = 'x509: cannot verify signature:';

/**
 *     CertificationRequest ::= SEQUENCE { SEQUENCE { version, subject, key, … }, SEQUENCE { algorithm OID, … }, BIT STRING }
 */
export function signatureFault(der: Buffer): string | undefined {
  const request = elementAt(der, 0, der.length);
  if (request?.tag !== SEQUENCE) return UNREADABLE;
  if (request.to !== der.length) return 'asn1: syntax error: trailing data';
  const [info, algorithm, signature] = childrenOf(der, request) ?? [];
  const [, , key] = (info?.tag === SEQUENCE && childrenOf(der, info)) || [];
  const [oid] = (algorithm?.tag === SEQUENCE && childrenOf(der, algorithm)) || [];
  if (!info || key?.tag !== SEQUENCE || oid?.tag !== OID || signature?.tag !== BIT_STRING) return UNREADABLE;
  if (der[signature.from] !== 0) return UNREADABLE; // so many bits of its last byte would be none
  const scheme = der.toString('hex', oid.from, oid.to);
  if (Object.hasOwn(INSECURE, scheme)) return `${CANNOT} insecure algorithm ${INSECURE[scheme]}`;
  const publicKey = readKey(der.subarray(key.at, key.to));
  if (!publicKey) return 'x509: malformed public key';
  const signed = der.subarray(info.at, info.to);
  return mismatch(scheme, publicKey, signed, der.subarray(signature.from + 1, signature.to));
}

function readKey(spki: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: spki, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

function mismatch(oid: string, key: KeyObject, signed: Buffer, signature: Buffer): string | undefined {
  const type = key.asymmetricKeyType ?? '';
  if (oid === RSA_PSS && type === 'rsa') {
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    const fits = ['sha256', 'sha384', 'sha512'].some((hash) => verify(hash, signed, { key, padding }, signature));
    return fits ? undefined : MISMATCH.rsa;
  }
  const scheme = Object.hasOwn(schemes, oid) ? schemes[oid]! : undefined;
  if (!scheme) return `${CANNOT} algorithm unimplemented`;
  if (scheme.key !== type)
    return `x509: signature algorithm specifies an ${scheme.key} public key, but have public key of type ${type}`;
  return verify(scheme.hash, signed, key, signature) ? undefined : MISMATCH[type];
}

/**
 *     CertificationRequest ::= SEQUENCE { SEQUENCE { version, subject, … }, … }
 *     subject ::= SEQUENCE OF SET OF SEQUENCE { type OID, value }
 */
export function organizationsOf(der: Buffer): string[] | undefined {
  const request = elementAt(der, 0, der.length);
  const info = request?.tag === SEQUENCE ? elementAt(der, request.from, request.to) : undefined;
  const [, subject] = (info?.tag === SEQUENCE && childrenOf(der, info)) || [];
  const sets = subject?.tag === SEQUENCE ? childrenOf(der, subject) : undefined;
  if (!sets) return undefined;
  const organizations: string[] = [];
  for (const set of sets) {
    const pairs = set.tag === SET ? childrenOf(der, set) : undefined;
    if (!pairs) return undefined;
    for (const pair of pairs) {
      const [type, value] = (pair.tag === SEQUENCE && childrenOf(der, pair)) || [];
      if (type?.tag !== OID || !value) return undefined;
      if (der.subarray(type.from, type.to).equals(ORGANIZATION)) organizations.push(textOf(der, value));
    }
  }
  return organizations;
}

function childrenOf(der: Buffer, { from, to }: Element): Element[] | undefined {
  const children: Element[] = [];
  for (let at = from; at < to; ) {
    const child = elementAt(der, at, to);
    if (!child) return undefined;
    children.push(child);
    at = child.to;
  }
  return children;
}

function elementAt(der: Buffer, at: number, end: number): Element | undefined {
  if (at + 2 > end) return undefined;
  const tag = der[at]!;
  let length = der[at + 1]!;
  let from = at + 2;
  if (length > 0x80) {
    const size = length - 0x80;
    if (size > 4 || from + size > end) return undefined;
    length = der.readUIntBE(from, size);
    from += size;
  } else if (length === 0x80) return undefined;
  return from + length > end ? undefined : { tag, at, from, to: from + length };
}

/** Two bytes a character in one of the types of text; in all others that certificates have, what UTF-8 reads. */
function textOf(der: Buffer, { tag, from, to }: Element): string {
  const bytes = der.subarray(from, to);
  if (tag !== BMP_STRING) return bytes.toString('utf8');
  return Buffer.from(bytes.subarray(0, bytes.length & ~1))
    .swap16()
    .toString('utf16le');
}
