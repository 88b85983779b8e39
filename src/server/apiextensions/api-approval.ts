/**
 * Groups that belong to Kubernetes itself: a definition in one of them has to say where it was approved, or that it was
 * not. What it says is judged when it is written, and told in a condition of its status.
 */
import { type FieldError, invalidValue, quote, requiredValue } from '../../api/index.ts';
import type { Condition, Definition } from './definition.ts';

const APPROVAL = 'api-approved.kubernetes.io';
const PAGE = 'https://github.com/kubernetes/enhancements/pull/1111';
const WANTED = `protected groups must have approval annotation "${APPROVAL}"`;
const MISSING = `${WANTED}, see ${PAGE}`;
const INVALID = `${WANTED} with either a URL or a reason starting with "unapproved", see ${PAGE}`;

type Approval = { readonly value: string; readonly state: 'Missing' | 'Unapproved' | 'Approved' | 'Invalid' };

/** Undefined: its group is anybody's. */
function approvalOf({ metadata, spec }: Definition): Approval | undefined {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(spec.group ?? '')) return undefined;
  const value = metadata.annotations?.[APPROVAL] ?? '';
  if (value === '') return { value, state: 'Missing' };
  if (value.startsWith('unapproved')) return { value, state: 'Unapproved' };
  return { value, state: URL.canParse(value) ? 'Approved' : 'Invalid' };
}

export function approvalFaults(definition: Definition): FieldError[] {
  const at = `metadata.annotations[${APPROVAL}]`;
  const { value = '', state } = approvalOf(definition) ?? {};
  if (state === 'Missing') return [requiredValue(at, MISSING)];
  return state === 'Invalid' ? [invalidValue(at, value, INVALID)] : [];
}

/** Undefined where nobody asks for approval. */
export function approvalCondition(definition: Definition): Condition | undefined {
  const approval = approvalOf(definition);
  if (!approval) return undefined;
  const { value, state } = approval;
  const messages = {
    Missing: MISSING,
    Invalid: INVALID,
    Unapproved: `not approved: ${quote(value)}`,
    Approved: `approved in ${value}`,
  };
  return {
    type: 'KubernetesAPIApprovalPolicyConformant',
    status: state === 'Approved' ? 'True' : 'False',
    reason: `${state}Annotation`,
    message: messages[state],
  };
}
