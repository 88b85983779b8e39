/**
 * Which Pods of a namespace a stricter level would not have let in: those with the same faults together, under the first of
 * their names. Looked at for a second at most, and at the first 3000 only; others have their turn meanwhile.
 */
import type { JsonObject } from '../../../api/index.ts';
import { quote } from '../../../api/index.ts';
import { WorkSlices } from '../../event-loop/work-slices.ts';
import type { AdmissionAttributes } from '../admission.ts';
import { podLike } from './check.ts';
import { findingsOf, reasonsOf } from './evaluate.ts';
import { type LevelVersion, shown } from './policy.ts';

const LIMITS = { pods: 3000, ms: 1000 };

export async function warningsAboutPods(
  a: Pick<AdmissionAttributes, 'context' | 'name' | 'signal'>,
  enforce: LevelVersion,
  limits: { readonly pods: number; readonly ms: number } = LIMITS,
): Promise<string[]> {
  const { total, objects } = await a.context.walk('', 'pods', a.name);
  const faulty = new Map<string, { first: string; count: number }>();
  const slices = new WorkSlices(a);
  const until = performance.now() + limits.ms;
  let checked = 0;
  for (const pod of objects) {
    if (checked === limits.pods || performance.now() > until) break;
    checked++;
    const reasons = reasonsOf(findingsOf(enforce, podLike(pod as JsonObject)));
    if (reasons !== '') {
      const { name = '' } = pod.metadata;
      const known = faulty.get(reasons);
      if (!known) faulty.set(reasons, { first: name, count: 1 });
      else {
        known.count++;
        if (name < known.first) known.first = name;
      }
    }
    if (slices.isOver) await slices.pause();
  }
  const warnings: string[] = [];
  if (checked < total)
    warnings.push(`new PodSecurity enforce level only checked against the first ${checked} of ${total} existing pods`);
  if (faulty.size === 0) return warnings;
  const level = quote(shown(enforce));
  warnings.push(`existing pods in namespace ${quote(a.name)} violate the new PodSecurity enforce level ${level}`);
  const byPod = [...faulty].map(([reasons, { first, count }]) => {
    const others = count === 1 ? '' : ` (and ${count - 1} other ${count === 2 ? 'pod' : 'pods'})`;
    return `${first}${others}: ${reasons}`;
  });
  return [...warnings, ...byPod.sort()];
}
