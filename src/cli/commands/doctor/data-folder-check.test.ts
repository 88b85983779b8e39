import { expect, it } from 'vitest';
import { dataFolderOf } from './data-folder-check.ts';

it.each<[claim: string, flags: Parameters<typeof dataFolderOf>[0], env: NodeJS.ProcessEnv, want: string | undefined]>([
  ['named', { dataDir: '/srv/lab', kubeconfig: '/a/b' }, { KUBECONFIG: '/c/d' }, '/srv/lab'],
  ['beside the kubeconfig of the flag', { kubeconfig: '/a/admin.kubeconfig' }, { KUBECONFIG: '/c/d' }, '/a'],
  ['beside that of the environment', {}, { KUBECONFIG: '/lab/.longwatch/admin.kubeconfig' }, '/lab/.longwatch'],
  ['beside the first of several', {}, { KUBECONFIG: '/lab/x:/home/y' }, '/lab'],
  ['not known', {}, { KUBECONFIG: '' }, undefined],
])('the data folder is %s', (_claim, flags, env, want) => {
  expect(dataFolderOf(flags, env)).toBe(want);
});
