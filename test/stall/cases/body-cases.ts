/**
 * Bodies of every format, in the shapes that have made readers slow: deep, wide, repeated, quoted, shared, broken at the
 * end. Sizes are bytes unless a case says otherwise; the limit is what a body may have.
 */
import { requestCase, type ServerTarget, type StallRequest } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { repeated, times } from './text-shapes.ts';

const MAPS = '/api/v1/namespaces/stall/configmaps';
/** Just below the limit of bodies. */
export const LONGEST_BODY: number = 3 * 1024 * 1024 - 1024;

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';

type Make = (size: number, name: string) => string;

/** Stored if it is good, and gone again after. */
function create(type: string, name: string, make: Make, limit: number = LONGEST_BODY): StallCase<ServerTarget> {
  return requestCase(
    `${type}: ${name}`,
    [`body:${type}`],
    limit,
    (size, label): StallRequest => ({ method: 'POST', path: MAPS, type, body: make(size, label) }),
    { after: (target, _, label) => target.ask({ method: 'DELETE', path: `${MAPS}/${label}` }) },
  );
}

const map = (name: string, more: string) =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},${more}}`;
const meta = (name: string, more: string) =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}",${more}}}`;
const listed = (piece: (i: number) => string, size: number) => repeated((i) => `${piece(i)},`, size).slice(0, -1);

const json = (name: string, make: Make, limit?: number) => create(JSON_TYPE, name, make, limit);

const jsonCases = [
  json('many keys', (size, name) => map(name, `"data":{${listed((i) => `"k${i}":"v"`, size)}}`)),
  json('one long value', (size, name) => map(name, `"data":{"a":"${'x'.repeat(size)}"}`)),
  json('a value of escapes', (size, name) => map(name, `"data":{"a":"${'\\u0041\\n'.repeat(size / 8)}"}`)),
  json('a value of escaped quotes', (size, name) => map(name, `"data":{"a":"${'\\"'.repeat(size / 2)}"}`)),
  json('letters of four bytes', (size, name) => map(name, `"data":{"a":"${'😀'.repeat(size / 4)}"}`)),
  json('deep arrays', (size, name) => map(name, `"x":${'['.repeat(size / 2)}${']'.repeat(size / 2)}`)),
  json('deep objects', (size, name) => map(name, `"x":${'{"a":'.repeat(size / 6)}1${'}'.repeat(size / 6)}`)),
  json('deep and never closed', (size) => '{"a":'.repeat(size / 5)),
  json('many unknown fields', (size, name) =>
    map(
      name,
      listed((i) => `"field${i}":1`, size),
    ),
  ),
  json('one key again and again', (size, name) =>
    map(
      name,
      listed(() => '"data":{"a":"b"}', size),
    ),
  ),
  json('duplicates far down', (size, name) =>
    map(name, `"${'p'.repeat(size / 4)}":{${listed((i) => `"d${i >> 1}":1`, size / 2)}}`),
  ),
  json('duplicates deep down', (size, name) => {
    const depth = 4_000;
    return map(name, `"x":${'{"a":'.repeat(depth)}{${listed(() => '"d":1', size)}}${'}'.repeat(depth)}`);
  }),
  json('unknown fields below a long one', (size, name) =>
    map(name, `"metadata":{"${'p'.repeat(size / 4)}":{${listed((i) => `"u${i}":1`, size / 2)}}}`),
  ),
  json('long unknown fields', (size, name) =>
    map(
      name,
      listed((i) => `"${'f'.repeat(size / 200)}${i}":1`, size),
    ),
  ),
  json('a long number', (size, name) => map(name, `"x":${'1'.repeat(size)}`)),
  json('a long fraction', (size, name) => map(name, `"x":0.${'1'.repeat(size)}e1`)),
  json('a long number where a number belongs', (size, name) => meta(name, `"generation":${'1'.repeat(size)}`)),
  json('many numbers', (size, name) => map(name, `"x":[${listed((i) => String(i), size)}]`)),
  json('space between tokens', (size, name) => map(name, `"data":${' '.repeat(size)}{}`)),
  json('broken at the end', (size, name) => map(name, `"data":{${listed((i) => `"k${i}":"v"`, size)},}`)),
  json('many objects, one after the other', (size) => '{"a":1}'.repeat(size / 7)),
  json('no JSON at all', (size) => 'x'.repeat(size)),
  json('a text where an object belongs', (size, name) => map(name, `"data":"${'x'.repeat(size)}"`)),
  json('labels', (size, name) => meta(name, `"labels":{${listed((i) => `"l${i}":"v"`, size)}}`)),
  json('bad labels', (size, name) => meta(name, `"labels":{${listed((i) => `"-${i}":"-"`, size)}}`)),
  json('one long label', (size, name) => meta(name, `"labels":{"${'a-'.repeat(size / 2)}":"b"}`)),
  json('one long label value', (size, name) => meta(name, `"labels":{"a":"${'a.'.repeat(size / 2)}"}`)),
  json('annotations', (size, name) => meta(name, `"annotations":{${listed((i) => `"a${i}":"v"`, size)}}`)),
  json('bad annotations', (size, name) => meta(name, `"annotations":{${listed((i) => `"/a${i}":"v"`, size)}}`)),
  json('finalizers', (size, name) => meta(name, `"finalizers":[${listed((i) => `"a.b/c${i}"`, size)}]`)),
  json('owners', (size, name) => meta(name, `"ownerReferences":[${listed(owner, size)}]`)),
  json('the same owner', (size, name) => meta(name, `"ownerReferences":[${listed(() => owner(1), size)}]`)),
  json('owners in control', (size, name) => meta(name, `"ownerReferences":[${listed(controllingOwner, size)}]`)),
  json('field managers', (size, name) => meta(name, `"managedFields":[${listed(manager, size)}]`)),
  json('fields of a manager', (size, name) => meta(name, `"managedFields":[${manager(0, size)}]`)),
  json('deep fields of a manager', (size, name) => {
    const fields = `${'{"f:a":'.repeat(size / 8)}{}${'}'.repeat(size / 8)}`;
    return meta(name, `"managedFields":[${managerOf('a', fields)}]`);
  }),
  json('a long name', (size) => meta('x'.repeat(size), '"labels":{}')),
  json('a long prefix of a name', (size) => `{"metadata":{"generateName":"${'a.'.repeat(size / 2)}"}}`),
  json('a long namespace', (size, name) => meta(name, `"namespace":"${'a'.repeat(size)}"`)),
  json('a long kind', (size) => `{"kind":"${'a'.repeat(size)}","apiVersion":"v1"}`),
  json('a long version', (size) => `{"kind":"ConfigMap","apiVersion":"${'a/'.repeat(size / 2)}"}`),
  json('a long time', (size, name) => meta(name, `"creationTimestamp":"2020-01-01T00:00:00.${'1'.repeat(size)}Z"`)),
  json('base64 with spaces', (size, name) => map(name, `"binaryData":{"a":"${'QUFB\\n'.repeat(size / 6)}"}`)),
  json('many keys of base64', (size, name) => map(name, `"binaryData":{${listed((i) => `"k${i}":"QQ=="`, size)}}`)),
  json('keys with prototypes', (size, name) => map(name, `"data":{${listed(() => '"__proto__":"v"', size)}}`)),
];

