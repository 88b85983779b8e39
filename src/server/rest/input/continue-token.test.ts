import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeToken, encodeToken } from './continue-token.ts';

const encode = (token: unknown) => Buffer.from(JSON.stringify(token)).toString('base64url');

describe('continue tokens', () => {
  it('come back as they were given out', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'z', '-', '.b', '0', 'é', ':'), minLength: 1, maxLength: 8 });
    const revision = fc.oneof(fc.constant(-1), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));
    fc.assert(
      fc.property(part, part, revision, (namespace, name, at) => {
        for (const [scope, start] of [
          ['', `n${namespace}/n${name}\0`],
          [`n${namespace}/`, `n${namespace}/n${name}\0`],
          ['', `n${name}\0`],
        ] as const) {
          const text = encodeToken({ revision: at, start }, scope);
          expect(text).toMatch(/^[\w-]+$/);
          expect(decodeToken(text, scope)).toEqual({ revision: at, start });
        }
      }),
    );
  });

  it('are kube-apiserver’s, whose own are taken too', () => {
    const token = { v: 'meta.k8s.io/v1', rv: 257, start: 't2\0' };
    expect(encodeToken({ revision: 257, start: 'default/t2\0' }, 'default/')).toBe(encode(token));
    const withSlash = { ...token, start: '/default/t2\0' };
    expect(decodeToken(encode(withSlash), '')).toEqual({ revision: 257, start: 'default/t2\0' });
  });

  it('stay in the namespace they are used in', () => {
    const text = encodeToken({ revision: 5, start: 'a/x\0' }, '');
    expect(decodeToken(text, 'b/').start.startsWith('b/')).toBe(true);
  });

  const good = { v: 'meta.k8s.io/v1', rv: 5, start: 'a/b\0' };
  it.each<[claim: string, text: string]>([
    ['is not base64', 'a b'],
    ['is base64 of another kind', 'a+/b'],
    ['is padded', `${encode(good)}=`],
    ['is cut in the middle of a byte', encode(good).slice(0, 5)],
    ['is not JSON', Buffer.from('{').toString('base64url')],
    ['is no object', encode(null)],
    ['is a list', encode([])],
    ['is of another version', encode({ ...good, v: 'meta.k8s.io/v2' })],
    ['has no version', encode({ rv: 5, start: 'a' })],
    ['has no revision', encode({ ...good, rv: undefined })],
    ['has revision 0', encode({ ...good, rv: 0 })],
    ['has half a revision', encode({ ...good, rv: 1.5 })],
    ['has text for a revision', encode({ ...good, rv: '5' })],
    ['has a revision beyond all', encode({ ...good, rv: 1e300 })],
    ['has no start', encode({ ...good, start: undefined })],
    ['starts nowhere', encode({ ...good, start: '' })],
    ['starts in a list', encode({ ...good, start: ['a'] })],
    ['leads up', encode({ ...good, start: '../secrets/a' })],
    ['leads up from below', encode({ ...good, start: '/a/../../secrets' })],
    ['stays in place', encode({ ...good, start: 'a/./b' })],
    ['has a name missing on the way', encode({ ...good, start: 'a//b' })],
    ['ends in a slash', encode({ ...good, start: 'a/' })],
  ])('are refused when one %s', (_claim, text) => {
    expect(() => decodeToken(text, '')).toThrow(
      expect.objectContaining({
        code: 400,
        message: expect.stringMatching(/^invalid continue token: continue key is not valid: ./),
      }),
    );
  });

  it('that are not JSON are refused in the words of kube-apiserver', () => {
    expect(() => decodeToken('abc', '')).toThrow(/not valid: invalid character 'i' looking for beginning of value$/);
  });
});
