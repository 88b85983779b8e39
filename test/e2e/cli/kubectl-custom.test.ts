/**
 * A kind of one's own and people with rights of their own, all by real kubectls: what is defined, refused, merged,
 * watched and forbidden is held against what kubectl prints.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../../src/testing/index.ts';
import { Kubectl, kubectls } from './kubectl.ts';

const found = kubectls();
if (found.length === 0) it.skip('kubectl (skipped: there is none, and none could be fetched)', () => {});

const KITES = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kites.toys.example.com}
spec:
  group: toys.example.com
  scope: Namespaced
  names: {plural: kites, singular: kite, kind: Kite, shortNames: [kt]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Line, type: integer, jsonPath: .spec.lineMeters}
    - {name: Maker, type: string, jsonPath: .spec.maker, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [color]
            x-kubernetes-validations:
            - {rule: "!has(self.tails) || self.tails.size() <= self.lineMeters", message: too many tails for this line}
            properties:
              color: {type: string, enum: [red, blue, green], description: What it looks like from below.}
              lineMeters: {type: integer, minimum: 1, maximum: 200, default: 20}
              maker:
                type: string
                x-kubernetes-validations:
                - {rule: self == oldSelf, message: the maker never changes}
              tails:
                type: array
                maxItems: 50
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string, maxLength: 20}, ribbons: {type: integer}}
`;
const kite = (name: string, spec: object) => ({
  apiVersion: 'toys.example.com/v1',
  kind: 'Kite',
  metadata: { name },
  spec,
});
const TOKEN = 'a-token-for-otto';

describe.each(found)('kubectl $version', ({ version, path }) => {
  let server: TestServer;
  let home: string;
  let kubectl: Kubectl;
  let count = 0;
  const isAtLeast = (minor: number) => Number(version.slice(2)) >= minor;

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'longwatch-kubectl-'));
    const tokenAuthFile = file('tokens.csv', `${TOKEN},otto,uid-1,"flyers,makers"\n`);
    server = await startTestServer({ tokenAuthFile });
    kubectl = new Kubectl(path, server.kubeconfigPath, home);
    const definition = file('kites.yaml', KITES);
    expect(await kubectl.run('create', '-f', definition)).toBe(
      'customresourcedefinition.apiextensions.k8s.io/kites.toys.example.com created\n',
    );
    expect(await kubectl.run('wait', '--for=condition=Established', 'crd/kites.toys.example.com')).toBe(
      'customresourcedefinition.apiextensions.k8s.io/kites.toys.example.com condition met\n',
    );
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });
  const newNamespace = async () => {
    const name = `ns-${count++}`;
    await kubectl.run('create', 'namespace', name);
    return name;
  };
  function file(name: string, text: string): string {
    writeFileSync(join(home, name), text);
    return join(home, name);
  }
  /** What it prints when it is refused. */
  const refused = async (input: object, ...args: string[]) => {
    const said = await kubectl.try([...args, '-f', '-'], JSON.stringify(input));
    expect(said).toMatchObject({ code: 1, out: '' });
    return said.err;
  };

  it('lists, explains and shows a kind with its columns', async () => {
    const n = await newNamespace();
    expect(await kubectl.run('api-resources', '--api-group=toys.example.com', '--no-headers')).toMatch(
      /^kites +kt +toys\.example\.com\/v1 +true +Kite\n$/,
    );
    const color = await kubectl.run('explain', 'kites.spec.color');
    expect(color).toMatch(/KIND: +Kite/);
    expect(color).toMatch(/FIELD: +color <string>/);
    expect(color).toMatch(/What it looks like from below\./);
    const all = await kubectl.run('explain', 'kite', '--recursive');
    expect(all).toMatch(/^ {6}ribbons\s+<integer>/m);
    const unknown = await kubectl.try(['explain', 'kites.spec.wings']);
    expect([unknown.code, unknown.err]).toEqual([1, 'error: field "wings" does not exist\n']);

    const good = kite('swift', { color: 'red', maker: 'ada', tails: [{ name: 'left', ribbons: 2 }] });
    expect(await kubectl.with(good, 'create', '-n', n)).toBe('kite.toys.example.com/swift created\n');
    expect(await kubectl.run('get', '-n', n, 'kites')).toMatch(/^NAME +COLOR +LINE\nswift +red +20\n$/);
    expect(await kubectl.run('get', '-n', n, 'kt', '-o', 'wide')).toMatch(/^NAME .* LINE +MAKER\nswift .* 20 +ada\n$/);
    expect(await kubectl.run('get', '-n', n, 'kite/swift', '-o', 'jsonpath={.spec.tails[0].name}')).toBe('left');
    expect(await kubectl.run('delete', '-n', n, 'kite', 'swift')).toMatch(/^kite\.toys\.example\.com "swift" deleted/);
    expect((await kubectl.try(['get', '-n', n, 'kites'])).err).toBe(`No resources found in ${n} namespace.\n`);
  });

  it('says why an object is refused: by the schema, by a rule, by a rule about change', async () => {
    const n = await newNamespace();
    const bad = kite('bad', { color: 'pink', lineMeters: 201 });
    const invalid = await refused(bad, 'create', '-n', n);
    expect(invalid).toContain('The Kite "bad" is invalid:');
    expect(invalid).toContain('spec.color: Unsupported value: "pink": supported values: "red", "blue", "green"');
    expect(invalid).toContain(
      'spec.lineMeters: Invalid value: 201: spec.lineMeters in body should be less than or equal to 200',
    );
    expect(await refused(kite('bad', { lineMeters: 2 }), 'create', '-n', n)).toMatch(
      /^The Kite "bad" is invalid: \n\* spec\.color: Required value\n\* .*: some validation rules were not checked/,
    );
    expect(await refused(kite('bad', { color: 'red', wings: 2 }), 'create', '-n', n)).toContain(
      'unknown field "spec.wings"',
    );
    const tails = [{ name: 'left' }, { name: 'right' }];
    expect(await refused(kite('bad', { color: 'red', lineMeters: 1, tails }), 'create', '-n', n)).toBe(
      'The Kite "bad" is invalid: spec: Invalid value: too many tails for this line\n', // an object is not shown
    );

    await kubectl.with(kite('swift', { color: 'red', maker: 'ada' }), 'create', '-n', n);
    const renamed = ['patch', '-n', n, 'kite/swift', '--type=merge', '-p', '{"spec":{"maker":"bob"}}'];
    const said = await kubectl.try(renamed);
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toMatch(/^The Kite "swift" is invalid: spec\.maker: Invalid value: the maker never changes\n$/);
    const repainted = ['patch', '-n', n, 'kite/swift', '--type=merge', '-p', '{"spec":{"color":"blue"}}'];
    expect(await kubectl.run(...repainted)).toBe('kite.toys.example.com/swift patched\n');
    expect(await kubectl.run('get', '-n', n, 'kites', '--no-headers')).toMatch(/^swift +blue +20\n$/);
  });

  it('applies from the client’s side: created, unchanged, configured, and what is left out goes', async () => {
    const n = await newNamespace();
    const apply = (spec: object) => kubectl.with(kite('swift', spec), 'apply', '-n', n);
    const read = (what: string) => kubectl.run('get', '-n', n, 'kite/swift', '-o', `jsonpath={${what}}`);
    expect(await apply({ color: 'red', lineMeters: 30, maker: 'ada' })).toBe('kite.toys.example.com/swift created\n');
    expect(await apply({ color: 'red', lineMeters: 30, maker: 'ada' })).toBe('kite.toys.example.com/swift unchanged\n');
    expect(await apply({ color: 'blue', maker: 'ada' })).toBe('kite.toys.example.com/swift configured\n');
    expect(await read('.spec.color')).toBe('blue');
    expect(await read('.spec.lineMeters')).toBe('20'); // left out: the default is back
  });

  it('applies on the server’s side: two managers share, conflict by name, and force', async () => {
    const n = await newNamespace();
    const args = (manager: string) => ['apply', '-n', n, '--server-side', `--field-manager=${manager}`];
    const apply = (manager: string, spec: object, ...more: string[]) =>
      kubectl.with(kite('swift', spec), ...args(manager), ...more);
    const read = (what: string) => kubectl.run('get', '-n', n, 'kite/swift', '-o', `jsonpath={${what}}`);
    const applied = 'kite.toys.example.com/swift serverside-applied\n';
    expect(await apply('alice', { color: 'red', tails: [{ name: 'left', ribbons: 1 }] })).toBe(applied);
    expect(await apply('bob', { color: 'red', tails: [{ name: 'right' }] })).toBe(applied); // to agree is no conflict
    const changed = kite('swift', { color: 'blue', tails: [{ name: 'right' }] });
    const one = await refused(changed, ...args('bob'));
    expect(one).toContain('Apply failed with 1 conflict: conflict with "alice": .spec.color\n');
    const more = kite('swift', { color: 'blue', tails: [{ name: 'left', ribbons: 9 }] });
    expect(await refused(more, ...args('bob'))).toContain(
      'Apply failed with 2 conflicts: conflicts with "alice":\n- .spec.color\n- .spec.tails[name="left"].ribbons\n',
    );
    expect(await read('.spec.color')).toBe('red');
    expect(await apply('bob', { color: 'blue', tails: [{ name: 'right' }] }, '--force-conflicts')).toBe(applied);
    expect(await read('.spec.color')).toBe('blue');
    expect((await read('.spec.tails[*].name')).split(' ').sort()).toEqual(['left', 'right']);
    expect(await refused(kite('swift', { color: 'red' }), ...args('alice'))).toContain(
      'conflict with "bob": .spec.color\n',
    );
    expect(await apply('alice', { color: 'blue' })).toBe(applied); // its tail goes, that of the other stays
    expect(await read('.spec.tails[*].name')).toBe('right');
    const shown = await kubectl.run('get', '-n', n, 'kite/swift', '-o', 'yaml', '--show-managed-fields');
    expect([...shown.matchAll(/^ {4}manager: (.*)$/gm)].map(([, name]) => name).sort()).toEqual(['alice', 'bob']);
  });

  it('get -w shows in its columns what changes', async () => {
    const n = await newNamespace();
    await kubectl.with(kite('swift', { color: 'red' }), 'create', '-n', n);
    await using watch = kubectl.start('get', '-n', n, 'kites', '-w', '--output-watch-events');
    expect(await watch.until(/^ADDED +swift .*\n/m)).toMatch(/^EVENT +NAME +COLOR +LINE\nADDED +swift +red +20\n$/);
    await kubectl.run('patch', '-n', n, 'kite/swift', '--type=merge', '-p', '{"spec":{"color":"green"}}');
    await watch.until(/^MODIFIED +swift +green +20$/m);
    await kubectl.with(kite('slow', { color: 'blue', lineMeters: 5 }), 'create', '-n', n);
    await watch.until(/^ADDED +slow +blue +5$/m);
    await kubectl.run('delete', '-n', n, 'kite/swift');
    await watch.until(/^DELETED +swift +green +20$/m);
  });

  it('a user may what is granted, and no more once it is taken away', async () => {
    const n = await newNamespace();
    await kubectl.with(kite('swift', { color: 'red' }), 'create', '-n', n);
    const otto = new Kubectl(path, file('otto.kubeconfig', kubeconfigOf(TOKEN)), home);
    if (isAtLeast(28)) {
      const who = await otto.run('auth', 'whoami');
      expect(who).toMatch(/^Username +otto$/m);
      expect(who).toMatch(/^Groups +\[flyers makers system:authenticated\]$/m);
    }
    const get = ['get', '-n', n, 'kites', '--no-headers'];
    const forbidden = (verb: string, user = 'otto') =>
      `Error from server (Forbidden): kites.toys.example.com is forbidden: User "${user}" cannot ${verb} resource "kites" in API group "toys.example.com" in the namespace "${n}"\n`;
    expect(await otto.try(get)).toEqual({ code: 1, out: '', err: forbidden('list') });

    const verbs = ['--verb=get,list,watch', '--resource=kites.toys.example.com'];
    expect(await kubectl.run('create', 'role', 'flyer', '-n', n, ...verbs)).toBe(
      'role.rbac.authorization.k8s.io/flyer created\n',
    );
    expect(await kubectl.run('create', 'rolebinding', 'flyers', '-n', n, '--role=flyer', '--user=otto')).toBe(
      'rolebinding.rbac.authorization.k8s.io/flyers created\n',
    );
    await untilItSays(otto, ['auth', 'can-i', 'list', 'kites', '-n', n], /^yes\n/);
    expect(await otto.run(...get)).toMatch(/^swift +red +20\n$/);
    const remove = await otto.try(['delete', '-n', n, 'kite', 'swift']);
    expect(remove.err).toBe(
      `Error from server (Forbidden): kites.toys.example.com "swift" is forbidden: User "otto" cannot delete resource "kites" in API group "toys.example.com" in the namespace "${n}"\n`,
    );
    expect(await kubectl.run('--as=otto', ...get)).toMatch(/^swift +red +20\n$/);
    expect(await kubectl.try(['--as=nina', ...get])).toEqual({ code: 1, out: '', err: forbidden('list', 'nina') });

    expect(await kubectl.run('delete', 'rolebinding', 'flyers', '-n', n)).toMatch(
      /^rolebinding\.rbac\.authorization\.k8s\.io "flyers" deleted/,
    );
    await untilItSays(otto, ['auth', 'can-i', 'list', 'kites', '-n', n], /^no\n/);
    expect(await otto.try(get)).toEqual({ code: 1, out: '', err: forbidden('list') });

    // The same right by a group, for whoever is in it.
    await kubectl.run('create', 'rolebinding', 'makers', '-n', n, '--role=flyer', '--group=makers');
    await untilItSays(otto, ['auth', 'can-i', 'list', 'kites', '-n', n], /^yes\n/);
    expect(await otto.run(...get)).toMatch(/^swift /);
    expect(await kubectl.run('--as=nina', '--as-group=makers', ...get)).toMatch(/^swift /);
  });

  it('a token that nobody was given is refused', async () => {
    const stranger = new Kubectl(path, file('stranger.kubeconfig', kubeconfigOf('a-guess')), home);
    const { code, err } = await stranger.try(['get', 'kites']);
    expect(code).toBe(1);
    expect(err).toMatch(/error: You must be logged in to the server/);
  });

  /** The administrator’s way to the server, with a token in place of the certificate. */
  function kubeconfigOf(token: string): string {
    const admin = readFileSync(server.kubeconfigPath, 'utf8');
    return admin.replace(/^ +client-(?:certificate|key)-data: .*\n/gm, '').replace(/^( +token:) .*$/m, `$1 ${token}`);
  }

  /** Access is answered from a watch, so a change of rights may show a moment later. */
  async function untilItSays(who: Kubectl, args: readonly string[], pattern: RegExp): Promise<void> {
    let said = '';
    for (const until = Date.now() + 10_000; Date.now() < until; ) {
      said = (await who.try(args)).out;
      if (pattern.test(said)) return;
    }
    throw new Error(`kubectl ${args.join(' ')} still says ${said}`);
  }
});
