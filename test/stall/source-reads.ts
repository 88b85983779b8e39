/**
 * What the code reads of a request, found in the code itself: query parameters, headers, media types, gRPC methods. From
 * the syntax tree, so that a comment or a text is not taken for a read.
 *
 * Strict where it cannot see: a parameter or header whose name is not written at the place, a query under another name,
 * are faults of their own, for then nobody could say what is read.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Expression, type Node, parseSync, Visitor } from 'oxc-parser';

const root = fileURLToPath(new URL('../../', import.meta.url));

export type Reads = {
  readonly names: ReadonlySet<string>;
  /** Places where it cannot be told what is read. */
  readonly unclear: readonly string[];
};

/** The functions that read a parameter by a name they are given. */
const PARAMETER_READERS = new Set(['booleanParameter', 'integerParameter']);
/** Reads queries that stand in objects, for rules; not the request's. */
const URLS_IN_RULES = 'src/server/cel/library/network-functions.ts';
const QUERY_METHODS = new Set(['get', 'getAll', 'has']);

export function queryParametersRead(folder: string): Reads {
  return collect(folder, (file, add, unclear) => ({
    CallExpression({ callee, arguments: [first, second] }) {
      if (callee.type === 'MemberExpression' && isCalled(callee.object, 'query')) {
        const method = propertyName(callee);
        if (method !== undefined && QUERY_METHODS.has(method)) {
          const name = textOf(first);
          if (name !== undefined) add(name);
          else if (!file.endsWith('query-parameters.ts') && file !== URLS_IN_RULES) unclear(callee);
        }
      } else if (callee.type === 'Identifier' && PARAMETER_READERS.has(callee.name)) {
        const name = textOf(second);
        if (name === undefined) unclear(callee);
        else add(name);
      }
    },
    Identifier(node) {
      const annotation = (node as { typeAnnotation?: { typeAnnotation?: { typeName?: { name?: string } } } })
        .typeAnnotation;
      if (annotation?.typeAnnotation?.typeName?.name === 'URLSearchParams' && node.name !== 'query') unclear(node);
    },
  }));
}

/** Measures headers without looking into any of them. */
const HEAD_LIMITS = 'src/server/http/connection/head-limits.ts';

export function headersRead(folder: string): Reads {
  const constants = textConstants();
  return collect(folder, (file, add, unclear, source) => {
    const written = new Set<Node>();
    return {
      AssignmentExpression({ left }) {
        written.add(left as Node);
      },
      MemberExpression(node) {
        if (!isCalled(node.object, 'headers') || written.has(node)) return;
        const { property } = node;
        const name = propertyName(node) ?? textOf(property) ?? constants.get(nameOf(property));
        if (name !== undefined) add(name.toLowerCase());
        else if (file !== HEAD_LIMITS) unclear(node);
      },
      VariableDeclarator({ id, init }) {
        if (id.type === 'ObjectPattern' && init && isCalled(init, 'headers')) addPattern(id, add);
      },
      ObjectPattern(node) {
        if (source.slice(node.start, node.end).endsWith(': IncomingHttpHeaders')) addPattern(node, add);
      },
      Literal({ value }) {
        if (typeof value === 'string' && value.startsWith('impersonate-') && value !== 'impersonate-') add(value);
      },
    };
  });
}

/** `type/subtype` of every text that is one. */
export function mediaTypesNamed(folder: string): Reads {
  return texts(folder, (text) => /^((?:application|text|multipart)\/[a-z0-9.+*-]+)(?:;|$)/.exec(text)?.[1]);
}

export function grpcMethodsServed(folder: string): Reads {
  return texts(folder, (text) => /^[A-Z][A-Za-z]+\/[A-Z][A-Za-z]+$/.exec(text)?.[0]);
}

function texts(folder: string, nameIn: (text: string) => string | undefined): Reads {
  return collect(folder, (_file, add) => {
    const look = (text: string) => {
      const name = nameIn(text);
      if (name !== undefined) add(name);
    };
    return {
      Literal({ value }) {
        if (typeof value === 'string') look(value);
      },
      TemplateElement({ value }) {
        look(value.cooked ?? '');
      },
    };
  });
}

type Look = (
  file: string,
  add: (name: string) => void,
  unclear: (node: Node) => void,
  source: string,
) => ConstructorParameters<typeof Visitor>[0];

function collect(folder: string, look: Look): Reads {
  const names = new Set<string>();
  const unclear: string[] = [];
  for (const file of sourceFiles(folder)) {
    const source = readFileSync(join(root, file), 'utf8');
    const tell = (node: Node) => unclear.push(`${file}:${source.slice(0, node.start).split('\n').length}`);
    const visitor = new Visitor(look(file, (name) => names.add(name), tell, source));
    visitor.visit(parseSync(file, source).program);
  }
  return { names, unclear };
}

/** Every `const NAME = 'text'` of the sources: names of headers are kept like that. */
function textConstants(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  collect('src', () => ({
    VariableDeclarator({ id, init }) {
      const text = init ? textOf(init) : undefined;
      if (id.type === 'Identifier' && id.name === id.name.toUpperCase() && text !== undefined) found.set(id.name, text);
    },
  }));
  return found;
}

/** From the root of the repository. */
function sourceFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.(test|testing)\.ts$/.test(name))
    .map((name) => join(folder, name));
}

/** `name`, `x.name`, `name()` and `x.name()`. */
function isCalled(node: Expression | Node, name: string): boolean {
  switch (node.type) {
    case 'Identifier':
      return node.name === name;
    case 'MemberExpression':
      return propertyName(node) === name;
    case 'CallExpression':
      return isCalled(node.callee, name);
    default:
      return false;
  }
}

function propertyName(node: { computed: boolean; property: Node }): string | undefined {
  return !node.computed && node.property.type === 'Identifier' ? node.property.name : undefined;
}

function nameOf(node: Node): string {
  return node.type === 'Identifier' ? node.name : '';
}

function textOf(node: Node | undefined): string | undefined {
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
}

function addPattern(pattern: Node, add: (name: string) => void): void {
  if (pattern.type !== 'ObjectPattern') return;
  for (const property of pattern.properties)
    if (property.type === 'Property') {
      const name = property.key.type === 'Identifier' ? property.key.name : textOf(property.key as Node);
      if (name !== undefined) add(name.toLowerCase());
    }
}
