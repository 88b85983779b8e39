/**
 * Certificates are granted by those who may speak for their signer: `approve` for the approval, `sign` for the
 * certificate, asked on `signers` under the name of the signer or of all of its domain. The right to write the object is
 * not enough.
 */
import { isDeepStrictEqual } from 'node:util';
import { forbidden, type JsonObject, type KubeObject } from '../../api/index.ts';
import type { Attributes, Authorizer } from '../auth/authorizer.ts';
import type { WriteGuard } from './escalation.ts';

const GROUP = 'certificates.k8s.io';

export function signerGuard(authorizer: Authorizer): WriteGuard {
  return async (user, resource, object, old, subresource) => {
    if (resource.group !== GROUP || resource.plural !== 'certificatesigningrequests' || !old) return;
    const verb = verbFor(subresource, object, old);
    if (!verb) return;
    const signer = String(((old.spec ?? {}) as JsonObject).signerName ?? '');
    const domain = signer.split('/')[0]!;
    for (const name of [signer, `${domain}/*`]) {
      const what = { group: GROUP, version: '*', resource: 'signers', subresource: '', namespace: '', name };
      const attributes: Attributes = { kind: 'resource', verb, ...what };
      if ((await authorizer.authorize(user, attributes)).allowed) return;
    }
    const why = `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`;
    throw forbidden(resource, old.metadata.name ?? '', why);
  };
}

function verbFor(subresource: string, object: KubeObject, old: KubeObject): 'approve' | 'sign' | undefined {
  if (subresource === 'approval') return 'approve';
  return subresource === 'status' && !isDeepStrictEqual(object.status ?? {}, old.status ?? {}) ? 'sign' : undefined;
}
