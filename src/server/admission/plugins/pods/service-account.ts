/**
 * ServiceAccount: a new Pod runs as an account of its namespace, `default` if it names none, and finds a token of that
 * account in a volume unless it or the account does not want one. An account may say which secrets its Pods may use.
 *
 * The account must be there. `default` is made by a controller, so that one is waited for: ten tries within two seconds.
 * Mirror Pods, which stand for what a kubelet runs by itself, have no account and get no token.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type JsonObject, type KubeObject, quote } from '../../../../api/index.ts';
import { cloneJson } from '../../../codec/json/json-objects.ts';
import { generatedName } from '../../../strategy/generated-name.ts';
import { ensureObject, objectAt, objectsAt, textAt } from '../../../strategy/validation/fields.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../../admission.ts';
import { concerns } from '../../concerns.ts';
import { forbiddenReference, isMirror, mirrorFault } from './secret-references.ts';

const DEFAULT = 'default';
const TRIES_OF_DEFAULT = 10;
const TRY_AGAIN_MS = 150;
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const VOLUME_PREFIX = 'kube-api-access-';
const ENFORCE_ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';
/** An hour, and a little that says that nobody asked for it. */
const TOKEN_SECONDS = 3607;

const ofNewPods = concerns(['CREATE'], ['pods']);
const ofDebugging = concerns(['UPDATE'], ['pods'], ['ephemeralcontainers']);

export const serviceAccount: AdmissionPlugin = {
  name: 'ServiceAccount',
  handles: (...write) => ofNewPods(...write) || ofDebugging(...write),
  admit: async (a) => {
    if (a.operation !== 'CREATE' || isMirror(a.object!)) return;
    const spec = ensureObject(a.object as JsonObject, 'spec');
    const name = textAt(spec, 'serviceAccountName') || DEFAULT;
    spec.serviceAccountName = name;
    spec.serviceAccount = name; // its older name
    const account = await findAccount(a, name);
    if (wantsToken(spec, account)) mountToken(spec);
    const pullSecrets = objectsAt(account as JsonObject, 'imagePullSecrets');
    if (objectsAt(spec, 'imagePullSecrets').length === 0 && pullSecrets.length > 0)
      spec.imagePullSecrets = cloneJson([...pullSecrets]);
  },
  validate: async (a) => {
    if (isMirror(a.object!)) {
      const fault = mirrorFault(a.object!);
      if (fault) throw refuse(a, fault);
      return;
    }
    const name = textAt(objectAt(a.object as JsonObject, 'spec'), 'serviceAccountName');
    // An ephemeral container comes to a Pod that may be older than this plugin.
    if (name === '' && a.operation === 'UPDATE') return;
    const account = await findAccount(a, name);
    if (!isTrue(account.metadata.annotations?.[ENFORCE_ANNOTATION])) return;
    const fault = forbiddenReference(a.object!, account, a.operation === 'UPDATE');
    if (fault) throw refuse(a, fault);
  },
};

async function findAccount(a: AdmissionAttributes, name: string): Promise<KubeObject> {
  for (let tries = name === DEFAULT ? TRIES_OF_DEFAULT : 1; tries > 0; tries--) {
    const found = await a.context.known('', 'serviceaccounts', a.namespace, name);
    if (found) return found;
    if (tries > 1) await delay(TRY_AGAIN_MS, undefined, { signal: a.signal });
  }
  const missing = `serviceaccount ${quote(name)} not found`;
  throw refuse(a, `error looking up service account ${a.namespace}/${name}: ${missing}`);
}

/** As Go reads a truth. */
function isTrue(text: string | undefined): boolean {
  return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text ?? '');
}

function wantsToken(spec: JsonObject, account: KubeObject): boolean {
  const said = spec.automountServiceAccountToken ?? account.automountServiceAccountToken;
  return said !== false;
}

/** Into every container that has nothing in its place. */
function mountToken(spec: JsonObject): void {
  const volumes = objectsAt(spec, 'volumes');
  const known = volumes.find((volume) => textAt(volume, 'name').startsWith(VOLUME_PREFIX));
  const name = known ? textAt(known, 'name') : generatedName(VOLUME_PREFIX);
  let isNeeded = false;
  for (const list of ['initContainers', 'containers'])
    for (const container of objectsAt(spec, list)) {
      const mounts = objectsAt(container, 'volumeMounts');
      if (mounts.some((mount) => textAt(mount, 'mountPath') === MOUNT_PATH)) continue;
      container.volumeMounts = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }];
      isNeeded = true;
    }
  if (isNeeded && !known) spec.volumes = [...volumes, tokenVolume(name)];
}

function tokenVolume(name: string): JsonObject {
  const fieldRef = { apiVersion: 'v1', fieldPath: 'metadata.namespace' };
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [{ path: 'namespace', fieldRef }] } },
      ],
      defaultMode: 420,
    },
  };
}
