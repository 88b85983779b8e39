import { expect, it } from 'vitest';
import { patchEnvironment } from './patch-types.ts';
import { compileExpression } from './program.ts';
import { Budget } from './values/budget.ts';
import { StructValue } from './values/struct-types.ts';
import { typeName } from './values/types.ts';

function compile(text: string) {
  return compileExpression(text, [], patchEnvironment());
}

it.each<[text: string, type: string, want: unknown]>([
  ['Object{a: 1, ?b: optional.none(), ?c: optional.of(2)}', 'Object', { a: 1n, c: 2n }],
  ['Object{spec: Object.spec{x: "y"}}.spec.x', 'dyn', 'y'],
  [
    'true ? [JSONPatch{op: "add", path: "/a", value: 1}] : []',
    'list(JSONPatch)',
    [{ op: 'add', path: '/a', value: 1n }],
  ],
  ['true ? [] : [JSONPatch{op: "add", path: "/a"}]', 'list(JSONPatch)', []],
  ['[JSONPatch{op: "remove", path: "/" + jsonpatch.escapeKey("a/~b")}][0].path', 'string', '/a~1~0b'],
  ['true ? Object{a: 1} : Object{}', 'Object', { a: 1n }],
])('%s is of type %s', (text, type, want) => {
  const program = compile(text);
  expect(typeName(program.type)).toBe(type);
  expect(plain(program.run([], new Budget(10_000)))).toEqual(want);
});

it.each<[text: string, why: string]>([
  ['JSONPatch{op: 5, path: "/a"}', "expected type of field 'op' is 'string' but provided type is 'int'"],
  ['JSONPatch{what: "add"}', "ERROR: <input>:1:15: undefined field 'what'"],
  ['Thing{a: 1}', "ERROR: <input>:1:6: undeclared reference to 'Thing' (in container '')"],
  [
    'true ? Object{} : Object.spec{}',
    "found no matching overload for '_?_:_' applied to '(bool, Object, Object.spec)'",
  ],
])('%s does not compile', (text, why) => expect(() => compile(text)).toThrow(why));

it('a field of a patch that turns out to be no text is an error', () => {
  const program = compileExpression('JSONPatch{op: dyn(5), path: ""}', [], patchEnvironment());
  expect(() => program.run([], new Budget(100))).toThrow(
    expect.objectContaining({ message: "unexpected type int for JSONPatchType 'op' field" }),
  );
});

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof StructValue ? Object.fromEntries([...value].map(([key, one]) => [key, plain(one)])) : value;
}
