/**
 * What Kubernetes says about its types and their fields, for `kubectl explain`. The sentences are Kubernetes' own and are
 * not kept here: they are read from the comments of the package kubernetes-types when a document is first asked for
 * (docs/decisions/0013-descriptions.md).
 *
 * Always true: a type that the package does not know has no description, and where the package is missing no type has
 * one; nothing else depends on it.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { JsonObject, JsonValue } from '../../api/json.ts';

type TypeTexts = { readonly text: string | undefined; readonly fields: ReadonlyMap<string, string> };

const files = new Map<string, ReadonlyMap<string, TypeTexts>>();
const API_PACKAGE = /^io\.k8s\.(?:api|[a-z-]+\.pkg\.apis?)\.(?:([a-z]+)\.)?([a-z0-9]+)$/;

/** The type with descriptions, its own and those of its fields. */
export function described(name: string, type: JsonObject): JsonObject {
  const lastDot = name.lastIndexOf('.');
  const texts = textsOf(name.slice(0, lastDot)).get(name.slice(lastDot + 1));
  if (!texts) return type;
  const { properties } = type;
  return {
    ...(texts.text !== undefined && { description: texts.text }),
    ...type,
    ...(isObject(properties) && { properties: withTexts(properties, texts.fields) }),
  };
}

function withTexts(properties: JsonObject, texts: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([field, type]) => {
      const description = texts.get(field);
      return [field, description !== undefined && isObject(type) ? { description, ...type } : type];
    }),
  );
}

/** By the short names of the types of one package of Kubernetes, such as `io.k8s.api.core.v1`. */
function textsOf(packageName: string): ReadonlyMap<string, TypeTexts> {
  let texts = files.get(packageName);
  if (!texts) {
    texts = parseDeclarations(declarationsOf(packageName));
    files.set(packageName, texts);
  }
  return texts;
}

function declarationsOf(packageName: string): string {
  const [, group, version = ''] = API_PACKAGE.exec(packageName) ?? [];
  if (version === '') return '';
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('kubernetes-types/package.json'));
    return readFileSync(join(folder, group ?? 'api', `${version}.d.ts`), 'utf8');
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'MODULE_NOT_FOUND') return '';
    throw err;
  }
}

/** A comment belongs to the line behind it: the head of a type, or one of its fields. */
export function parseDeclarations(source: string): ReadonlyMap<string, TypeTexts> {
  const types = new Map<string, TypeTexts>();
  let comment: string[] | undefined;
  let isInComment = false;
  let fields = new Map<string, string>();
  for (const raw of source.split('\n')) {
    const line = raw.trim();
    if (isInComment || line.startsWith('/**')) {
      if (!isInComment) comment = [];
      isInComment = !line.endsWith('*/');
      comment!.push(commentText(raw));
      continue;
    }
    const text = comment?.join('\n').trim();
    comment = undefined;
    const [, typeName] = /^export (?:interface|type) (\w+)/.exec(line) ?? [];
    if (typeName !== undefined) {
      fields = new Map();
      types.set(typeName, { text, fields });
      continue;
    }
    const [, fieldName] = /^"?([\w$]+)"?\??:/.exec(line) ?? [];
    if (fieldName !== undefined && text !== undefined) fields.set(fieldName, text);
  }
  return types;
}

/** A line of a comment without what makes it one; what it is indented by within the comment stays. */
function commentText(line: string): string {
  const text = line.replace(/^\s*(?:\/\*\*|\*(?!\/)) ?/, '');
  return text.endsWith('*/') ? text.slice(0, -2).trimEnd() : text;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
