import { describe, expect, it } from 'vitest';
import { find } from '../kinds/strategy-run.testing.ts';
import { makeMetrics } from '../metrics/metrics.ts';
import { RequestNotice } from '../request/abort-notice.ts';
import { admitted } from './admission.testing.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './admission.ts';
import { AdmissionChain } from './admission-chain.ts';
import { admissionMetrics } from './admission-metrics.ts';
import { choiceFaults, chosenPlugins, defaultPlugins, orderedPlugins } from './plugin-names.ts';
import { WriteAttributes } from './write-attributes.ts';

function attributesOf(resource = 'pods'): AdmissionAttributes {
  const facts = {
    operation: 'CREATE' as const,
    resource: find(resource),
    subresource: '',
    namespace: 'ns',
    name: '',
    user: { username: 'u', groups: [] },
    isDryRun: false,
    options: () => ({}),
    annotate: () => {},
    signal: new AbortController().signal,
    notice: new RequestNotice(),
  };
  const object = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } };
  return new WriteAttributes(facts, undefined as never, object, undefined);
}

const noting = (name: string, seen: string[], more: Partial<AdmissionPlugin> = {}): AdmissionPlugin => ({
  name,
  admit: () => {
    seen.push(`admit ${name}`);
  },
  validate: async () => {
    seen.push(`validate ${name}`);
  },
  ...more,
});

describe('AdmissionChain', () => {
  it('runs plugins in the order of their names, whatever order they are given in, some at once and some later', async () => {
    const seen: string[] = [];
    const names = ['ResourceQuota', 'NamespaceLifecycle', 'MutatingAdmissionWebhook', 'Priority'];
    const chain = new AdmissionChain(names.map((name) => noting(name, seen)));
    const a = attributesOf();
    expect(chain.admit(a)).toBeUndefined(); // nobody waits, so nothing is waited for
    await chain.validate(a);
    const inOrder = ['NamespaceLifecycle', 'Priority', 'MutatingAdmissionWebhook', 'ResourceQuota'];
    expect(seen).toEqual([...inOrder.map((name) => `admit ${name}`), ...inOrder.map((name) => `validate ${name}`)]);
  });

  it('ends a phase with the first refusal', async () => {
    const seen: string[] = [];
    const refusing = noting('Priority', seen, {
      validate: () => {
        throw new Error('no');
      },
    });
    const chain = new AdmissionChain([noting('LimitRanger', seen), refusing, noting('ResourceQuota', seen)]);
    await expect((async () => chain.validate(attributesOf()))()).rejects.toThrow('no');
    expect(seen).toEqual(['validate LimitRanger']);
  });

  it('runs the mutating phase once more if a plugin wants it, and never a third time', async () => {
    const seen: boolean[] = [];
    const chain = new AdmissionChain([
      {
        name: 'MutatingAdmissionWebhook',
        admit: async ({ reinvocation }) => {
          seen.push(reinvocation.isSecondRun);
          reinvocation.want();
        },
      },
    ]);
    await chain.admit(attributesOf());
    expect(seen).toEqual([false, true]);
  });

  it('asks a plugin once which writes it is about', () => {
    let asked = 0;
    const handles = (_operation: string, { plural }: { plural: string }) => {
      asked++;
      return plural === 'pods';
    };
    const chain = new AdmissionChain([{ name: 'Priority', handles, admit: () => {} }]);
    for (let i = 0; i < 3; i++) {
      expect(chain.isEmptyFor('CREATE', find('pods'), '')).toBe(false);
      expect(chain.isEmptyFor('CREATE', find('configmaps'), '')).toBe(true);
    }
    expect(asked).toBe(2);
  });

  it('measures plugins and phases, also those that refuse', async () => {
    const metrics = makeMetrics();
    const plugins: AdmissionPlugin[] = [
      { name: 'Priority', admit: () => {} },
      { name: 'ResourceQuota', admit: async () => {}, validate: () => Promise.reject(new Error('no')) },
    ];
    const chain = new AdmissionChain(plugins, admissionMetrics(metrics));
    await chain.admit(attributesOf());
    await expect(chain.validate(attributesOf())).rejects.toThrow('no');
    const text = await metrics.text();
    const counted = (what: string, labels: string) =>
      expect(text).toContain(`apiserver_admission_${what}_admission_duration_seconds_count{${labels}} 1`);
    counted('controller', 'name="Priority",operation="CREATE",rejected="false",type="admit"');
    counted('controller', 'name="ResourceQuota",operation="CREATE",rejected="false",type="admit"');
    counted('controller', 'name="ResourceQuota",operation="CREATE",rejected="true",type="validate"');
    counted('step', 'operation="CREATE",rejected="false",type="admit"');
    counted('step', 'operation="CREATE",rejected="true",type="validate"');
  });

  it('takes no plugin whose place nobody knows', () => {
    expect(() => new AdmissionChain([{ name: 'Nonsense' }])).toThrow('Cannot order admission plugin "Nonsense"');
  });
});

it('an object that is put in the place of another is read as a body is, and defaulted', async () => {
  const plugin: AdmissionPlugin = {
    name: 'MutatingAdmissionWebhook',
    admit: (a) => {
      const spec = { containers: [{ name: 'c', image: 'x' }], nonsense: true };
      a.replaceObject({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'b' }, spec });
    },
  };
  const { object } = await admitted(plugin, { resource: 'pods', object: {} });
  expect(object).toMatchObject({ metadata: { name: 'b' }, spec: { restartPolicy: 'Always' } });
  expect(object.spec).not.toHaveProperty('nonsense');
});

describe('the names of plugins', () => {
  it('are all known, and all but a few run by default', () => {
    expect(new Set(orderedPlugins).size).toBe(orderedPlugins.length);
    expect(defaultPlugins).toContain('ResourceQuota');
    expect(defaultPlugins).not.toContain('AlwaysDeny');
  });

  it('choose what runs', () => {
    const chosen = chosenPlugins({ enabled: ['AlwaysPullImages'], disabled: ['Priority'] });
    expect(chosen.has('AlwaysPullImages')).toBe(true);
    expect(chosen.has('Priority')).toBe(false);
    expect(chosen.has('LimitRanger')).toBe(true);
  });

  it.each([
    [{ enabled: ['Nonsense'] }, ['enable-admission-plugins plugin "Nonsense" is unknown']],
    [{ disabled: ['Nonsense'] }, ['disable-admission-plugins plugin "Nonsense" is unknown']],
    [
      { enabled: ['Priority', 'LimitRanger'], disabled: ['LimitRanger', 'Priority'] },
      ['[LimitRanger Priority] in enable-admission-plugins and disable-admission-plugins overlapped'],
    ],
    [{ enabled: ['Priority'] }, []],
  ])('given as %j are refused with %j', (choice, want) => {
    expect(choiceFaults(choice)).toEqual(want);
  });
});
