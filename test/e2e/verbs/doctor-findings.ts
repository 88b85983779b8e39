/** What the doctor finds, for tests: of a cluster by its kubeconfig, with a hand on it between two findings. */
import { dirname } from 'node:path';
import { examine } from '../../../src/cli/commands/doctor/examine.ts';
import type { Cause, Finding } from '../../../src/cli/commands/doctor/finding.ts';
import { Patient } from '../../../src/cli/commands/doctor/patient.ts';
import { connect } from '../../../src/client/index.ts';

/** A machine that is busy makes everything slow: that is not what is looked for, but where a test says so. */
export const PATIENT = { answerMs: 60_000, eventMs: 60_000, bytesPerSecond: 1 };
const LIMITS = { timeoutMs: 60_000, forMs: 300, mostResources: 300, bookmarkMs: 75_000, slow: PATIENT };
/** For what has nothing to do with them. */
export const FEW = { mostResources: 3 };
let count = 0;

/** All findings; `each` sees them as they come, and may break things. */
export async function findingsOf(
  kubeconfig: string,
  each: (finding: Finding) => unknown = () => {},
  limits: Partial<typeof LIMITS> = {},
): Promise<Finding[]> {
  await using client = await connect({ paths: [kubeconfig], env: {} });
  const signal = new AbortController().signal;
  const options = { client, namespace: 'default', signal, id: `t${++count}`, dataDir: dirname(kubeconfig) };
  const findings: Finding[] = [];
  for await (const finding of examine(new Patient({ ...LIMITS, ...limits, ...options, onStep: () => {} }))) {
    findings.push(finding);
    await each(finding);
  }
  return findings;
}

export const causesOf = (findings: readonly Finding[]): (Cause | undefined)[] => [
  ...new Set(findings.filter(({ level }) => level === 'warning' || level === 'failure').map(({ cause }) => cause)),
];
