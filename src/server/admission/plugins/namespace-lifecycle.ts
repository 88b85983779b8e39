/**
 * NamespaceLifecycle: new objects go into namespaces that exist and are not going away, and three namespaces never go.
 *
 * Whether a namespace exists is asked of the store before its absence is told: what this server remembers may be a moment
 * behind.
 */
import { type KubeObject, notFound } from '../../../api/index.ts';
import { type AdmissionAttributes, type AdmissionPlugin, refuse } from '../admission.ts';

const IMMORTAL = ['default', 'kube-system', 'kube-public'];
const namespaces = { group: '', plural: 'namespaces' };

export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  handles: (operation, { group, plural, isNamespaced }) => {
    if (group === '' && plural === 'namespaces') return operation === 'DELETE';
    // Whether somebody may do something in a namespace can be asked before it is there.
    if (group === 'authorization.k8s.io' && plural === 'localsubjectaccessreviews') return false;
    return isNamespaced && (operation === 'CREATE' || operation === 'UPDATE');
  },
  admit: (a) => {
    if (a.operation === 'DELETE') {
      if (IMMORTAL.includes(a.name)) throw refuse(a, 'this namespace may not be deleted');
      return;
    }
    const found = a.context.known('', 'namespaces', '', a.namespace);
    if (!(found instanceof Promise)) return mustTakeContent(a, found);
    return found.then((namespace) => mustTakeContent(a, namespace));
  },
};

function mustTakeContent(a: AdmissionAttributes, namespace: KubeObject | undefined): void {
  if (!namespace) throw notFound(namespaces, a.namespace);
  if (a.operation !== 'CREATE' || !namespace.metadata.deletionTimestamp) return;
  const why = `unable to create new content in namespace ${a.namespace} because it is being terminated`;
  throw refuse(a, why, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${a.namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}
