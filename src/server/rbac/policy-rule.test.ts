import { expect, it } from 'vitest';
import { joinPieces, type PolicyRule, showRule } from './policy-rule.ts';
import { missingFrom } from './rule-cover.ts';

const rule = (verbs: string, apiGroups: string, resources: string, names?: string): PolicyRule => ({
  verbs: verbs.split(','),
  apiGroups: apiGroups.split(','),
  resources: resources.split(','),
  ...(names && { resourceNames: names.split(',') }),
});
const path = (verbs: string, urls: string): PolicyRule => ({
  verbs: verbs.split(','),
  nonResourceURLs: urls.split(','),
});
const missing = (held: PolicyRule[], wanted: PolicyRule[]) => joinPieces(missingFrom(held, wanted)).map(showRule);

it.each<[string, PolicyRule[], PolicyRule[]]>([
  ['the same', [rule('get', '', 'pods')], [rule('get', '', 'pods')]],
  ['parts of a rule', [rule('get,list', ',apps', 'pods,jobs')], [rule('list', 'apps', 'jobs')]],
  ['rules in pieces', [rule('get', '', 'pods'), rule('list', '', 'pods')], [rule('get,list', '', 'pods')]],
  ['all by stars', [rule('*', '*', '*')], [rule('*', '*', '*'), rule('get', 'x', 'y/z', 'n')]],
  ['a part by a star', [rule('get', '', '*/log')], [rule('get', '', 'pods/log')]],
  ['names by no names', [rule('get', '', 'pods')], [rule('get', '', 'pods', 'a,b')]],
  ['paths by a prefix', [path('get', '/api*')], [path('get', '/api,/api/v1,/apis/*')]],
  ['everything by *', [path('*', '*')], [path('get', '/x')]],
])('missingFrom() finds %s covered', (_what, held, wanted) => expect(missing(held, wanted)).toEqual([]));

it.each<[string, PolicyRule[], PolicyRule[], string]>([
  [
    'a verb',
    [rule('get', '', 'pods')],
    [rule('get,list,watch', '', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
  ],
  [
    'a star of verbs',
    [rule('get,list', '', 'pods')],
    [rule('*', '', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["*"]}',
  ],
  [
    'a part of an object',
    [rule('get', '', 'pods')],
    [rule('get', '', 'pods/log')],
    '{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}',
  ],
  [
    'the object of a part',
    [rule('get', '', 'pods/*')],
    [rule('get', '', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
  ],
  [
    'all names by one',
    [rule('get', '', 'pods', 'a')],
    [rule('get', '', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
  ],
  [
    'another name',
    [rule('get', '', 'pods', 'a')],
    [rule('get', '', 'pods', 'a,b')],
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
  ],
  ['a longer path', [path('get', '/api')], [path('get', '/api/x')], '{NonResourceURLs:["/api/x"], Verbs:["get"]}'],
  ['a path by resources', [rule('*', '*', '*')], [path('get', '/api')], '{NonResourceURLs:["/api"], Verbs:["get"]}'],
])('missingFrom() misses %s', (_what, held, wanted, shown) => expect(missing(held, wanted)).toEqual([shown]));
