/** CertificateSigningRequests go when nobody needs them any more: an hour after a decision, or a day without one. */
import { leastOf, wallNow } from '../../api/index.ts';
import { certificatesv1, isApiError } from '../../client/index.ts';
import { type ControllerDefinition, defineController, requeueAfter } from '../../controller/index.ts';

const DECIDED_MS = 3600 * 1000;
const PENDING_MS = 24 * DECIDED_MS;
const DECISIONS = new Set(['Approved', 'Denied', 'Failed']);

export const requestCleanerController: ControllerDefinition<certificatesv1.CertificateSigningRequest> =
  defineController({
    name: 'certificatesigningrequest-cleaner-controller',
    for: certificatesv1.certificateSigningRequests,
    async reconcile(request, { client, name }) {
      if (!request) return undefined;
      const waitMs = dueAt(request) - wallNow();
      if (waitMs > 0) return requeueAfter(waitMs);
      const preconditions = { uid: request.metadata.uid };
      await client
        .resource(certificatesv1.certificateSigningRequests)
        .delete(name, { preconditions })
        .catch((err: unknown) => {
          if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err;
        });
      return undefined;
    },
  });

function dueAt({ metadata, status }: certificatesv1.CertificateSigningRequest): number {
  const created = Date.parse(metadata.creationTimestamp);
  const decided = (status?.conditions ?? [])
    .filter(({ type }) => DECISIONS.has(type))
    .map(({ lastUpdateTime }) => (lastUpdateTime ? Date.parse(lastUpdateTime) : created));
  return decided.length > 0 ? leastOf(decided) + DECIDED_MS : created + PENDING_MS;
}
