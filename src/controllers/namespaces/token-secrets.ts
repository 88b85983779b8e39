/**
 * Secrets of type `kubernetes.io/service-account-token`: each gets a token of the account that it names, with what is needed
 * to use it, and goes with that account.
 *
 * The token is bound to its Secret: with it, it is worth nothing any more. It is good for a hundred years, where those of
 * kube-controller-manager have no end.
 */
import { corev1, isApiError, type ResourceClient } from '../../client/index.ts';
import { type ControllerDefinition, defineController, isBeingDeleted } from '../../controller/index.ts';

const TYPE = 'kubernetes.io/service-account-token';
const NAME = 'kubernetes.io/service-account.name';
const UID = 'kubernetes.io/service-account.uid';
const CENTURY_SECONDS = 100 * 365 * 24 * 3600;

export function tokenSecretsController(authorityPem: string): ControllerDefinition<corev1.Secret> {
  const authority = Buffer.from(authorityPem).toString('base64');
  return defineController({
    name: 'serviceaccount-token-controller',
    for: { resource: corev1.secrets, fieldSelector: `type=${TYPE}` },
    watches: [
      {
        resource: corev1.serviceAccounts,
        map: ({ metadata }, { cache }) =>
          cache
            .of(corev1.secrets)
            .list({ namespace: metadata.namespace! })
            .filter((secret) => secret.metadata.annotations?.[NAME] === metadata.name),
      },
    ],
    async reconcile(secret, { client, namespace }) {
      const accountName = secret?.metadata.annotations?.[NAME];
      if (!secret || isBeingDeleted(secret) || secret.type !== TYPE || !accountName) return;
      const accounts = client.resource(corev1.serviceAccounts, namespace);
      const secrets = client.resource(corev1.secrets, namespace);
      // Asked of the server: a cache that is behind must not take a token away.
      const account = await accounts.find(accountName);
      const uid = secret.metadata.annotations?.[UID];
      if (!account || (uid !== undefined && uid !== account.metadata.uid)) {
        await secrets.delete(secret.metadata.name, { preconditions: { uid: secret.metadata.uid } }).catch(ignoreGone);
        return;
      }
      const { data = {} } = secret;
      const wanted = { namespace: Buffer.from(namespace).toString('base64'), 'ca.crt': authority };
      const isWhole = data.token && data.namespace === wanted.namespace && data['ca.crt'] === authority && uid;
      if (isWhole) return;
      const token = data.token ?? Buffer.from(await tokenFor(accounts, accountName, secret)).toString('base64');
      const annotations = { ...secret.metadata.annotations, [UID]: account.metadata.uid };
      const metadata = { ...secret.metadata, annotations };
      await secrets.update({ ...secret, metadata, data: { ...data, ...wanted, token } }).catch(ignoreGone);
    },
  });
}

async function tokenFor(
  accounts: ResourceClient<corev1.ServiceAccount>,
  name: string,
  { metadata }: corev1.Secret,
): Promise<string> {
  const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: metadata.name, uid: metadata.uid };
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { boundObjectRef, expirationSeconds: CENTURY_SECONDS },
  };
  const { status } = await accounts.subresource('token').create<{ status: { token: string } }>(name, body);
  return status.token;
}

function ignoreGone(err: unknown): void {
  if (!isApiError(err, 'NotFound')) throw err;
}
