/**
 * A Pod against a level of the Pod Security Standards: the checks of that level as they were in that version, those of
 * `baseline` first, each level by the ids of its checks. A version this server does not know yet is the latest it knows.
 */
import { greatestOf } from '../../../api/index.ts';
import { baselineChecks } from './baseline-checks.ts';
import type { Check, CheckPod, Finding, PodLike } from './check.ts';
import type { Level, LevelVersion } from './policy.ts';
import { restrictedChecks } from './restricted-checks.ts';

const all = [...baselineChecks, ...restrictedChecks];
/** From here on nothing changes. */
const NEWEST = greatestOf(all.flatMap(({ versions }) => versions.map(({ since }) => since)));
const known = new Map<string, readonly CheckPod[]>();

export function findingsOf({ level, version }: LevelVersion, pod: PodLike): Finding[] {
  if (level === 'privileged') return [];
  const minor = version === 'latest' ? NEWEST : Math.min(version, NEWEST);
  return checksFor(level, minor).flatMap((check) => check(pod) ?? []);
}

function checksFor(level: Level, minor: number): readonly CheckPod[] {
  const key = `${level} ${minor}`;
  let checks = known.get(key);
  if (!checks) {
    const restricted = level === 'restricted' ? inForce(restrictedChecks, minor) : [];
    const replaced = new Set(restricted.flatMap(({ instead = [] }) => instead));
    const baseline = inForce(baselineChecks, minor).filter(({ id }) => !replaced.has(id));
    checks = [...baseline, ...restricted].map(({ check }) => check);
    known.set(key, checks);
  }
  return checks;
}

function inForce(checks: readonly Check[], minor: number) {
  return checks.flatMap(({ id, versions }) => {
    const newest = versions.filter(({ since }) => since <= minor).at(-1);
    return newest ? [{ id, ...newest }] : [];
  });
}

/** `reason (detail), reason (detail)` */
export function detailsOf(findings: readonly Finding[]): string {
  return findings.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');
}

export function reasonsOf(findings: readonly Finding[]): string {
  return findings.map(({ reason }) => reason).join(', ');
}
