import { describe, expect, it } from 'vitest';
import { Registry } from '../../registry/registry.ts';
import type { RequestContext } from '../../request/request-context.ts';
import { type DeleteOptions, deleteOptions } from './delete-options.ts';
import { type WriteOptions, writeOptions } from './write-options.ts';

function contextOf(query: string, { agent = '', body = '', contentType = '' } = {}): RequestContext {
  const headers = { ...(agent && { 'user-agent': agent }), ...(contentType && { 'content-type': contentType }) };
  const readBody = async () => Buffer.from(body);
  return { query: new URLSearchParams(query), headers, readBody } as unknown as RequestContext;
}

describe('writeOptions()', () => {
  it.each<[query: string, agent: string, want: Partial<WriteOptions>]>([
    ['', '', { isDryRun: false, manager: '', fieldValidation: 'Warn', force: false }],
    ['', 'kubectl/v1.36.4 (linux/amd64)', { manager: 'kubectl' }],
    ['', 'plain', { manager: 'plain' }],
    ['', `${'x'.repeat(200)}/1`, { manager: 'x'.repeat(128) }],
    ['fieldManager=me', 'kubectl/v1', { manager: 'me' }],
    ['dryRun=All', '', { isDryRun: true }],
    ['fieldValidation=Strict', '', { fieldValidation: 'Strict' }],
    ['fieldValidation=', '', { fieldValidation: 'Warn' }],
  ])('reads "%s" from "%s"', (query, agent, want) => {
    expect(writeOptions(contextOf(query, { agent }), 'CreateOptions')).toMatchObject(want);
  });

  it('knows what only apply may say', () => {
    const context = contextOf('fieldManager=me&force=true');
    expect(writeOptions(context, 'PatchOptions', true)).toMatchObject({ manager: 'me', force: true });
  });

  const of = (kind: string) => `${kind}.meta.k8s.io "" is invalid: `;
  it.each<[query: string, kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions', isApply: boolean, message: string]>(
    [
      [
        'dryRun=Foo',
        'CreateOptions',
        false,
        `${of('CreateOptions')}dryRun: Unsupported value: ["Foo"]: supported values: "All"`,
      ],
      [
        'dryRun=All&dryRun=x',
        'UpdateOptions',
        false,
        `${of('UpdateOptions')}dryRun: Unsupported value: ["All","x"]: supported values: "All"`,
      ],
      [
        'fieldValidation=x',
        'UpdateOptions',
        false,
        `${of('UpdateOptions')}fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"`,
      ],
      [
        `fieldManager=${'m'.repeat(129)}`,
        'CreateOptions',
        false,
        `${of('CreateOptions')}fieldManager: Too long: may not be more than 128 bytes`,
      ],
      [
        'force=true',
        'PatchOptions',
        false,
        `${of('PatchOptions')}force: Forbidden: may not be specified for non-apply patch`,
      ],
      ['', 'PatchOptions', true, `${of('PatchOptions')}fieldManager: Required value: is required for apply patch`],
    ],
  )('refuses "%s" of %s (apply: %s)', (query, kind, isApply, message) => {
    expect(() => writeOptions(contextOf(query), kind, isApply)).toThrow(
      expect.objectContaining({ code: 422, message }),
    );
  });
});

describe('deleteOptions()', () => {
  const configMaps = new Registry().find('', 'v1', 'configmaps')!;
  const deployments = new Registry().find('apps', 'v1', 'deployments')!;
  const plain: DeleteOptions = {
    isDryRun: false,
    gracePeriodSeconds: undefined,
    propagationPolicy: undefined,
    orphanDependents: undefined,
    preconditions: undefined,
  };

  it.each<[query: string, body: string, want: Partial<DeleteOptions>]>([
    ['', '', {}],
    ['gracePeriodSeconds=0', '', { gracePeriodSeconds: 0 }],
    ['propagationPolicy=Orphan&dryRun=All', '', { propagationPolicy: 'Orphan', isDryRun: true }],
    ['orphanDependents=false', '', { orphanDependents: false }],
    ['orphanDependents=true', '', { orphanDependents: true }],
    // A body replaces the query, whole.
    ['dryRun=All&gracePeriodSeconds=9', '{"gracePeriodSeconds":0}', { gracePeriodSeconds: 0 }],
    ['dryRun=All', '{}', {}],
    ['propagationPolicy=nonsense', '{"propagationPolicy":"Foreground"}', { propagationPolicy: 'Foreground' }],
    [
      '',
      '{"dryRun":["All"],"preconditions":{"uid":"u","resourceVersion":"5"}}',
      { isDryRun: true, preconditions: { uid: 'u', resourceVersion: '5' } },
    ],
    ['', '{"kind":"DeleteOptions","apiVersion":"v1"}', {}],
    ['', '{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","orphanDependents":true}', { orphanDependents: true }],
  ])('reads the query "%s" and the body %s', async (query, body, want) => {
    expect(await deleteOptions(contextOf(query, { body }), configMaps)).toEqual({ ...plain, ...want });
  });

  it('takes a body of the version of the resource', async () => {
    const body = '{"kind":"DeleteOptions","apiVersion":"apps/v1","gracePeriodSeconds":3}';
    expect(await deleteOptions(contextOf('', { body }), deployments)).toMatchObject({ gracePeriodSeconds: 3 });
  });

  const invalid = 'DeleteOptions.meta.k8s.io "" is invalid: ';
  it.each<[query: string, body: string, code: number, message: string | RegExp]>([
    ['dryRun=Foo', '', 422, `${invalid}dryRun: Unsupported value: ["Foo"]: supported values: "All"`],
    [
      'propagationPolicy=x',
      '',
      422,
      `${invalid}propagationPolicy: Unsupported value: "x": supported values: "Foreground", "Background", "Orphan", "nil"`,
    ],
    [
      'propagationPolicy=Foreground&orphanDependents=true',
      '',
      422,
      `${invalid}propagationPolicy: Invalid value: "Foreground": orphanDependents and deletionPropagation cannot be both set`,
    ],
    ['gracePeriodSeconds=x', '', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    ['', '{"gracePeriodSeconds":"x"}', 400, /cannot/],
    ['', 'nonsense', 400, /json/],
    ['', '{"kind":"Pod","apiVersion":"v1"}', 400, /./],
  ])('refuses the query "%s" and the body %s', async (query, body, code, message) => {
    const text = typeof message === 'string' ? message : expect.stringMatching(message);
    await expect(deleteOptions(contextOf(query, { body }), configMaps)).rejects.toThrow(
      expect.objectContaining({ code, message: text }),
    );
  });
});
