/**
 * The three plugins of certificates: whoever approves or signs a request must be allowed to speak for its signer (`approve`
 * and `sign` on `signers`, under the name of the signer or of all of its domain; the right to write the object is not
 * enough), and nobody asks for a client certificate of the group system:masters.
 */
import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, type KubeObject, quote } from '../../../api/index.ts';
import type { Attributes, Authorizer } from '../../auth/authorizer.ts';
import { signingRequestOf } from '../../kinds/certificates/certificate-spec.ts';
import { organizationsOf } from '../../kinds/certificates/signing-request.ts';
import { objectAt, textAt } from '../../strategy/validation/fields.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../admission.ts';
import { concerns } from '../concerns.ts';

const GROUP = 'certificates.k8s.io';
const REQUESTS = [`certificatesigningrequests.${GROUP}`];
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';

export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    handles: concerns(['UPDATE'], REQUESTS, ['approval']),
    validate: (a) => maySpeakForSigner(a, authorizer, 'approve'),
  };
}

export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    handles: concerns(['UPDATE'], REQUESTS, ['status']),
    validate: (a) => {
      const isSame = (field: string) => isDeepStrictEqual(statusOf(a.object!)[field], statusOf(a.oldObject!)[field]);
      if (isSame('certificate') && isSame('conditions')) return;
      return maySpeakForSigner(a, authorizer, 'sign');
    },
  };
}

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  handles: concerns(['CREATE'], REQUESTS),
  validate: (a) => {
    const spec = objectAt(a.object as JsonObject, 'spec');
    if (textAt(spec, 'signerName') !== CLIENT_SIGNER) return;
    const request = signingRequestOf(textAt(spec, 'request'));
    const groups = request && organizationsOf(request);
    if (!groups) throw refuse(a, 'failed to parse CSR: asn1: structure error: malformed certificate request');
    if (groups.includes('system:masters'))
      throw refuse(a, `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`);
  },
};

function statusOf(request: KubeObject): JsonObject {
  return objectAt(request as JsonObject, 'status') ?? {};
}

/** The signer is the one the request was made for: updates cannot change it, and cannot pretend to. */
async function maySpeakForSigner(
  a: AdmissionAttributes,
  authorizer: Authorizer,
  verb: 'approve' | 'sign',
): Promise<void> {
  const signer = textAt(objectAt(a.oldObject as JsonObject, 'spec'), 'signerName');
  for (const name of [signer, `${signer.split('/')[0]}/*`]) {
    const what = { group: GROUP, version: '*', resource: 'signers', subresource: '', namespace: '', name };
    const attributes: Attributes = { kind: 'resource', verb, ...what };
    if ((await authorizer.authorize(a.user, attributes)).allowed) return;
  }
  throw refuse(a, `user not permitted to ${verb} requests with signerName ${quote(signer)}`);
}
