/**
 * Which secrets a Pod refers to, and whether it may: a mirror Pod to none, a Pod whose account says so only to those the
 * account lists. The first that is forbidden is told, in the words of kube-apiserver.
 */
import type { JsonObject, KubeObject } from '../../../../api/index.ts';
import { objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';

const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

export function isMirror({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

export function mirrorFault(pod: KubeObject): string | undefined {
  const spec = objectAt(pod as JsonObject, 'spec') ?? {};
  if (textAt(spec, 'serviceAccountName') !== '') return 'a mirror pod may not reference service accounts';
  const sources = objectsAt(spec, 'volumes').flatMap((volume) => objectsAt(objectAt(volume, 'projected'), 'sources'));
  const isUsing =
    objectsAt(spec, 'volumes').some(takesSecret) ||
    sources.some((source) => objectAt(source, 'secret')) ||
    objectsAt(spec, 'imagePullSecrets').length > 0 ||
    ['initContainers', 'containers', 'ephemeralContainers'].some((list) =>
      objectsAt(spec, list).some((container) => secretsOf(container).length > 0),
    );
  if (isUsing) return 'a mirror pod may not reference secrets';
  if (sources.some((source) => objectAt(source, 'serviceAccountToken')))
    return 'a mirror pod may not use ServiceAccountToken volume projections';
  return undefined;
}

/** Of whatever type it is: several have a secret that their driver logs in with. */
function takesSecret(volume: JsonObject): boolean {
  const logins = ['secretRef', 'nodePublishSecretRef'];
  return Object.keys(volume).some((type) => {
    const source = objectAt(volume, type);
    return source && (type === 'secret' || type === 'azureFile' || logins.some((field) => objectAt(source, field)));
  });
}

/** `isDebugging`: only ephemeral containers are new. */
export function forbiddenReference(pod: KubeObject, account: KubeObject, isDebugging: boolean): string | undefined {
  const spec = objectAt(pod as JsonObject, 'spec') ?? {};
  const namesIn = (list: string) => new Set(objectsAt(account as JsonObject, list).map((one) => textAt(one, 'name')));
  const allowed = namesIn('secrets');
  const { name } = account.metadata;
  const because = `is not allowed because service account ${name} does not reference that`;
  if (isDebugging) return inContainers(spec, [['ephemeralContainers', 'ephemeral container']], allowed, because);
  for (const volume of objectsAt(spec, 'volumes')) {
    const secret = objectAt(volume, 'secret');
    const secretName = textAt(secret, 'secretName');
    if (secret && !allowed.has(secretName)) return `volume with secret.secretName="${secretName}" ${because} secret`;
  }
  const lists = [
    ['initContainers', 'init container'],
    ['containers', 'container'],
  ] as const;
  const fault = inContainers(spec, lists, allowed, because);
  if (fault) return fault;
  const pullable = namesIn('imagePullSecrets');
  for (const [index, reference] of objectsAt(spec, 'imagePullSecrets').entries()) {
    const secretName = textAt(reference, 'name');
    if (!pullable.has(secretName)) return `imagePullSecrets[${index}].name="${secretName}" ${because} imagePullSecret`;
  }
  return undefined;
}

function inContainers(
  spec: JsonObject,
  lists: readonly (readonly [list: string, what: string])[],
  allowed: ReadonlySet<string>,
  because: string,
): string | undefined {
  for (const [list, what] of lists)
    for (const container of objectsAt(spec, list))
      for (const { secret, by } of secretsOf(container))
        if (!allowed.has(secret))
          return `${what} ${textAt(container, 'name')} with ${by} referencing secret.secretName="${secret}" ${because} secret`;
  return undefined;
}

function secretsOf(container: JsonObject): { readonly secret: string; readonly by: string }[] {
  const fromVariables = objectsAt(container, 'env').flatMap((variable) => {
    const reference = objectAt(objectAt(variable, 'valueFrom'), 'secretKeyRef');
    return reference ? [{ secret: textAt(reference, 'name'), by: `envVar ${textAt(variable, 'name')}` }] : [];
  });
  const fromAll = objectsAt(container, 'envFrom').flatMap((source) => {
    const reference = objectAt(source, 'secretRef');
    return reference ? [{ secret: textAt(reference, 'name'), by: 'envFrom' }] : [];
  });
  return [...fromVariables, ...fromAll];
}
