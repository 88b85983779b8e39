/** `longwatch generate types`: from a file and from a cluster, to a module that the compiler and the formatter take. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { expect, expectTypeOf, it } from 'vitest';
import { generateVerb } from '../../../src/cli/commands/generate/generate-command.ts';
import { type CrdInput, generateTypes } from '../../../src/cli/commands/generate/generate-types.ts';
import { startTestServer } from '../../../src/testing/index.ts';
import { runToEnd } from '../../support/cli/test-io.ts';
import type { Gadget } from '../../support/client/generated/gadgets.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const path = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const file = path('test/support/client/gadgets-crd.yaml');
const output = path('test/support/client/generated/gadgets.ts');
const definition = load(readFileSync(file, 'utf8')) as CrdInput;

// The check of the tree compiles, formats and lints the file: nothing but the header says that nobody wrote it.
it('generate types: what it wrote is up to date, and has the types that the schema says', async () => {
  const { code, err } = await runToEnd(generateVerb({ file: [file], output, check: true }));
  expect(err).toBe(`${output} is up to date\n`);
  expect(code).toBe(0);
  expectTypeOf<Gadget['spec']['mode']>().toEqualTypeOf<'Fast' | 'Slow' | "don't">();
  expectTypeOf<Gadget['spec']['replicas']>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Gadget['status']>().not.toBeAny();
});

it('generate types --check: a file that would change is found, and left', async () => {
  await using dir = await temporaryDir();
  const stale = join(dir.path, 'stale.ts');
  writeFileSync(stale, '// old\n');
  const { code, err } = await runToEnd(generateVerb({ file: [file], output: stale, check: true }));
  expect([code, err.split('\n')[0]]).toEqual([3, `${stale} is out of date`]);
  expect(readFileSync(stale, 'utf8')).toBe('// old\n');
});

it('generate types --from-cluster: the same text as from the file', async () => {
  await using server = await startTestServer();
  await server.client.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition as never);
  const flags = { fromCluster: true, kubeconfig: server.kubeconfigPath };
  expect((await runToEnd(generateVerb({ ...flags, group: ['tools.ex.io'] }))).out).toBe(readFileSync(output, 'utf8'));
  const { code, err } = await runToEnd(generateVerb({ ...flags, group: ['other.ex.io'] }));
  expect([code, err]).toEqual([
    1,
    'longwatch: Cannot generate types: no definition is of group other.ex.io\n  There are: tools.ex.io.\n',
  ]);
});

it('generateTypes() gives two fields whose names would be one two types', () => {
  const inner = { type: 'object', properties: { x: { type: 'string' } } };
  const spec = { type: 'object', properties: { aB: inner, a: { type: 'object', properties: { b: inner } } } };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  };
  const text = generateTypes([{ ...definition, spec: { ...definition.spec, versions: [version] } } as CrdInput]);
  expect(text).toContain('interface GadgetSpecAB {');
  expect(text).toContain('interface GadgetSpecAB2 {');
});