const yaml = (name: string, make: Make, limit?: number) => create(YAML_TYPE, name, make, limit);
const yamlMap = (name: string, more: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${more}`;

const yamlCases = [
  yaml('many keys', (size, name) => yamlMap(name, `data:\n${repeated((i) => `  k${i}: v\n`, size)}`)),
  yaml('a list', (size, name) => yamlMap(name, `x:\n${repeated((i) => `- ${i}\n`, size)}`)),
  yaml('a list of maps', (size, name) => yamlMap(name, `x:\n${repeated((i) => `- a: ${i}\n  b: c\n`, size)}`)),
  yaml('a duplicate key behind spaces', (size, name) => yamlMap(name, `a: 1\n${' '.repeat(size)}\na: 2\n`)),
  yaml('a duplicate key behind its own spaces', (size, name) => yamlMap(name, `a: 1\na${' '.repeat(size)}: 2\n`)),
  yaml('an indented duplicate key', (size, name) =>
    yamlMap(name, `x:\n${' '.repeat(size / 2)}a: 1\n${' '.repeat(size / 2)}a: 2\n`),
  ),
  yaml('many duplicate keys', (size, name) =>
    yamlMap(
      name,
      repeated(() => 'a: 1\n', size),
    ),
  ),
  yaml('duplicate keys in a flow', (size, name) => yamlMap(name, `x: {${repeated(() => 'a: 1, ', size)}}\n`)),
  yaml('aliases of aliases', (size, name) => {
    const levels = repeated((i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`, size);
    return yamlMap(name, `a0: &a0 [x]\n${levels}`);
  }),
  yaml('many aliases', (size, name) => yamlMap(name, `a: &a {b: c}\nx: [${'*a, '.repeat(size / 4)}]\n`)),
  yaml('many anchors', (size, name) => yamlMap(name, `x:\n${repeated((i) => `- &a${i} 1\n`, size)}`)),
  yaml('merges', (size, name) => yamlMap(name, `a: &a {b: c}\nx:\n${repeated((i) => `  k${i}: {<<: *a}\n`, size)}`)),
  yaml('merges of large maps', (size, name) => {
    const large = listed((i) => `k${i}: 1`, size / 2);
    return yamlMap(name, `a: &a {${large}}\nx: [${'{<<: *a}, '.repeat(size / 200)}]\n`);
  }),
  yaml('merges in a list', (size, name) => yamlMap(name, `a: &a {b: c}\nx:\n  <<: [${'*a, '.repeat(size / 4)}]\n`)),
  yaml('deep flows', (size) => `a: ${'['.repeat(size / 2)}${']'.repeat(size / 2)}`),
  yaml('deep flows never closed', (size) => `a: ${'['.repeat(size)}`),
  yaml('deep maps in flow', (size) => `a: ${'{a: '.repeat(size / 5)}1${'}'.repeat(size / 5)}`),
  yaml('deep lists in one line', (size) => `a:\n ${'- '.repeat(size / 2)}x`),
  yaml('indentation that grows', (size) => times(Math.sqrt(size * 2), (i) => `${' '.repeat(i)}a:\n`).join('')),
  yaml('many documents', (size, name) => `${yamlMap(name, '')}${'---\na: 1\n'.repeat(size / 9)}`),
  yaml('many empty documents', (size, name) => `${'---\n'.repeat(size / 4)}${yamlMap(name, '')}`),
  yaml('many ends of documents', (size, name) => `${yamlMap(name, '')}${'...\n'.repeat(size / 4)}`),
  yaml('comments', (size, name) =>
    yamlMap(
      name,
      repeated(() => '# c\n', size),
    ),
  ),
  yaml('empty lines', (size, name) => yamlMap(name, '\n'.repeat(size))),
  yaml('lines of spaces', (size, name) => yamlMap(name, `data:\n${'    \n'.repeat(size / 5)}  a: b\n`)),
  yaml('tabs', (size, name) => yamlMap(name, `data: ${'\t'.repeat(size)}x\n`)),
  yaml('a long plain text', (size, name) => yamlMap(name, `data:\n  a: ${'x '.repeat(size / 2)}\n`)),
  yaml('a plain text of many lines', (size, name) => yamlMap(name, `data:\n  a: x\n${'    y\n'.repeat(size / 6)}`)),
  yaml('a quoted text of many lines', (size, name) =>
    yamlMap(name, `data:\n  a: "x\n${'    y\n'.repeat(size / 6)}  "\n`),
  ),
  yaml('a quoted text of escapes', (size, name) => yamlMap(name, `data:\n  a: "${'\\x41\\n'.repeat(size / 6)}"\n`)),
  yaml('a quoted text never closed', (size, name) => yamlMap(name, `data:\n  a: "${'x'.repeat(size)}\n`)),
  yaml('a block', (size, name) => yamlMap(name, `data:\n  a: |\n${'    y\n'.repeat(size / 6)}`)),
  yaml('a folded block', (size, name) => yamlMap(name, `data:\n  a: >\n${'    y\n\n'.repeat(size / 7)}`)),
  yaml('a block of empty lines', (size, name) => yamlMap(name, `data:\n  a: |\n${'\n'.repeat(size)}`)),
  yaml('tags', (size, name) => yamlMap(name, `x:\n${repeated(() => '- !!str a\n', size)}`)),
  yaml('a long tag', (size, name) => yamlMap(name, `x: !${'a'.repeat(size)} b\n`)),
  yaml('a long anchor', (size, name) => yamlMap(name, `x: &${'a'.repeat(size)} b\n`)),
  yaml('directives', (size, name) => `${'%TAG !a! b\n'.repeat(size / 11)}---\n${yamlMap(name, '')}`),
  yaml('question marks', (size) => `${'? '.repeat(size / 2)}a`),
  yaml('a long key', (size, name) => yamlMap(name, `${'k'.repeat(size)}: v\n`)),
  yaml('keys with spaces', (size, name) => yamlMap(name, `a${' a'.repeat(size / 2)}: v\n`)),
  yaml('numbers', (size, name) => yamlMap(name, `x: ${'1'.repeat(size)}\ny: 0x${'f'.repeat(10)}\n`)),
  yaml('sixties', (size, name) => yamlMap(name, `x: ${'1:'.repeat(size / 2)}1\n`)),
  yaml('times', (size, name) => yamlMap(name, `x: 2020-01-01${' '.repeat(size)}00:00:00\n`)),
  yaml('colons', (size, name) => yamlMap(name, `x: ${'a:'.repeat(size / 2)}\n`)),
  yaml('JSON', (size, name) => map(name, `"data":{${listed((i) => `"k${i}":"v"`, size)}}`)),
  yaml('carriage returns', (size, name) => yamlMap(name, '\r'.repeat(size))),
  yaml('unknown fields', (size, name) =>
    yamlMap(
      name,
      repeated((i) => `f${i}: 1\n`, size),
    ),
  ),
];

export const bodyCases: readonly StallCase<ServerTarget>[] = [...jsonCases, ...yamlCases];

function owner(i: number): string {
  return `{"apiVersion":"v1","kind":"Pod","name":"p${i}","uid":"u${i}"}`;
}

function controllingOwner(i: number): string {
  return `{"apiVersion":"v1","kind":"Pod","name":"p${i}","uid":"u${i}","controller":true}`;
}

function manager(i: number, size = 1): string {
  return managerOf(`m${i}`, `{"f:data":{${listed((k) => `"f:k${k}":{}`, size)}}}`);
}

function managerOf(name: string, fields: string): string {
  return `{"manager":"${name}","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":${fields}}`;
}
