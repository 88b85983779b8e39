/**
 * ResourceQuota: what a namespace may hold in all. It runs last, so that nothing another plugin refuses is charged; deletes
 * give nothing back here, the quota's controller counts again.
 */
import { qualifiedName, type Resource } from '../../registry/resource.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from '../admission.ts';
import { QuotaLedger, type QuotaStore } from './quota-ledger.ts';
import { isTerminating } from './scopes.ts';

/** Never counted: what is asked and not stored, and what goes by itself. */
const UNCOUNTED: ReadonlySet<string> = new Set([
  'bindings',
  'events',
  'events.events.k8s.io',
  'selfsubjectreviews.authentication.k8s.io',
  'tokenreviews.authentication.k8s.io',
  'localsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectaccessreviews.authorization.k8s.io',
  'selfsubjectrulesreviews.authorization.k8s.io',
  'subjectaccessreviews.authorization.k8s.io',
]);

export function resourceQuota(store: QuotaStore): AdmissionPlugin {
  const ledger = new QuotaLedger(store);
  return {
    name: 'ResourceQuota',
    handles: mayCount,
    validate: (a) => {
      if (!changesScope(a)) return;
      return ledger.charge(a);
    },
  };
}

/** Whether a write of the kind can be of interest to any quota. */
export function mayCount(operation: AdmissionOperation, resource: Resource, subresource: string): boolean {
  if (!resource.isNamespaced || UNCOUNTED.has(qualifiedName(resource))) return false;
  if (operation === 'CREATE') return subresource === '';
  if (operation !== 'UPDATE' || resource.isCustom) return false;
  switch (qualifiedName(resource)) {
    case 'pods':
      return subresource === '' || subresource === 'resize';
    case 'services':
    case 'resourceclaims.resource.k8s.io':
      return subresource === '';
    case 'persistentvolumeclaims':
      return subresource === '' || subresource === 'status';
    default:
      return false;
  }
}

/** An update of a Pod can move it from one scope to another, and changes nothing else that is counted. */
function changesScope({ operation, resource, subresource, object, oldObject }: AdmissionAttributes): boolean {
  if (operation !== 'UPDATE' || resource.plural !== 'pods' || subresource !== '') return true;
  return isTerminating(object!) !== isTerminating(oldObject!);
}
