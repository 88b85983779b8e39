import { expect, it } from 'vitest';
import { fieldErrorText, type JsonObject, type KubeObject } from '../../../api/index.ts';
import { apply, find } from '../strategy-run.testing.ts';

const jobs = find('jobs.batch');
const cronJobs = find('cronjobs.batch');
const template: JsonObject = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } };
const indexed: JsonObject = {
  completionMode: 'Indexed',
  completions: 4,
  parallelism: 4,
  backoffLimitPerIndex: 1,
  template,
};
const START = '2024-01-01T00:00:00Z';
const END = '2024-01-01T01:00:00Z';

/** As conditions that hold. */
const held = (...types: string[]): JsonObject => ({ conditions: types.map((type) => ({ type, status: 'True' })) });
const done: JsonObject = { startTime: START, completionTime: END, ...held('SuccessCriteriaMet', 'Complete') };

async function judge(spec: JsonObject, before: JsonObject, status: JsonObject): Promise<string[]> {
  const { created, strategy, context } = await apply(jobs, { spec });
  const old: KubeObject = { ...created, status: before };
  const written = { ...context, subresource: 'status' };
  return strategy.validateUpdate!({ ...created, status }, old, written).map((fault) =>
    fieldErrorText(fault).replace(/^status\./, ''),
  );
}

it.each<[before: JsonObject, status: JsonObject, want: string[]]>([
  [{}, done, []],
  [done, done, []],
  [{}, { startTime: START, ...held('FailureTarget', 'Failed') }, []],
  [
    {},
    { startTime: START, completionTime: END, ...held('Complete') },
    ['conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition'],
  ],
  [
    {},
    { startTime: START, ...held('Failed') },
    ['conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition'],
  ],
  [
    {},
    { ...done, ...held('SuccessCriteriaMet', 'Complete', 'FailureTarget') },
    [
      'conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions',
      'conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions',
    ],
  ],
  [
    {},
    held('SuccessCriteriaMet', 'Complete'),
    [
      'completionTime: Required value: completionTime is required for Complete jobs',
      'startTime: Required value: startTime is required for finished job',
    ],
  ],
  [
    {},
    { ...done, startTime: END, completionTime: START },
    [`completionTime: Invalid value: "${START}": completionTime cannot be set before startTime`],
  ],
  [
    { active: 1 },
    { ...done, active: 1, terminating: 1, uncountedTerminatedPods: { failed: ['u'] } },
    [
      'active: Invalid value: 1: active>0 is invalid for finished job',
      'uncountedTerminatedPods: Invalid value: {"failed":["u"]}: uncountedTerminatedPods needs to be empty for finished job',
      'terminating: Invalid value: 1: terminating>0 is invalid for finished job',
    ],
  ],
  [
    { failed: 2, succeeded: 2 },
    { failed: 1, succeeded: 1 },
    ['failed: Invalid value: 1: cannot decrease the failed counter'],
  ],
  [
    {},
    { completedIndexes: '0-1', failedIndexes: '1,3' },
    ['failedIndexes: Invalid value: "1,3": failedIndexes and completedIndexes overlap at index: 1'],
  ],
  [
    done,
    { ...done, completionTime: '2024-01-01T02:00:00Z' },
    ['completionTime: Invalid value: "2024-01-01T02:00:00Z": completionTime cannot be mutated'],
  ],
  [
    done,
    { startTime: START },
    [
      'conditions: Invalid value: cannot disable the terminal Complete=True condition',
      'conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition',
    ],
  ],
  [{ startTime: START }, {}, ['startTime: Required value: startTime cannot be removed for unsuspended job']],
])('an indexed job of the status %j is judged with %j', async (before, status, want) =>
  expect(await judge(indexed, before, status)).toEqual(want),
);

it.each<[status: JsonObject, want: string[]]>([
  [{ succeeded: 0 }, ['succeeded: Invalid value: 0: cannot decrease the succeeded counter']],
  [
    { succeeded: 1, failedIndexes: '' },
    ['failedIndexes: Invalid value: "": cannot set non-null failedIndexes when backoffLimitPerIndex is null'],
  ],
])('a job without indexes of the status %j is judged', async (status, want) =>
  expect(await judge({ template }, { succeeded: 1 }, status)).toEqual(want),
);

it('the last pod of an indexed job must have a name, too', async () => {
  const name = 'a'.repeat(62);
  const { errors } = await apply(jobs, { metadata: { name }, spec: indexed });
  expect(errors).toEqual([
    `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-3`,
  ]);
  expect((await apply(jobs, { metadata: { name }, spec: { template } })).errors).toEqual([]);
});

it('an indexed job grows with its parallelism only', async () => {
  const { created, strategy, context } = await apply(jobs, { spec: indexed });
  const grow = (more: JsonObject) => {
    const next = structuredClone(created);
    Object.assign(next.spec as JsonObject, more);
    return strategy.validateUpdate!(next, created, context).map(fieldErrorText);
  };
  expect(grow({ completions: 5, parallelism: 5 })).toEqual([]);
  expect(grow({ parallelism: 5 })).toEqual([]);
  expect(grow({ completions: 5 })).toEqual([
    'spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism',
  ]);
});

const zoneText = 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';
it.each<[schedule: string, want: string[]]>([
  ['0,,30 * * * *', []],
  ['TZ=UTC * * * * *', [zoneText]],
  ['CRON_TZ=Europe/Berlin @daily', [zoneText]],
  ['TZ=Nowhere/X * * * * *', ['provided bad location Nowhere/X: unknown time zone Nowhere/X', zoneText]],
  ['TZ=UTC * * * *', ['expected exactly 5 fields, found 4: [* * * *]', zoneText]],
])('the schedule %s is judged', async (schedule, want) => {
  const { errors } = await apply(cronJobs, { spec: { schedule, jobTemplate: { spec: { template } } } });
  expect(errors).toEqual(want.map((why) => `spec.schedule: Invalid value: ${JSON.stringify(schedule)}: ${why}`));
});
