/**
 * Certificates for a test: an authority that lives for a day, and one certificate under it that serves as the server's
 * and as the client's, for 127.0.0.1 and etcd.test. Made with the openssl command.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Whether the openssl command is there. With CI=true a missing one is a failure. */
export function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    if (process.env.CI === 'true') throw new Error('Cannot run the TLS tests: CI=true needs openssl on the PATH');
    return false;
  }
}

/** Paths of PEM files in `folder`. */
export function makeCertificates(folder: string): { ca: string; cert: string; key: string } {
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-days',
    '1',
    '-subj',
    '/CN=ca',
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
  );
  openssl('req', ...newKey, '-subj', '/CN=etcd', '-keyout', path('etcd.key'), '-out', path('etcd.csr'));
  writeFileSync(
    path('extensions'),
    'subjectAltName=IP:127.0.0.1,DNS:etcd.test\nextendedKeyUsage=serverAuth,clientAuth\n',
  );
  const authority = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial'];
  const request = ['-req', '-in', path('etcd.csr'), '-extfile', path('extensions'), '-days', '1'];
  openssl('x509', ...request, ...authority, '-out', path('etcd.pem'));
  return { ca: path('ca.pem'), cert: path('etcd.pem'), key: path('etcd.key') };
}
