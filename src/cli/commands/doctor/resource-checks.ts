/**
 * Whether everything that is served can be listed and watched by this user: one object of each, and a watch that is
 * opened and left again. What is forbidden is counted and is no fault; of other failures each cause is told once, with
 * how many there were and the first.
 */
import { type DynamicObject, defineResourceOf, isApiError, type Resource } from '../../../client/index.ts';
import { type Finding, findingOf, judge, ok } from './finding.ts';
import type { Patient } from './patient.ts';

/** At once; more would be a load. */
const AT_ONCE = 4;

type Outcome = { readonly name: string; readonly error?: unknown; readonly verb?: 'list' | 'watch' };

export async function* resourceChecks(patient: Patient): AsyncGenerator<Finding, void, void> {
  let resources: Resource<DynamicObject>[];
  try {
    const all = await patient.client.discovery.resources();
    resources = all
      .filter(({ verbs }) => verbs.includes('list') && verbs.includes('watch'))
      .slice(0, patient.options.mostResources)
      .map((one) => defineResourceOf<DynamicObject>(one));
  } catch (err) {
    patient.options.signal.throwIfAborted();
    yield findingOf('discovery', 'what the server serves cannot be read', err);
    return;
  }
  yield ok('discovery', `${resources.length} resources can be watched`);
  const outcomes: Outcome[] = [];
  let next = 0;
  const work = async () => {
    while (next < resources.length) {
      const resource = resources[next++]!;
      patient.options.onStep(`list and watch: ${resource.plural}`);
      outcomes.push(await tryOne(patient, resource));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  yield* summary(outcomes);
}

async function tryOne(patient: Patient, resource: Resource<DynamicObject>): Promise<Outcome> {
  const name = resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
  const root = resource.group === '' ? '/api' : `/apis/${resource.group}`;
  const path = `${root}/${resource.version}/${resource.plural}`;
  let verb: 'list' | 'watch' = 'list';
  try {
    const { body } = await patient.ask<{ metadata: { resourceVersion: string } }>('GET', path, { query: { limit: 1 } });
    verb = 'watch';
    const version = body?.metadata?.resourceVersion;
    if (typeof version !== 'string') throw new Error('the answer is no list of objects');
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, patient.options.signal]);
    const watch = patient.client.watch(resource, {
      allNamespaces: true,
      resourceVersion: version,
      timeoutSeconds: 60,
      headersTimeoutMs: patient.options.timeoutMs,
      signal,
      onOpen: () => left.abort(),
    });
    try {
      for await (const _ of watch) break;
    } catch (err) {
      if (!left.signal.aborted) throw err;
    }
    return { name };
  } catch (error) {
    patient.options.signal.throwIfAborted();
    return { name, error, verb };
  }
}

function* summary(outcomes: readonly Outcome[]): Generator<Finding, void, void> {
  const good = outcomes.filter(({ error }) => error === undefined);
  const forbidden = outcomes.filter(({ error }) => isApiError(error) && error.code === 403);
  const hidden = forbidden.length > 0 ? `; ${forbidden.length} are forbidden to this user` : '';
  if (good.length > 0)
    yield ok('list and watch', `${good.length} resources${hidden}`, { good: good.length, forbidden: forbidden.length });
  else if (forbidden.length > 0)
    yield {
      check: 'list and watch',
      level: 'warning',
      cause: 'forbidden',
      message: `this user may list and watch nothing of ${forbidden.length} resources`,
      remedy: 'Use another context, or have rights given: `kubectl auth can-i --list`.',
    };
  const byCause = new Map<string, Outcome[]>();
  for (const one of outcomes) {
    if (one.error === undefined || forbidden.includes(one)) continue;
    const { cause } = judge(one.error);
    byCause.set(cause, [...(byCause.get(cause) ?? []), one]);
  }
  for (const some of byCause.values()) {
    const [{ name, verb, error }] = some as [Outcome];
    const others = some.length > 1 ? ` (and ${some.length - 1} more in the same way)` : '';
    yield findingOf('list and watch', `the ${verb} of ${name}${others}`, error);
  }
}
