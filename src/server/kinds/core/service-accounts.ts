/** Service accounts: of the secrets that belong to one only the names are kept. */
import type { JsonObject, KubeObject } from '../../../api/index.ts';
import type { Strategy } from '../../strategy/strategy.ts';
import { objectsAt } from '../../strategy/validation/fields.ts';

function keepNames(account: KubeObject): void {
  const secrets = objectsAt(account as JsonObject, 'secrets');
  if (secrets.length > 0) account.secrets = secrets.map(({ name }): JsonObject => (name === undefined ? {} : { name }));
}

export const serviceAccountStrategy: Strategy = { prepareCreate: keepNames, prepareUpdate: keepNames };
