/**
 * Service accounts: of the secrets that belong to one only the names are kept. Who newly sets an annotation that is going
 * away is told.
 */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { objectsAt } from '../../strategy/validation/fields.ts';

function keepNames(account: KubeObject): void {
  const secrets = objectsAt(account as JsonObject, 'secrets');
  if (secrets.length > 0) account.secrets = secrets.map(({ name }): JsonObject => (name === undefined ? {} : { name }));
}

const mountable = 'kubernetes.io/enforce-mountable-secrets';
const mountableText = 'deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets';

const asks = (account: KubeObject | undefined) => account?.metadata.annotations?.[mountable] !== undefined;

export const serviceAccountStrategy: Strategy = {
  prepareCreate: keepNames,
  prepareUpdate: keepNames,
  warnings: (account, old) =>
    asks(account) && !asks(old) ? [`metadata.annotations[${mountable}]: ${mountableText}`] : [],
};
