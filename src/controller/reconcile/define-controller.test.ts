import { expect, it } from 'vitest';
import { corev1 } from '../../client/index.ts';
import { defineController } from './define-controller.ts';
import { requeueAfter } from './requeue.ts';

const reconcile = () => {};

it('defineController() writes shorthands out', () => {
  const where = () => true;
  const definition = defineController({
    name: 'a',
    for: corev1.configMaps,
    owns: [corev1.secrets, { resource: corev1.pods, where: ({ object }) => object.spec.nodeName !== undefined }],
    reconcile,
  });
  expect(definition).toMatchObject({
    for: { resource: corev1.configMaps },
    owns: [{ resource: corev1.secrets }, { resource: corev1.pods }],
    watches: [],
    reads: [],
  });
  expect(defineController({ name: 'b', for: { resource: corev1.configMaps, where }, reconcile }).for.where).toBe(where);
});

it('defineController() takes a kind twice in one selection, and refuses it in two', () => {
  const labelSelector = 'app=web';
  const watch = { resource: corev1.configMaps, labelSelector: { app: 'web' }, map: () => 'x' };
  const define = (selector: string) =>
    defineController({
      name: 'a',
      for: { resource: corev1.configMaps, labelSelector: selector },
      watches: [watch],
      reconcile,
    });
  expect(define(labelSelector).watches).toEqual([watch]);
  expect(() => define('app=db')).toThrow(
    'Cannot define controller "a": it declares configmaps in two different selections',
  );
});

it.each([
  ['an empty name', { name: '' }, 'Cannot define a controller: its name is empty'],
  ['no concurrency', { name: 'a', concurrency: 0 }, 'Cannot define controller "a": its concurrency is 0'],
  ['no debounce', { name: 'a', debounceMs: Number.NaN }, 'Cannot define controller "a": its debounceMs is NaN'],
  ['a debounce', { name: 'a', for: { resource: corev1.configMaps, debounceMs: -1 } }, 'its debounceMs is -1'],
  ['half a worker', { name: 'a', concurrency: 1.5 }, 'Cannot define controller "a": its concurrency is 1.5'],
])('defineController() refuses %s', (_what, options, message) => {
  expect(() => defineController({ for: corev1.configMaps, reconcile, ...options })).toThrow(message);
});

it.each<[delay: number | string, ms: number]>([
  [250, 250],
  [0, 0],
  ['30s', 30_000],
  ['1h30m', 5_400_000],
  ['1.5ms', 1.5],
])('requeueAfter(%j) is %d ms', (delay, requeueAfterMs) => expect(requeueAfter(delay)).toEqual({ requeueAfterMs }));

it.each([-1, Number.NaN, '-1s', 'soon'])('requeueAfter(%j) is refused', (delay) => {
  expect(() => requeueAfter(delay)).toThrow();
});
