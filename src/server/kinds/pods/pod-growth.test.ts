/** Lists of a pod are as long as a body lets them be: what is judged about them takes time in proportion. */
import { it } from 'vitest';
import { expectLinear } from '../../../../test/support/growth.ts';
import type { JsonObject } from '../../../api/index.ts';
import { apply, find } from '../strategy-run.testing.ts';

const many = (size: number, make: (index: number) => JsonObject): JsonObject[] =>
  Array.from({ length: size }, (_n, i) => make(i));
const container = (fields: JsonObject): JsonObject => ({ containers: [{ name: 'c', image: 'x:1', ...fields }] });

it.each<[what: string, make: (size: number) => JsonObject]>([
  [
    'mounts and devices',
    (size) =>
      container({
        volumeMounts: many(size, (i) => ({ name: `v${i}`, mountPath: `/m${i}` })),
        volumeDevices: many(size, (i) => ({ name: `w${i}`, devicePath: `/d${i}` })),
      }),
  ],
  ['claims', (size) => container({ resources: { claims: many(size, (i) => ({ name: 'n', request: `r${i}` })) } })],
  ['ports', (size) => container({ ports: many(size, () => ({ containerPort: 1 })) })],
  [
    'files of one volume',
    (size) => ({
      ...container({}),
      volumes: [{ name: 'v', configMap: { name: 'm', items: many(size, () => ({ key: 'k', path: 'p' })) } }],
    }),
  ],
  ['containers', (size) => ({ containers: many(size, (i) => ({ name: `c${i}`, image: 'x:1' })) })],
  [
    'tolerations',
    (size) => ({ ...container({}), tolerations: many(size, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
  ],
  [
    'spreading',
    (size) => ({
      ...container({}),
      topologySpreadConstraints: many(size, (i) => ({
        maxSkew: 1,
        topologyKey: `k${i}`,
        whenUnsatisfiable: 'DoNotSchedule',
      })),
    }),
  ],
])('%s of a pod are judged in linear time', async (what, make) => {
  const pods = find('pods');
  await expectLinear(what, {
    make: (size) => ({ spec: make(size) }),
    run: async (body: JsonObject) => {
      const { created, strategy, context } = await apply(pods, body);
      strategy.warnings?.(created, undefined, context);
      const next = structuredClone(created);
      await strategy.prepareUpdate?.(next, created, context);
      strategy.validateUpdate?.(next, created, context);
    },
    from: 250,
    limit: 16_000,
    rounds: 2,
  });
});
