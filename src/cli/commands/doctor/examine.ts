/**
 * The examination, in its order. Findings come as they are made; what it writes into the cluster (two ConfigMaps) is
 * removed at the end, whatever happens, and if that fails it says what it left behind.
 */
import { isApiError } from '../../../client/index.ts';
import { connectionChecks } from './connection-checks.ts';
import { dataFolderCheck } from './data-folder-check.ts';
import { type Finding, findingOf, ok, skipped } from './finding.ts';
import { latencyCheck, touch, windowCheck } from './latency-check.ts';
import { metricsCheck } from './metrics-check.ts';
import type { Patient } from './patient.ts';
import { resourceChecks } from './resource-checks.ts';
import { QuietStream } from './stream-check.ts';

type Probes = { readonly quiet: Probe; readonly busy: Probe };
type Probe = { readonly name: string; readonly version: string; readonly madeAt: number; changes: number };

export async function* examine(patient: Patient): AsyncGenerator<Finding, void, void> {
  const isReachable = yield* connectionChecks(patient);
  if (!isReachable) return;
  const made: string[] = [];
  try {
    yield* withProbes(patient, made);
  } finally {
    const left = await cleanUp(patient, made);
    if (left) yield left;
  }
}

async function* withProbes(patient: Patient, made: string[]): AsyncGenerator<Finding, void, void> {
  let probes: Probes | undefined;
  let mayGoOn = true;
  try {
    probes = { quiet: await make(patient, 'quiet', made), busy: await make(patient, 'busy', made) };
    yield ok('writes', 'objects can be made');
  } catch (err) {
    patient.options.signal.throwIfAborted();
    const isForbidden = isApiError(err) && err.code === 403;
    yield isForbidden
      ? skipped(
          'writes',
          `this user may not make ConfigMaps in ${patient.options.namespace}: latency and history cannot be told`,
        )
      : findingOf('writes', 'a ConfigMap', err);
    mayGoOn = isForbidden;
  }
  const quiet = new QuietStream(patient, probes?.quiet.name ?? `longwatch-doctor-${patient.options.id}`);
  let isOpen = false;
  try {
    if (mayGoOn) {
      const version = probes?.quiet.version ?? (await versionNow(patient));
      await quiet.open(version);
      isOpen = true;
    }
  } catch (err) {
    patient.options.signal.throwIfAborted();
    yield findingOf('quiet stream', 'a watch cannot be opened', err);
  }
  try {
    yield* resourceChecks(patient);
    if (probes) yield await latencyCheck(patient, probes.busy);
    yield* metricsCheck(patient);
    if (patient.isOurs) yield* dataFolderCheck(patient.options.dataDir);
    const name = probes?.quiet.name;
    if (isOpen) yield* quiet.findings(name === undefined ? undefined : () => touch(patient, name, 1));
    if (probes) yield await windowCheck(patient, probes.busy);
  } finally {
    quiet.close();
  }
}

async function make(patient: Patient, what: string, made: string[]): Promise<Probe> {
  const name = `longwatch-doctor-${patient.options.id}-${what}`;
  const metadata = { name, labels: { 'app.kubernetes.io/managed-by': 'longwatch-doctor' } };
  made.push(name); // before: it may be made though the answer is lost
  const { body } = await patient.ask<{ metadata: { resourceVersion: string } }>('POST', patient.probes, {
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { n: '0' } },
  });
  return { name, version: body.metadata.resourceVersion, madeAt: performance.now(), changes: 0 };
}

async function versionNow(patient: Patient): Promise<string> {
  const { body } = await patient.ask<{ metadata: { resourceVersion: string } }>('GET', patient.probes, {
    query: { limit: 1 },
  });
  return body.metadata.resourceVersion;
}

/** With the client's whole patience, and though the examination was interrupted. */
async function cleanUp(patient: Patient, made: readonly string[]): Promise<Finding | undefined> {
  const left: string[] = [];
  for (const name of made) {
    try {
      const timeouts = { headersMs: patient.options.timeoutMs, totalMs: patient.options.timeoutMs * 2 };
      await patient.client.transport.request('DELETE', `${patient.probes}/${name}`, { timeouts, maxTries: 3 });
    } catch (err) {
      if (!isApiError(err) || (err.code !== 404 && err.code !== 403)) left.push(name);
    }
  }
  if (left.length === 0) return undefined;
  return {
    check: 'clean up',
    level: 'warning',
    cause: 'left-behind',
    message: `could not remove ${left.join(', ')}`,
    remedy: `kubectl delete configmap -n ${patient.options.namespace} -l app.kubernetes.io/managed-by=longwatch-doctor`,
  };
}
