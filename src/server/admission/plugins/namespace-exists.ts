/** NamespaceExists: what lies in a namespace is written only where that is there. NamespaceLifecycle says so too, and more. */
import { type KubeObject, notFound } from '../../../api/index.ts';
import type { AdmissionPlugin } from '../admission.ts';

const namespaces = { group: '', plural: 'namespaces' };

export const namespaceExists: AdmissionPlugin = {
  name: 'NamespaceExists',
  handles: (operation, { isNamespaced }) => isNamespaced && operation !== 'CONNECT',
  validate: (a) => {
    const mustBe = (namespace: KubeObject | undefined) => {
      if (!namespace) throw notFound(namespaces, a.namespace);
    };
    const found = a.context.known('', 'namespaces', '', a.namespace);
    return found instanceof Promise ? found.then(mustBe) : mustBe(found);
  },
};
