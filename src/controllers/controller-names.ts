/**
 * Which controllers run, by the names and the list that kube-controller-manager takes: `*`, `name`, `-name`.
 *
 * Without a list those that a bare server needs run. `*` is all of them; a list that names some is those alone; one that
 * only takes some away takes them from what runs without it, and `-*` takes away everything. The order does not matter.
 */

/** The first are what a server feels broken without: namespaces stay for ever, and so does what belongs to nobody. */
export type ControllerName =
  | 'namespace-controller'
  | 'garbage-collector-controller'
  | 'serviceaccount-controller'
  | 'serviceaccount-token-controller'
  | 'token-cleaner-controller'
  | 'root-ca-certificate-publisher-controller'
  | 'persistentvolumeclaim-protection-controller'
  | 'persistentvolume-protection-controller'
  | 'resourcequota-controller'
  | 'validatingadmissionpolicy-status-controller'
  | 'deployment-controller'
  | 'replicaset-controller'
  | 'replicationcontroller-controller'
  | 'statefulset-controller'
  | 'daemonset-controller'
  | 'job-controller'
  | 'cronjob-controller'
  | 'ttl-after-finished-controller'
  | 'endpointslice-controller'
  | 'endpoints-controller'
  | 'disruption-controller'
  | 'persistentvolume-binder-controller'
  | 'pod-garbage-collector-controller'
  | 'certificatesigningrequest-cleaner-controller';

/** Whether it runs where nobody says which do. */
const IS_DEFAULT: Readonly<Record<ControllerName, boolean>> = {
  'namespace-controller': true,
  'garbage-collector-controller': true,
  'serviceaccount-controller': true,
  'serviceaccount-token-controller': true,
  'token-cleaner-controller': true,
  'root-ca-certificate-publisher-controller': true,
  'persistentvolumeclaim-protection-controller': true,
  'persistentvolume-protection-controller': true,
  'resourcequota-controller': true,
  'validatingadmissionpolicy-status-controller': true,
  'deployment-controller': false,
  'replicaset-controller': false,
  'replicationcontroller-controller': false,
  'statefulset-controller': false,
  'daemonset-controller': false,
  'job-controller': false,
  'cronjob-controller': false,
  'ttl-after-finished-controller': false,
  'endpointslice-controller': false,
  'endpoints-controller': false,
  'disruption-controller': false,
  'persistentvolume-binder-controller': false,
  'pod-garbage-collector-controller': false,
  'certificatesigningrequest-cleaner-controller': false,
};

/** These need what only the server has, schemas and compiled expressions or how admission counts: run there, or not at all. */
export const IN_SERVER = ['resourcequota-controller', 'validatingadmissionpolicy-status-controller'] as const;
export type InServer = (typeof IN_SERVER)[number];

export function isInServer(name: ControllerName): name is InServer {
  return (IN_SERVER as readonly ControllerName[]).includes(name);
}

export const KNOWN_CONTROLLERS: readonly ControllerName[] = Object.keys(IS_DEFAULT) as ControllerName[];
export const DEFAULT_CONTROLLERS: readonly ControllerName[] = KNOWN_CONTROLLERS.filter((name) => IS_DEFAULT[name]);

export class UnknownControllerError extends Error {
  override readonly name = 'UnknownControllerError';
}

/** In the order of KNOWN_CONTROLLERS; throws UnknownControllerError. */
export function chooseControllers(list: readonly string[] = []): readonly ControllerName[] {
  const parts = list.map((part) => part.trim()).filter((part) => part !== '');
  for (const part of parts) {
    const name = part.replace(/^-/, '');
    if (name !== '*' && !isKnown(name))
      throw new UnknownControllerError(
        `"${name}" is not in the list of known controllers; there are ${KNOWN_CONTROLLERS.join(', ')}`,
      );
  }
  const hasNames = parts.some((part) => !part.startsWith('-') && part !== '*');
  const isIn = (name: ControllerName): boolean => {
    if (parts.includes(`-${name}`)) return false;
    if (parts.includes(name) || parts.includes('*')) return true;
    return !hasNames && !parts.includes('-*') && IS_DEFAULT[name];
  };
  return KNOWN_CONTROLLERS.filter(isIn);
}

function isKnown(name: string): boolean {
  return Object.hasOwn(IS_DEFAULT, name);
}
