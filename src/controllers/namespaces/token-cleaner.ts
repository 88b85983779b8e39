/**
 * Bootstrap tokens, Secrets in kube-system by which a new node makes itself known, go when the time they name is over. One
 * that names none stays; one whose time cannot be read is over, as kube-controller-manager has it.
 */
import { wallNow } from '../../api/index.ts';
import { corev1, isApiError } from '../../client/index.ts';
import { type ControllerDefinition, defineController, requeueAfter } from '../../controller/index.ts';

const NAMESPACE = 'kube-system';
const TYPE = 'bootstrap.kubernetes.io/token';
/** RFC 3339, with a time zone: what Date takes beside that, Go does not. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

export const tokenCleanerController: ControllerDefinition<corev1.Secret> = defineController({
  name: 'token-cleaner-controller',
  for: { resource: corev1.secrets, namespace: NAMESPACE, fieldSelector: `type=${TYPE}` },
  async reconcile(secret, { client, name }) {
    const until = secret?.data?.expiration;
    if (!secret || !until) return undefined;
    const text = Buffer.from(until, 'base64').toString();
    const waitMs = TIME.test(text) ? Date.parse(text) - wallNow() : 0;
    if (waitMs > 0) return requeueAfter(waitMs);
    const preconditions = { uid: secret.metadata.uid };
    await client
      .resource(corev1.secrets, NAMESPACE)
      .delete(name, { preconditions })
      .catch((err: unknown) => {
        if (!isApiError(err, 'NotFound') && !isApiError(err, 'Conflict')) throw err;
      });
    return undefined;
  },
});
