import { describe, expect, it } from 'vitest';
import { answersProgressTruly } from '../watch/progress.ts';
import { parseEndpoints } from './endpoint.ts';

describe('parseEndpoints()', () => {
  it('takes http and https, with and without a port', () => {
    expect(parseEndpoints(['http://127.0.0.1:2379', 'https://etcd.example', 'http://[::1]:1/'], undefined)).toEqual([
      { authority: 'http://127.0.0.1:2379', isTls: false },
      { authority: 'https://etcd.example', isTls: true },
      { authority: 'http://[::1]:1', isTls: false },
    ]);
  });

  it.each<[urls: string[], tls: object | undefined, found: string]>([
    [[], undefined, 'no endpoint was given'],
    [['127.0.0.1:2379'], undefined, 'is no URL'],
    [['localhost:2379'], undefined, 'begins with neither'],
    [['unix:///run/etcd'], undefined, 'begins with neither'],
    [['http://a:2379/v3'], undefined, 'has something after its host and port'],
    [['http://me:secret@a:2379'], undefined, 'holds a password'],
    [['https://a:2379'], { cert: 'x' }, 'needs both'],
    [['http://a:2379'], { ca: 'x' }, 'no endpoint begins with https://'],
  ])('refuses %j with %j', (urls, tls, found) => {
    expect(() => parseEndpoints(urls, tls)).toThrow(found);
    expect(() => parseEndpoints(urls, tls)).toThrow(/^Cannot open the etcd store: /);
  });

  it('does not repeat a password', () => {
    expect(() => parseEndpoints(['http://me:secret@a:2379'], undefined)).toThrow(/^((?!secret).)*$/);
  });
});

it.each([
  ['3.4.23', false],
  ['3.4.30', false],
  ['3.4.31', true],
  ['3.5.0', false],
  ['3.5.12', false],
  ['3.5.13', true],
  ['3.5.30', true],
  ['3.6.0-rc.1', true],
  ['3.3.99', false],
  ['4.0.0', true],
  ['', false],
])('answersProgressTruly(%j) is %j', (version, want) => expect(answersProgressTruly(version)).toBe(want));
