/** Bodies in every format that the server takes, from an object; some of them damaged on the way. */
import { dump } from 'js-yaml';
import type { JsonObject, JsonValue } from '../../src/api/index.ts';
import { encodeProtobuf } from '../../src/server/codec/protobuf/protobuf-writer.ts';
import type { Dice } from './dice.ts';
import { somePointer } from './objects.ts';
import { damaged, oddText, oddValue } from './odd-values.ts';

export type Body = { readonly type: string; readonly bytes: Buffer };

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
const PROTOBUF_TYPE = 'application/vnd.kubernetes.protobuf';

export function someBody(dice: Dice, object: JsonObject): Body {
  const { type, bytes } = dice.weighted<() => Body>([
    [5, () => ({ type: JSON_TYPE, bytes: jsonText(dice, object) })],
    [3, () => ({ type: YAML_TYPE, bytes: yamlText(dice, object) })],
    [3, () => ({ type: PROTOBUF_TYPE, bytes: protobuf(object) })],
  ])();
  const sentType = dice.chance(0.03)
    ? dice.pick([JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE, '', 'text/plain', 'a/b;c=d'])
    : type;
  return { type: sentType, bytes: dice.chance(0.12) ? damaged(dice, bytes) : bytes };
}

export function somePatch(dice: Dice, object: JsonObject): Body {
  const patch = dice.weighted<() => Body>([
    [3, () => ({ type: 'application/json-patch+json', bytes: text(dice.times(5, () => someOperation(dice, object))) })],
    [3, () => ({ type: 'application/merge-patch+json', bytes: text(withNulls(dice, object)) })],
    [3, () => ({ type: 'application/strategic-merge-patch+json', bytes: text(withDirectives(dice, object)) })],
    [3, () => ({ type: 'application/apply-patch+yaml', bytes: yamlText(dice, object) })],
  ])();
  return dice.chance(0.1) ? { ...patch, bytes: damaged(dice, patch.bytes) } : patch;
}

function someOperation(dice: Dice, object: JsonObject): JsonObject {
  const op = dice.chance(0.95) ? dice.pick(['add', 'remove', 'replace', 'copy', 'move', 'test']) : oddText(dice);
  return {
    op,
    path: somePointer(dice, object),
    ...(dice.chance(0.8) && { from: somePointer(dice, object) }),
    ...(dice.chance(0.8) && { value: oddValue(dice) }),
  };
}

function withNulls(dice: Dice, value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return dice.chance(0.1) ? null : value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withNulls(dice, field!)]));
}

const DIRECTIVES = ['$patch', '$retainKeys', '$setElementOrder/containers', '$deleteFromPrimitiveList/finalizers'];

function withDirectives(dice: Dice, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withDirectives(dice, item));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([key, field]): [string, JsonValue] => [key, withDirectives(dice, field!)]);
  if (dice.chance(0.1)) {
    const directive = dice.chance(0.8)
      ? dice.pick(DIRECTIVES)
      : `$setElementOrder/${dice.pick(Object.keys(value).concat('a'))}`;
    const argument = dice.pick<() => JsonValue>([
      () => 'delete',
      () => 'replace',
      () => ['a'],
      () => [{ name: 'n0' }],
      () => oddValue(dice),
    ])();
    fields.push([directive, argument]);
  }
  return Object.fromEntries(fields);
}

function text(value: JsonValue): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function jsonText(dice: Dice, object: JsonObject): Buffer {
  const whole = JSON.stringify(object, undefined, dice.chance(0.1) ? 1 : 0);
  // One key twice.
  return Buffer.from(dice.chance(0.05) ? whole.replace('{', `{"kind":${JSON.stringify(oddText(dice))},`) : whole);
}

const YAML_PIECES = [
  '---\n',
  '...\n',
  '# c\n',
  'a: &a {b: c}\nd: *a\n',
  'x: !!binary QQ==\n',
  'y: 0o17\n',
  '<<: {a: b}\n',
  '? a\n',
  '%YAML 1.1\n---\n',
  'a: 1\na: 2\n',
  't: 2001-12-14t21:59:43.10-05:00\n',
];

function yamlText(dice: Dice, object: JsonObject): Buffer {
  let whole: string;
  try {
    whole = dump(object, { flowLevel: dice.pick([-1, 0, 2]), noRefs: dice.chance(0.5) });
  } catch {
    whole = JSON.stringify(object); // not all that is JSON is YAML to it
  }
  if (dice.chance(0.15))
    whole = dice.chance(0.5) ? dice.pick(YAML_PIECES) + whole : `${whole}\n${dice.pick(YAML_PIECES)}`;
  return Buffer.from(whole);
}

function protobuf(object: JsonObject): Buffer {
  try {
    return encodeProtobuf(object);
  } catch {
    return Buffer.concat([Buffer.from('k8s\0'), Buffer.from(JSON.stringify(object))]); // its fields have odd values
  }
}
