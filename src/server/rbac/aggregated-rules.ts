/** The rules of a cluster role that gathers those of others: in order of names, each once, and never its own. Pure. */
import { type KubeObject, type LabelSelectorObject, labelSelectorFromObject } from '../../api/index.ts';
import { type PolicyRule, rulesIn } from './policy-rule.ts';

export function aggregatedRules(role: KubeObject, all: readonly KubeObject[]): PolicyRule[] {
  const seen = new Set<string>();
  const rules: PolicyRule[] = [];
  const inOrder = [...all].sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1));
  for (const selector of selectorsOf(role).map(labelSelectorFromObject))
    for (const other of inOrder) {
      if (other.metadata.name === role.metadata.name || !selector.matches(other.metadata.labels ?? {})) continue;
      for (const rule of rulesIn(other)) {
        const text = JSON.stringify(rule);
        if (!seen.has(text)) rules.push(rule);
        seen.add(text);
      }
    }
  return rules;
}

/** Which roles it gathers; empty for a role that gathers none. */
export function selectorsOf(role: KubeObject): readonly LabelSelectorObject[] {
  const { aggregationRule } = role as unknown as {
    aggregationRule?: { clusterRoleSelectors?: LabelSelectorObject[] } | null;
  };
  return aggregationRule?.clusterRoleSelectors ?? [];
}
