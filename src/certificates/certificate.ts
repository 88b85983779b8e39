/**
 * Makes the three certificates a server of its own needs: its authority, what it serves with, what its administrator
 * comes with. X.509 version 3, EC P-256, ecdsa-with-SHA256; nothing else is on offer.
 *
 * Always true: an authority may sign certificates and nothing below it may; a serving certificate cannot be used as a
 * client's, nor the other way round. Shapes follow RFC 5280.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import * as der from './der.ts';

export type Certificate = { readonly certPem: string; readonly keyPem: string };

/** Whose certificate it is: O becomes the groups of a user, CN its name. */
export type Subject = { readonly commonName: string; readonly organizations?: readonly string[] };

export type Validity = { readonly from: Date; readonly to: Date };

export type Authority = { readonly subject: Subject; readonly key: KeyObject; readonly publicKey: KeyObject };

export function makeAuthority(subject: Subject, validity: Validity): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return issue(subject, publicKey, privateKey, { subject, key: privateKey, publicKey }, validity, [
    extension(OID.basicConstraints, true, der.sequence(der.boolean(true))),
    extension(OID.keyUsage, true, keyUsage(KEY_USAGE.keyCertSign | KEY_USAGE.cRLSign | KEY_USAGE.digitalSignature)),
  ]);
}

/** `hosts` are names and addresses, as clients will dial them. */
export function makeServingCertificate(
  authority: Authority,
  subject: Subject,
  hosts: readonly string[],
  validity: Validity,
): Certificate {
  const names = hosts.map((host) =>
    isIP(host) ? der.implicit(7, der.addressBytes(host)) : der.implicit(2, Buffer.from(host, 'latin1')),
  );
  return makeLeaf(authority, subject, OID.serverAuth, validity, [
    extension(OID.subjectAltName, false, der.sequence(...names)),
  ]);
}

export function makeClientCertificate(authority: Authority, subject: Subject, validity: Validity): Certificate {
  return makeLeaf(authority, subject, OID.clientAuth, validity, []);
}

function makeLeaf(
  authority: Authority,
  subject: Subject,
  purpose: string,
  validity: Validity,
  more: readonly Buffer[],
): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return issue(subject, publicKey, privateKey, authority, validity, [
    extension(OID.basicConstraints, true, der.sequence()),
    extension(OID.keyUsage, true, keyUsage(KEY_USAGE.digitalSignature)),
    extension(OID.extendedKeyUsage, false, der.sequence(der.objectIdentifier(purpose))),
    ...more,
  ]);
}

function issue(
  subject: Subject,
  publicKey: KeyObject,
  privateKey: KeyObject,
  authority: Authority,
  validity: Validity,
  extensions: readonly Buffer[],
): Certificate {
  const algorithm = der.sequence(der.objectIdentifier(OID.ecdsaWithSha256));
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40; // positive, and never shorter
  const toBeSigned = der.sequence(
    der.explicit(0, der.positiveInteger(Buffer.from([2]))), // version 3
    der.positiveInteger(serial),
    algorithm,
    nameOf(authority.subject),
    der.sequence(der.time(validity.from), der.time(validity.to)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(
      3,
      der.sequence(
        ...extensions,
        extension(OID.subjectKeyIdentifier, false, der.octetString(keyIdentifier(publicKey))),
        extension(OID.authorityKeyIdentifier, false, der.sequence(der.implicit(0, keyIdentifier(authority.publicKey)))),
      ),
    ),
  );
  const signature = sign('sha256', toBeSigned, authority.key);
  const bytes = der.sequence(toBeSigned, algorithm, der.bitString(signature));
  return {
    certPem: pem('CERTIFICATE', bytes),
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** The bits of keyUsage as DER writes them, first bit highest. */
const KEY_USAGE = { digitalSignature: 0x80, keyCertSign: 0x04, cRLSign: 0x02 };

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
};

function nameOf({ commonName, organizations = [] }: Subject): Buffer {
  const attribute = (oid: string, text: string) =>
    der.setOfOne(der.sequence(der.objectIdentifier(oid), der.utf8String(text)));
  return der.sequence(
    ...organizations.map((organization) => attribute(OID.organization, organization)),
    attribute(OID.commonName, commonName),
  );
}

function extension(oid: string, isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [der.boolean(true)] : []; // false is the default, which DER leaves out
  return der.sequence(der.objectIdentifier(oid), ...critical, der.octetString(value));
}

/** DER drops trailing zero bits of a list of named bits. */
function keyUsage(bits: number): Buffer {
  const unusedBits = 31 - Math.clz32(bits & -bits);
  return der.bitString(Buffer.from([bits]), unusedBits);
}

/** SHA-1 of the key's bits (RFC 5280, 4.2.1.2, method 1): the last 65 bytes of a P-256 key as it is exported. */
function keyIdentifier(publicKey: KeyObject): Buffer {
  const exported = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha1').update(exported.subarray(-65)).digest();
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
